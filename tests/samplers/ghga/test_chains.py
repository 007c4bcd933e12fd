from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.ghga.chains import NO_CHAIN, Chain, Trail, left_out_in_turn


def step(chain: int, master: int, left_out: int, *, first: int = 3, budget: int = 5) -> dict:
    return {
        "chain": chain,
        "first": first,
        "master": master,
        "left_out": [left_out],
        "budget": budget,
    }


def test_a_chain_goes_on_from_the_deepest_improvement() -> None:
    # 3 → 11 (better) → 13 (better); 10 and 12 were no improvements.
    chain = Chain(3, 9, masters={10: 3, 11: 3, 12: 11, 13: 11})
    assert chain.current(lambda trial, master: trial in (11, 13)) == 13
    assert chain.current(lambda trial, master: trial == 11) == 11
    assert chain.current(lambda trial, master: False) == 3


def test_a_late_improvement_does_not_take_it_back() -> None:
    chain = Chain(3, 9, masters={11: 3, 12: 11})
    assert chain.current(lambda trial, master: True) == 12
    chain.masters[10] = 3  # a slow worker's, as good as 11 but no deeper
    assert chain.current(lambda trial, master: True) == 12


def test_of_equally_deep_ones_the_earliest() -> None:
    chain = Chain(3, 9, masters={11: 3, 10: 3})
    assert chain.current(lambda trial, master: True) == 10


def test_steps_below_a_master_that_no_longer_counts_are_left_out() -> None:
    chain = Chain(3, 9, masters={10: 3, 11: 10})
    assert chain.current(lambda trial, master: trial == 11) == 3


def test_trail_finds_the_latest_chain_whatever_the_order() -> None:
    notes = {
        4: {"after": NO_CHAIN},
        5: step(5, 3, 1),
        6: step(5, 3, 2),
        7: {"after": 5},
        8: step(8, 6, 0, first=6, budget=7),
        9: step(8, 8, 4, first=6, budget=7),
        10: {"after": 8},
    }
    results = []
    for order in (list(notes), list(reversed(notes))):
        trail = Trail()
        for number in order:
            trail.add(number, notes[number])
        latest, chain, after, children = trail.now([])
        assert chain is not None
        results.append((latest, chain.first, chain.budget, chain.spent, after, children))
        assert trail.chosen(3) == 1
        assert trail.chosen(6) == 1
        assert trail.chosen(4) == 0
    assert results == [(8, 6, 7, 2, 1, 3)] * 2


def test_running_trials_count() -> None:
    trail = Trail()
    trail.add(5, step(5, 3, 1))
    running = [step(5, 3, 2), step(5, 3, 4), {"after": 5}, {}]
    latest, chain, after, children = trail.now(running)
    assert (latest, after, children) == (5, 1, 1)
    assert chain is not None
    assert chain.spent == 3
    assert chain.tried(3) == 3
    assert (3, frozenset([4])) in chain.waiting


def test_a_chain_whose_first_set_runs_has_no_place_to_go_on_from() -> None:
    trail = Trail()
    assert trail.now([]) == (NO_CHAIN, None, 0, 0)
    latest, chain, _, _ = trail.now([{"chain": 7, "budget": 4}])
    assert (latest, chain) == (7, None)
    trail.add(7, {"chain": 7, "budget": 4})
    _, chain, _, _ = trail.now([])
    assert chain is not None
    assert (chain.first, chain.budget, chain.spent) == (7, 4, 0)


def test_features_are_left_out_in_blocks_then_alone() -> None:
    order = np.array([9, 4, 7, 1, 0, 2, 8, 5])
    found = [left.tolist() for left in left_out_in_turn(order, 0.5, 0)]
    assert found == [[9, 4, 7, 1], [9, 4], *([j] for j in order)]
    assert [left.tolist() for left in left_out_in_turn(order, 0.5, 2)] == [[j] for j in order]
    assert [left.tolist() for left in left_out_in_turn(order, 0, 0)] == [[j] for j in order]
