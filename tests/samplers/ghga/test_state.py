from __future__ import annotations

from collections.abc import Collection

import numpy as np
import optuna
import pytest

from benchmarks.papers.jung_2013_literal import LiteralGHGA, Reading
from optuna_mofs import FeatureTable, suggest_features
from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers._mask_operators import declining_rate
from optuna_mofs.samplers.ghga._guides import Guide
from optuna_mofs.samplers.ghga._state import (
    ArchiveState,
    dynamic_cost,
    elimination_population,
    reproductive_population,
    similar_pair,
    tournament,
)
from optuna_mofs.study._description import StudyDescription

SETS = {
    # Loss of each set of four features; 0 and 1 are the optimum.
    (0, 1, 2, 3): 0.0,
    (0, 1, 2): 0.0,
    (0, 1): 0.0,
    (0,): 0.8,
    (1,): 0.9,
    (2, 3): 0.7,
}


def read(
    sets: dict[tuple[int, ...], float],
    guide: Guide | None = None,
    *,
    retrain_every: int = 50,
    infeasible: Collection[tuple[int, ...]] = (),
    seed: int = 0,
) -> ArchiveState:
    study = optuna.create_study()
    table = FeatureTable(("a", "b", "c", "d"))

    def objective(trial: optuna.Trial) -> float:
        mask = suggest_features(trial, table, form="bits")
        inside = tuple(np.flatnonzero(mask).tolist())
        trial.set_constraint("feasible", float(inside in infeasible))
        return sets[inside]

    for inside in sets:
        study.enqueue_trial({name: j in inside for j, name in enumerate(table.names)})
    study.optimize(objective, n_trials=len(sets))
    history = History(StudyDescription.read(study))
    history.update(study)
    state = ArchiveState(table, 0, 0.1, guide, retrain_every, seed)
    state.update(history)
    return state


def test_inert_dominated_and_poor_sets_do_not_reproduce() -> None:
    state = read(SETS)
    # The larger sets have a subset that is as good; 0 and 1 are inert; the others are worse than
    # the median. Where no set is eligible the best one reproduces.
    assert state.reproductive(0.5, 5).tolist() == [2]
    assert state.optima().tolist() == [2]
    # The last set has a better subset; the two before it are worse than the median.
    state = read({(0, 1, 2): 0.1, (3,): 0.3, (0, 1): 0.8, (1, 2): 0.9, (0, 1, 2, 3): 0.2})
    assert state.reproductive(0.5, 5).tolist() == [0, 1]


def test_a_lower_best_loss_raises_all_costs() -> None:
    state = read(SETS)
    before = state.cost.copy()
    state = read({**SETS, (0, 2): -0.1})
    assert state.cost[:6].tolist() == pytest.approx(
        [4 + 1, 3 + 1, 2 + 1, 1 + 2**9 - 1, 1 + 2**10 - 1, 2 + 2**8 - 1]
    )
    assert before.tolist() == pytest.approx([4, 3, 2, 1 + 2**8 - 1, 1 + 2**9 - 1, 2 + 2**7 - 1])


def test_the_guide_is_fitted_to_sets_without_the_optima() -> None:
    seen = []

    def guide(masks, losses, rng):
        seen.append((masks.sum(axis=1).tolist(), losses.tolist()))
        return lambda candidates, rng: np.zeros(len(candidates))

    state = read(SETS, guide)
    for _ in range(2):
        state.prediction(include_supersets=False)
    assert seen == [([1, 1, 2], [0.8, 0.9, 0.7])]  # once: nothing is new
    read(SETS, guide, retrain_every=2).prediction(before=5, include_supersets=True)
    assert seen[1][0] == [4, 3, 2, 1]  # twice two of the five trials before


def test_feasible_sets_come_first() -> None:
    # An infinite loss is worse than all finite ones, and better than an infeasible set.
    for losses in ((0.1, np.inf, 0.2, 900.0), (np.inf, np.inf, -np.inf, 5.0)):
        sets = dict(zip(((0, 1), (0, 1, 2), (0,), (3,)), losses))
        state = read(sets, infeasible=[(0,), (3,)])
        assert state.best_first(np.arange(4))[:2].tolist() == [0, 1]
        assert (state.cost[:2].max() < state.cost[2:]).all()
        # Subsets dominate only if they are feasible.
        assert state.reproductive(0.5, 5).tolist() == [0]
    state = read({(0, 1): 1.0, (0,): 2.0}, infeasible=[(0, 1), (0,)])
    assert state.cost.tolist() == [2, 1]


def test_the_guide_depends_on_the_seed() -> None:
    drawn = []

    def guide(masks, losses, rng):
        drawn.append(rng.random())
        return lambda candidates, rng: np.zeros(len(candidates))

    for seed in (0, 0, 1):
        read(SETS, guide, seed=seed).prediction(include_supersets=True)
    assert drawn[0] == drawn[1] != drawn[2]


def test_the_best_step_is_known_once_all_are() -> None:
    state = read(SETS)
    assert state.best_step(2) is None  # all were tried, none is better
    assert state.best_step(1) is None  # not all were tried
    state = read({(0, 1): 0.5, (0,): 0.45, (1,): 0.4})
    assert state.best_step(0) == 2


def on_a_line(positions: list[float]):
    points = np.array(positions)

    def distance(position: int, others: Array) -> Array:
        return np.abs(points[others] - points[position])

    return distance


def test_cost_is_equations_2_and_3() -> None:
    sizes, losses = np.array([10, 7, 3]), np.array([-0.99, -0.985, -0.975])
    np.testing.assert_allclose(dynamic_cost(sizes, losses, 0.005), [10, 8, 10])


