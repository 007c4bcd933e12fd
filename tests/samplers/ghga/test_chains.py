from __future__ import annotations

from dataclasses import replace

import numpy as np

from optuna_mofs.samplers.ghga._chains import (
    NO_CHAIN,
    Chain,
    ChainLog,
    EliminationStep,
    GHGANote,
    removal_candidates,
)


def step(chain: int, master: int, removed: int, *, start: int = 3, budget: int = 5) -> GHGANote:
    return GHGANote(
        chain=chain, chain_start=start, master=master, removed_features=(removed,), budget=budget
    )


def chain_of(masters: dict[int, int], start: int = 3) -> Chain:
    return Chain(
        start, 9, steps={trial: EliminationStep(m, (trial,)) for trial, m in masters.items()}
    )


def test_a_chain_continues_from_the_deepest_improvement() -> None:
    # 3 → 11 (better) → 13 (better); 10 and 12 were no improvements.
    chain = chain_of({10: 3, 11: 3, 12: 11, 13: 11})
    assert chain.current(lambda trial, master: trial in (11, 13)) == 13
    assert chain.current(lambda trial, master: trial == 11) == 11
    assert chain.current(lambda trial, master: False) == 3


def test_a_late_improvement_does_not_take_it_back() -> None:
    chain = chain_of({11: 3, 12: 11})
    assert chain.current(lambda trial, master: True) == 12
    chain.steps[10] = EliminationStep(3, (0,))  # completed late, as good as 11 but no deeper
    assert chain.current(lambda trial, master: True) == 12


def test_it_continues_from_the_earliest_of_equally_deep_trials() -> None:
    assert chain_of({11: 3, 10: 3}).current(lambda trial, master: True) == 10


def test_steps_below_a_master_that_is_no_improvement_are_ignored() -> None:
    chain = chain_of({10: 3, 11: 10})
    assert chain.current(lambda trial, master: trial == 11) == 3


def test_where_all_steps_are_known_the_best_is_taken() -> None:
    # No step improved; all steps of trial 3 are known and 11 is the best of them. From there 12
    # improved, and nothing more can be removed from 12.
    chain = chain_of({10: 3, 11: 3, 12: 11})
    onward = {3: 11, 12: None}
    assert chain.current(lambda trial, master: trial == 12, onward.get) == 12
    # The best step may be a trial of no chain, or one that was seen before.
    assert chain.current(lambda trial, master: False, {3: 7, 7: None}.get) == 7
    assert chain.current(lambda trial, master: False, {3: 7, 7: 3}.get) == 7


def test_features_whose_removal_failed_are_suspected() -> None:
    chain = Chain(3, 9, steps={10: EliminationStep(3, (0, 1, 2, 3)), 11: EliminationStep(3, (4,))})
    found = chain.suspicion(np.ones(6, dtype=bool), lambda trial, master: trial == 11)
    np.testing.assert_allclose(found, [0.25, 0.25, 0.25, 0.25, 0, 0])


def test_a_smaller_failure_explains_a_larger_one() -> None:
    chain = Chain(
        3, 9, steps={10: EliminationStep(3, (0, 1, 2, 3)), 11: EliminationStep(3, (0, 1))}
    )
    found = chain.suspicion(np.ones(5, dtype=bool), lambda trial, master: False)
    np.testing.assert_allclose(found, [0.5, 0.5, 0, 0, 0])


def test_features_that_were_removed_since_are_not_suspected() -> None:
    # Removing 0 and 1 together failed, removing 0 alone did not: it was 1.
    chain = Chain(
        3,
        9,
        steps={10: EliminationStep(3, (0, 1)), 11: EliminationStep(3, (0,))},
        running=[EliminationStep(11, (2, 4))],
    )
    mask = np.array([False, True, True, True, True])
    found = chain.suspicion(mask, lambda trial, master: trial == 11)
    np.testing.assert_allclose(found, [0, 1, 0.5, 0, 0.5])


