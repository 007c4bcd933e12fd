from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.ghga._chains import (
    NO_CHAIN,
    Chain,
    ChainLog,
    EliminationStep,
    left_out_in_turn,
)


def step(chain: int, master: int, left_out: int, *, first: int = 3, budget: int = 5) -> dict:
    return {
        "chain": chain,
        "first": first,
        "master": master,
        "left_out": [left_out],
        "budget": budget,
    }


def chain_of(masters: dict[int, int], first: int = 3) -> Chain:
    return Chain(
        first, 9, tries={trial: EliminationStep(m, (trial,)) for trial, m in masters.items()}
    )


def test_a_chain_goes_on_from_the_deepest_advance() -> None:
    # 3 → 11 (better) → 13 (better); 10 and 12 were no improvements.
    chain = chain_of({10: 3, 11: 3, 12: 11, 13: 11})
    assert chain.current(lambda trial, master: trial in (11, 13)) == 13
    assert chain.current(lambda trial, master: trial == 11) == 11
    assert chain.current(lambda trial, master: False) == 3


def test_a_late_advance_does_not_take_it_back() -> None:
    chain = chain_of({11: 3, 12: 11})
    assert chain.current(lambda trial, master: True) == 12
    chain.tries[10] = EliminationStep(3, (0,))  # a slow worker's, as good as 11 but no deeper
    assert chain.current(lambda trial, master: True) == 12


def test_of_equally_deep_ones_the_earliest() -> None:
    assert chain_of({11: 3, 10: 3}).current(lambda trial, master: True) == 10


def test_tries_below_a_master_that_no_longer_counts_are_left_out() -> None:
    chain = chain_of({10: 3, 11: 10})
    assert chain.current(lambda trial, master: trial == 11) == 3


def test_where_all_steps_are_known_the_best_is_taken() -> None:
    # No try advanced; of trial 3 all steps are known and 11 is the best of them. From there 12
    # advanced, and of 12 nothing more can be left out.
    chain = chain_of({10: 3, 11: 3, 12: 11})
    onward = {3: 11, 12: None}
    assert chain.current(lambda trial, master: trial == 12, onward.get) == 12
    # The best step may be a trial of no chain, or one that was seen before.
    assert chain.current(lambda trial, master: False, {3: 7, 7: None}.get) == 7
    assert chain.current(lambda trial, master: False, {3: 7, 7: 3}.get) == 7


def test_features_whose_absence_failed_are_suspected() -> None:
    chain = Chain(3, 9, tries={10: EliminationStep(3, (0, 1, 2, 3)), 11: EliminationStep(3, (4,))})
    found = chain.suspicion(np.ones(6, dtype=bool), lambda trial, master: trial == 11)
    np.testing.assert_allclose(found, [0.25, 0.25, 0.25, 0.25, 0, 0])


def test_a_smaller_failure_explains_a_larger_one() -> None:
    chain = Chain(
        3, 9, tries={10: EliminationStep(3, (0, 1, 2, 3)), 11: EliminationStep(3, (0, 1))}
    )
    found = chain.suspicion(np.ones(5, dtype=bool), lambda trial, master: False)
    np.testing.assert_allclose(found, [0.5, 0.5, 0, 0, 0])


def test_what_was_left_out_since_is_cleared() -> None:
    # 0 and 1 together failed, 0 alone did not: it was 1.
    chain = Chain(
        3,
        9,
        tries={10: EliminationStep(3, (0, 1)), 11: EliminationStep(3, (0,))},
        waiting=[EliminationStep(11, (2, 4))],
    )
    mask = np.array([False, True, True, True, True])
    found = chain.suspicion(mask, lambda trial, master: trial == 11)
    np.testing.assert_allclose(found, [0, 1, 0.5, 0, 0.5])


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
        trail = ChainLog()
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
    trail = ChainLog()
    trail.add(5, step(5, 3, 1))
    running = [step(5, 3, 2), step(5, 3, 4), {"after": 5}, {}]
    latest, chain, after, children = trail.now(running)
    assert (latest, after, children) == (5, 1, 1)
    assert chain is not None
    assert chain.spent == 3
    assert chain.tried(3) == 3
    assert chain.waiting == [EliminationStep(3, (2,)), EliminationStep(3, (4,))]


def test_a_chain_whose_first_set_runs_has_no_place_to_go_on_from() -> None:
    trail = ChainLog()
    assert trail.now([]) == (NO_CHAIN, None, 0, 0)
    latest, chain, _, _ = trail.now([{"chain": 7, "budget": 4}])
    assert (latest, chain) == (7, None)
    trail.add(7, {"chain": 7, "budget": 4})
    _, chain, _, _ = trail.now([])
    assert chain is not None
    assert (chain.first, chain.budget, chain.spent) == (7, 4, 0)


def test_what_a_trial_remembers_is_what_is_read() -> None:
    probe = Chain(3, 2, against=(4, 6))
    renewed = Chain(9, 7, renewed=True)
    trail = ChainLog()
    trail.add(10, probe.note(10, EliminationStep(3, (4,))))
    trail.add(11, renewed.note(11, EliminationStep(9, (0, 1))))
    assert trail.probes == {(3, (4, 6))}
    assert trail.renewed == {9}
    latest, chain, _, _ = trail.now([renewed.note(11, EliminationStep(9, (2,)))])
    assert latest == 11
    assert chain == Chain(
        9, 7, {11: EliminationStep(9, (0, 1))}, [EliminationStep(9, (2,))], renewed=True
    )


def test_a_probe_that_has_only_just_begun() -> None:
    _, chain, _, _ = ChainLog().now(
        [Chain(3, 2, against=(4, 6)).note(10, EliminationStep(3, (4,)))]
    )
    assert chain is not None
    assert (chain.against, chain.renewed, chain.spent) == ((4, 6), False, 1)


def test_features_are_left_out_in_blocks_then_alone() -> None:
    order = np.array([9, 4, 7, 1, 0, 2, 8, 5])
    found = [left.tolist() for left in left_out_in_turn(order, 4, 0)]
    assert found == [[9, 4, 7, 1], [9, 4], *([j] for j in order)]
    assert [left.tolist() for left in left_out_in_turn(order, 4, 2)] == [[j] for j in order]
    assert [left.tolist() for left in left_out_in_turn(order, 0, 0)] == [[j] for j in order]
