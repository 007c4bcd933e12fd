from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, create_trial

from optuna_mofs import FeatureTable, FilterEnsembleNSGA2Sampler, MaskFeatures, suggest_features
from optuna_mofs.fronts._dominance import pareto_rank
from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2 import _population as module
from optuna_mofs.samplers.nsga2._population import (
    Generation,
    HypervolumeSelection,
    Population,
    TournamentSelection,
    _hypervolume_shares,
    binary_tournament,
    crowding_distances,
    is_wasteful,
    survivors,
)
from optuna_mofs.samplers.nsga2._sampler import NSGA2Settings
from optuna_mofs.study._description import MeasureDescription, StudyDescription


def growing(done: int) -> int:
    return max(3, done // 4)


class Trials:
    """A history that holds nothing but values and violations."""

    def __init__(self, values: Any, violations: Any, numbers: Any = None) -> None:
        self.numbers = np.arange(len(values)) if numbers is None else np.asarray(numbers)
        self.values, self.violations = values, violations

    def __len__(self) -> int:
        return len(self.numbers)


def followed(population: Population, values: Any, violations: Any, numbers: Any = None) -> Any:
    """The generation after these trials."""
    population.follow(Trials(values, violations, numbers))  # type: ignore[arg-type]
    return population.current


def replayed(values, violations, *, mu, offspring, first):  # type: ignore[no-untyped-def]
    """The same by definition: generation after generation from the beginning."""
    members, done = np.zeros(0, dtype=int), 0
    while done + (step := offspring if done else first) <= len(values):
        pool = np.r_[members, done : done + step]
        done += step
        best, _, _ = survivors(values[pool], violations[pool], mu(done), unique=True)
        members = pool[best]
    return members


def points(seed: int, count: int):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    violations = np.where(rng.random(count) < 0.3, rng.random(count), 0.0)
    return rng.integers(0, 9, (count, 2)).astype(float), violations


@settings(max_examples=25)
@given(
    seed=st.integers(0, 999),
    count=st.integers(0, 30),
    offspring=st.sampled_from([1, 4, 15]),
    first=st.sampled_from([2, 10]),
)
def test_following_equals_replaying(seed: int, count: int, offspring: int, first: int) -> None:
    values, violations = points(seed, count)
    population = Population(growing, offspring, first)
    for n in range(count + 1):
        found = followed(population, values[:n], violations[:n])
        expected = replayed(
            values[:n], violations[:n], mu=growing, offspring=offspring, first=first
        )
        np.testing.assert_array_equal(found.members, expected)
        assert len(found.ranks) == len(found.crowding) == len(expected)


@settings(max_examples=20)
@given(
    seed=st.integers(0, 999),
    order=st.permutations(range(16)),
    offspring=st.sampled_from([1, 5]),
    kept=st.sampled_from([2, 200]),
)
def test_a_late_trial_is_replayed_in_order_of_its_number(
    seed: int, order: list[int], offspring: int, kept: int
) -> None:
    values, violations = points(seed, 16)
    population = Population(growing, offspring, 4)
    before = module._MAX_GENERATIONS
    module._MAX_GENERATIONS = kept  # 2: too few to reach back to a late trial
    try:
        for n_completed in range(1, 17):
            numbers = np.sort(order[:n_completed])
            found = followed(population, values[numbers], violations[numbers], numbers).members
            expected = replayed(
                values[numbers], violations[numbers], mu=growing, offspring=offspring, first=4
            )
            np.testing.assert_array_equal(found, expected)
    finally:
        module._MAX_GENERATIONS = before


def test_the_population_changes_once_per_generation() -> None:
    values, violations = points(1, 200)
    population = Population(lambda done: 20, 15, 80)
    sizes, changes = [], []
    last: list[int] = []
    for n in range(201):
        members = followed(population, values[:n], violations[:n]).members.tolist()
        if members != last:
            changes.append(n)
        sizes.append(len(members))
        last = members
    assert sizes[79] == 0
    assert changes[0] == 80
    assert all((n - 80) % 15 == 0 for n in changes)
    assert len(changes) > 2
    assert set(sizes[80:]) == {20}


def test_the_population_grows() -> None:
    values, violations = points(0, 100)
    population = Population(growing, 1, 4)
    sizes = [
        len(followed(population, values[:n], violations[:n]).members) for n in (4, 40, 60, 100)
    ]
    assert sizes == [3, 10, 15, 25]


@pytest.mark.parametrize("unique", [True, False])
def test_points_with_equal_values_come_last(unique: bool) -> None:
    values = np.array([[0.0, 1.0]] * 6 + [[2.0, 2.0]])
    population = Population(lambda done: 3, 1, 7, eliminate_duplicates=unique)
    members = followed(population, values, np.zeros(7)).members.tolist()
    # Equal points come last, even after a dominated one.
    assert (6 in members) == unique


def test_feasible_points_survive() -> None:
    values = np.array([[0.0, 0.0], [5.0, 5.0], [6.0, 6.0], [-1.0, -1.0]])
    population = Population(lambda done: 2, 1, 4)
    found = followed(population, values, np.array([1.0, 0.0, 0.0, 2.0]))
    assert found.members.tolist() == [1, 2]
    assert found.ranks.tolist() == [0, 1]


X = FloatDistribution(0, 1)


def history_of(values: list[list[float]], worst: float | None = None) -> History:
    count = len(values[0])
    study = optuna.create_study(directions=["minimize"] * count)
    measures = tuple(MeasureDescription(f"m{j}", worst=worst) for j in range(count))
    StudyDescription(space={"x": X}, measures=measures).write(study)
    study.add_trials(
        [create_trial(params={"x": 0.5}, distributions={"x": X}, values=v) for v in values]
    )
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def drawn(selection, history: History, members, ranks, crowding=None, n: int = 3000):  # type: ignore[no-untyped-def]
    members, ranks = np.array(members), np.array(ranks)
    crowding = np.zeros(len(members)) if crowding is None else np.array(crowding)
    draw = selection(history, Generation(len(history), members, ranks, crowding))
    rng = np.random.default_rng(0)
    found = np.array([draw(rng) for _ in range(n)])
    return {int(m): float(np.mean(found == m)) for m in members}


def test_shares_by_hand() -> None:
    # Each point alone covers the box from itself to where its neighbors, or (4, 4), begin.
    values = np.array([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0]])
    boxes = [(1 - 0) * (4 - 3), (3 - 1) * (3 - 1), (4 - 3) * (1 - 0)]
    shares = _hypervolume_shares(values, np.array([4.0, 4.0]))
    np.testing.assert_allclose(shares, np.array(boxes) / sum(boxes))