def test_the_log_finds_the_latest_chain_in_any_order() -> None:
    notes = {
        4: GHGANote(after_chain=NO_CHAIN),
        5: step(5, 3, 1),
        6: step(5, 3, 2),
        7: GHGANote(after_chain=5),
        8: step(8, 6, 0, start=6, budget=7),
        9: step(8, 8, 4, start=6, budget=7),
        10: GHGANote(after_chain=8),
    }
    results = []
    for order in (list(notes), list(reversed(notes))):
        log = ChainLog()
        for number in order:
            log.add(number, notes[number])
        latest, chain, n_since, n_children = log.progress([])
        assert chain is not None
        results.append(
            (latest, chain.start, chain.budget, chain.n_evaluations, n_since, n_children)
        )
        assert log.n_chains_from[3] == 1
        assert log.n_chains_from[6] == 1
        assert log.n_chains_from[4] == 0
    assert results == [(8, 6, 7, 2, 1, 3)] * 2


def test_running_trials_count() -> None:
    log = ChainLog()
    log.add(3, GHGANote())
    log.add(5, step(5, 3, 1))
    running = [step(5, 3, 2), step(5, 3, 4), GHGANote(after_chain=5), GHGANote()]
    latest, chain, n_since, n_children = log.progress(running)
    assert (latest, n_since, n_children) == (5, 1, 1)
    assert chain is not None
    assert chain.n_evaluations == 3
    assert chain.n_steps_from(3) == 3
    assert chain.running == [EliminationStep(3, (2,)), EliminationStep(3, (4,))]


def test_a_chain_whose_first_set_is_running_cannot_continue() -> None:
    log = ChainLog()
    assert log.progress([]) == (NO_CHAIN, None, 0, 0)
    union = GHGANote("union", chain=7, budget=4)
    latest, chain, _, _ = log.progress([union])
    assert (latest, chain) == (7, None)
    log.add(7, union)
    _, chain, _, _ = log.progress([])
    assert chain is not None
    assert (chain.start, chain.budget, chain.n_evaluations) == (7, 4, 0)


def test_notes_describe_the_whole_chain() -> None:
    probe = Chain(3, 2, probed_features=(4, 6))
    restart = Chain(9, 7, is_restart=True)
    inherited = GHGANote(step_size=0.25)
    log = ChainLog()
    log.add(9, GHGANote())
    note = probe.note(10, EliminationStep(3, (4,)), inherited)
    assert (note.operator, note.parents, note.step_size) == ("probe", (3,), 0.25)
    log.add(10, note)
    log.add(11, restart.note(11, EliminationStep(9, (0, 1)), inherited))
    assert log.probes == {(3, (4, 6))}
    assert log.restarts == {9}
    latest, chain, _, _ = log.progress([restart.note(11, EliminationStep(9, (2,)), inherited)])
    assert latest == 11
    assert chain == Chain(
        9, 7, {11: EliminationStep(9, (0, 1))}, [EliminationStep(9, (2,))], is_restart=True
    )


def test_a_probe_that_has_only_just_begun() -> None:
    probe = Chain(3, 2, probed_features=(4, 6))
    running = probe.note(10, EliminationStep(3, (4,)), GHGANote())
    log = ChainLog()
    _, chain, _, _ = log.progress([running])
    assert chain is None, "another worker has already read trial 3"
    log.add(3, GHGANote())
    _, chain, _, _ = log.progress([running])
    assert chain is not None
    assert (chain.probed_features, chain.is_restart, chain.n_evaluations) == ((4, 6), False, 1)


def test_notes_survive_the_storage() -> None:
    note = Chain(9, 7, probed_features=(4, 6)).note(11, EliminationStep(9, (0, 1)), GHGANote())
    assert GHGANote.from_json(note.to_json()) == note
    child = replace(GHGANote("crossover"), after_chain=NO_CHAIN)
    assert GHGANote.from_json(child.to_json()) == child
    # A trial of another sampler is neither a child nor a step of a chain.
    other = GHGANote.from_json({"operator": "sbx", "parents": []})
    assert (other.after_chain, other.chain, other.master) == (None, None, None)


def test_features_are_removed_in_blocks_then_alone() -> None:
    order = np.array([9, 4, 7, 1, 0, 2, 8, 5])
    found = [removed.tolist() for removed in removal_candidates(order, 4, 0)]
    assert found == [[9, 4, 7, 1], [9, 4], *([j] for j in order)]
    alone = [[j] for j in order]
    assert [removed.tolist() for removed in removal_candidates(order, 4, 2)] == alone
    assert [removed.tolist() for removed in removal_candidates(order, 0, 0)] == alone