def test_cost_depends_on_the_best_loss() -> None:
    before = dynamic_cost(np.array([5, 3]), np.array([0.2, 0.21]), 0.01)
    after = dynamic_cost(np.array([5, 3, 9]), np.array([0.2, 0.21, 0.18]), 0.01)
    assert np.argmin(before) == 1
    np.testing.assert_allclose(after, [8, 10, 9])


def test_cost_of_far_losses_is_finite() -> None:
    assert np.isfinite(dynamic_cost(np.array([1, 1]), np.array([0.0, 1e200]), 1e-3)).all()


def test_less_crowded_sets_only() -> None:
    order = np.array([0, 1, 2, 3])
    crowding = np.array([5.0, 6.0, 4.0, 4.5])
    chosen = reproductive_population(
        order, crowding, on_a_line([0, 1, 2, 3]), radius=0.5, max_similar=5
    )
    assert chosen.tolist() == [0, 2]


def test_a_full_niche_accepts_no_more_sets() -> None:
    crowding = np.array([5.0, 4.0, 3.0, 2.0])
    chosen = reproductive_population(
        np.arange(4), crowding, on_a_line([0.0, 0.1, 0.2, 0.9]), radius=0.5, max_similar=2
    )
    # The third is similar to two members; the fourth to none.
    assert chosen.tolist() == [0, 1, 3]


def test_elimination_moves_away_from_inert_sets() -> None:
    distance = on_a_line([0.2, 0.1, 0.4, 0.3, 0.9, 0.0])
    chosen = elimination_population(np.arange(5), np.array([5]), distance)
    assert chosen.tolist() == [0, 2, 4]


def test_all_sets_may_be_reduced_while_none_is_inert() -> None:
    none = np.zeros(0, dtype=int)
    assert elimination_population(np.arange(3), none, on_a_line([0, 1, 2])).tolist() == [0, 1, 2]


@pytest.mark.parametrize("divisor", [1, 2, 5])
def test_tournament_prefers_the_best(divisor: int) -> None:
    rng = np.random.default_rng(0)
    positions = np.array([7, 3, 9, 1, 5, 2])
    wins = [tournament(rng, positions, divisor) for _ in range(600)]
    first = wins.count(7) / 600
    # A share of ceil(6 / divisor) of 6 takes part; the best wins whenever it does.
    assert first == pytest.approx(-(-6 // divisor) / 6, abs=0.06)
    assert set(wins) <= set(positions.tolist())


def test_the_second_parent_is_the_more_similar_of_two() -> None:
    rng = np.random.default_rng(1)
    distance = on_a_line([0.0, 0.1, 5.0, 5.1])
    pairs = [similar_pair(rng, np.arange(4), distance) for _ in range(2000)]
    gaps = [abs((a >= 2) - (b >= 2)) for a, b in pairs]
    # Both candidates are on the other side in a quarter of all draws.
    assert np.mean(gaps) == pytest.approx(0.25, abs=0.04)


# ---- against the transcription of the paper -----------------------------------------------------


@pytest.mark.parametrize("as_printed", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_populations_are_those_of_algorithms_2_and_3(seed: int, as_printed: bool) -> None:
    p, rng = 7, np.random.default_rng(seed)
    needed = rng.random((2, p)) < 0.5
    sets = [np.ones(p, dtype=bool), *(rng.random((90, p)) < rng.random((90, 1)))]
    if seed % 2:  # all leave-one-out sets of an optimum, which is inert then
        sets += [needed[0], *(needed[0] & (np.arange(p) != j) for j in np.flatnonzero(needed[0]))]
    slopes = rng.random(p) * 0.002

    def efficiency(mask: Array) -> float:
        found = max((mask & need).sum() / max(1, need.sum()) for need in needed)
        return float(0.9 + 0.1 * found - slopes[mask].sum())

    reading = Reading() if as_printed else Reading(median="skip", best=False, strict=seed > 2)
    literal = LiteralGHGA(efficiency, p, reading)
    study = optuna.create_study(direction="maximize")
    table = FeatureTable(tuple("abcdefg"))

    def objective(trial: optuna.Trial) -> float:
        return efficiency(suggest_features(trial, table, form="bits"))

    for mask in sets:
        literal.evaluate(mask)
        study.enqueue_trial(dict(zip(table.names, mask.tolist())))
    study.optimize(objective, n_trials=len(sets))
    history = History(StudyDescription.read(study))
    history.update(study)
    state = ArchiveState(table, 0, reading.tolerance)
    state.update(history)
    np.testing.assert_allclose(state.cost, literal.costs)
    assert state.archive.inert.tolist() == literal.flags.tolist()
    assert literal.flags.any()
    members = state.reproductive(
        reading.delta, reading.rho, as_printed=as_printed, strict=seed > 2
    )
    assert members.tolist() == literal.population().tolist()
    inert = np.flatnonzero(state.archive.inert)
    reduced = elimination_population(members, inert, state.archive.dissimilarity)
    assert reduced.tolist() == literal.eliminable(members).tolist()


def test_mutation_rates_are_those_of_section_2_4() -> None:
    literal = LiteralGHGA(lambda mask: 0.0, 250, Reading())
    rates = [declining_rate(i, 500, 0.5, 0.05, limit=np.inf) for i in range(1, 700)]
    assert rates == pytest.approx([literal.rate(i) for i in range(1, 700)])
    assert rates[0] == pytest.approx(1.05)


def test_as_printed_the_population_ends_in_one_inert_set() -> None:
    # The best set is inert, and all others are at the median or below.
    state = read({(0, 1): 0.0, (0,): 0.5, (1,): 0.5, (2, 3): 0.5})
    assert state.reproductive(0.5, 5, as_printed=True).tolist() == [0]
    assert 0 not in state.reproductive(0.5, 5).tolist()