def test_points_outside_the_reference_have_no_share() -> None:
    values = np.array([[0.0, 9.0], [1.0, 1.0], [9.0, 0.0]])
    shares = _hypervolume_shares(values, np.array([4.0, 4.0]))
    np.testing.assert_allclose(shares, [0, 1, 0])


def test_points_outside_the_reference_have_equal_shares() -> None:
    values = np.array([[5.0, 9.0], [9.0, 5.0]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


def test_infinite_values_have_equal_shares() -> None:
    values = np.array([[-1e300, -1e299], [-1e299, -1e300]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


@pytest.mark.parametrize("objectives", [5, 7])
def test_many_objectives_have_equal_shares(objectives: int) -> None:
    values = np.eye(objectives)
    shares = _hypervolume_shares(values, np.full(objectives, 4.0))
    np.testing.assert_allclose(shares, 1 / objectives)


def test_draws_follow_the_shares() -> None:
    history = history_of([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0], [3.5, 3.5]], worst=4.0)
    found = drawn(HypervolumeSelection(prob=1.0, uniform=0.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 6, 1: 4 / 6, 2: 1 / 6, 3: 0}, abs=0.03)
    found = drawn(HypervolumeSelection(prob=1.0, uniform=1.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3, 3: 0}, abs=0.03)
    half = drawn(HypervolumeSelection(prob=0.5, uniform=0.0), history, range(4), [0, 0, 0, 1])
    assert 0 < half[3] < 0.1, "dominated members are drawn by tournament"


def test_members_are_positions_in_the_history() -> None:
    history = history_of([[9.0, 9.0]] * 5 + [[0.0, 1.0], [1.0, 0.0]])
    for selection in (HypervolumeSelection(), TournamentSelection()):
        found = drawn(selection, history, [5, 6], [0, 0], n=200)
        assert found.keys() == {5, 6}
        assert min(found.values()) > 0.3


def test_the_least_violating_members_are_the_front_if_none_is_feasible() -> None:
    history = history_of([[0.0, 0.0], [5.0, 5.0], [4.0, 6.0]], worst=9.0)
    found = drawn(HypervolumeSelection(prob=1.0), history, range(3), [2, 1, 1])
    assert found[0] == 0


def test_tournament_prefers_rank_then_crowding() -> None:
    history = history_of([[0.0, 0.0]] * 3)
    found = drawn(TournamentSelection(), history, range(3), [0, 0, 1], [1.0, 2.0, 9.0])
    # Against itself and the two others: 5/9, 3/9, 1/9.
    assert found == pytest.approx({0: 3 / 9, 1: 5 / 9, 2: 1 / 9}, abs=0.03)


POINTS = arrays(
    float,
    st.tuples(st.integers(1, 25), st.integers(1, 3)),
    elements=st.integers(0, 6).map(float),
)


def test_crowding_by_hand() -> None:
    values = np.array([[0.0, 4.0], [1.0, 2.0], [4.0, 0.0], [9.0, 9.0]])
    ranks = np.array([0, 0, 0, 1])
    crowding = crowding_distances(values, ranks)
    assert np.isinf(crowding[[0, 2, 3]]).all()
    assert crowding[1] == 2.0  # the whole range in both objectives
    assert crowding_distances(values, ranks, normalize=False)[1] == 8.0


@settings(max_examples=40)
@given(POINTS, st.integers(1, 30))
def test_survivors_are_the_best(values: np.ndarray, count: int) -> None:
    best, ranks, crowding = survivors(values, np.zeros(len(values)), count)
    assert len(best) == len(ranks) == len(crowding) == min(count, len(values))
    assert (np.diff(best) > 0).all()
    lost = np.setdiff1d(np.arange(len(values)), best)
    if len(lost):
        every = pareto_rank(values, np.zeros(len(values)))
        assert ranks.max() <= every[lost].min()


def test_binary_tournament_prefers_rank_then_crowding() -> None:
    rng = np.random.default_rng(0)
    wins = [binary_tournament(rng, np.array([0, 1]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 0) < 0.85  # loses only against itself
    wins = [binary_tournament(rng, np.array([0, 0]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 1) < 0.85


# ---- masks that were tried ----------------------------------------------------------------------

FREE = FeatureTable(names=tuple("abcd"))
WITH_FIXED = FeatureTable(names=tuple("abcde"), fixed=(4,))


def _mask(text: str) -> np.ndarray:
    return np.array([bit == "1" for bit in text])


def _history(masks: list[str], table: FeatureTable = FREE) -> History:
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    representation = MaskFeatures().bind(table)
    codec = representation.codec
    for text in masks:
        study.add_trial(
            create_trial(
                values=[0.0, 0.0],
                params={**codec.encode(_mask(text))[0], "x": 0.5},
                distributions={**codec.distributions, "x": FloatDistribution(0, 1)},
            )
        )
    history = History(StudyDescription(table, representation))
    history.update(study)
    return history


@pytest.mark.parametrize(
    ("mask", "parent", "table", "wasted"),
    [
        ("1100", None, FREE, True),
        ("1100", "0110", FREE, True),
        ("1100", "1100", FREE, False),  # other hyperparameters for the parent's mask
        ("1110", "1100", FREE, False),
        ("1010", "1100", FREE, False),  # only the size was tried
        ("0000", "0000", FREE, True),  # nothing to tune without features
        ("0000", "0000", WITH_FIXED, False),
    ],
)
def test_a_mask_that_was_tried_wastes_a_trial_unless_it_is_the_parents(
    mask: str, parent: str | None, table: FeatureTable, wasted: bool
) -> None:
    history = _history(["1100", "0000", "0110"], table)
    before = None if parent is None else _mask(parent)
    assert is_wasteful(history, _mask(mask), before) == wasted


def test_no_mask_is_wasteful_before_the_first_completed_trial() -> None:
    assert not is_wasteful(_history([]), _mask("1100"), None)


def test_the_empty_set_is_tried_once() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 20)
        C = trial.suggest_float("C", 0.01, 100, log=True)
        return (1.0 if not mask[:3].any() else 1 / (1 + mask[:3].sum())) + C / 1e3, mask.mean()

    def empty(repeat: bool) -> int:
        sampler = FilterEnsembleNSGA2Sampler(
            seed=0,
            n_startup_trials=15,
            surrogate=None,
            settings=NSGA2Settings(allow_repeated_masks=repeat),
        )
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.optimize(objective, n_trials=60)
        return sum(t.values[1] == 0 for t in study.trials)

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    assert empty(repeat=False) <= 1
    assert empty(repeat=True) > 3
