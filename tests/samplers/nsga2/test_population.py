from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial

from optuna_mofs.fronts._dominance import pareto_ranks
from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2 import _population as module
from optuna_mofs.samplers.nsga2._population import (
    HypervolumeParents,
    Population,
    _hypervolume_shares,
    binary_tournament,
    crowding_distances,
    survivors,
    tournament_parents,
)
from optuna_mofs.study._description import MeasureDescription, StudyDescription


def growing(done: int) -> int:
    return max(3, done // 4)


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


@settings(deadline=None, max_examples=25)
@given(
    seed=st.integers(0, 999),
    count=st.integers(0, 30),
    offspring=st.sampled_from([1, 4, 15]),
    first=st.sampled_from([2, 10]),
)
def test_incremental_is_replay(seed: int, count: int, offspring: int, first: int) -> None:
    values, violations = points(seed, count)
    population = Population(growing, offspring, first=first)
    for n in range(count + 1):
        found = population.of(np.arange(n), values[:n], violations[:n])
        expected = replayed(
            values[:n], violations[:n], mu=growing, offspring=offspring, first=first
        )
        np.testing.assert_array_equal(found[0], expected)
        assert len(found[1]) == len(found[2]) == len(expected)


@settings(deadline=None, max_examples=20)
@given(
    seed=st.integers(0, 999),
    order=st.permutations(range(16)),
    offspring=st.sampled_from([1, 5]),
    kept=st.sampled_from([2, 200]),
)
def test_late_trials_take_their_place(
    seed: int, order: list[int], offspring: int, kept: int
) -> None:
    values, violations = points(seed, 16)
    population = Population(growing, offspring, first=4)
    before = module._KEPT
    module._KEPT = kept  # also when so late that what is kept does not reach back
    try:
        for told in range(1, 17):
            numbers = np.sort(order[:told])
            found = population.of(numbers, values[numbers], violations[numbers])[0]
            expected = replayed(
                values[numbers], violations[numbers], mu=growing, offspring=offspring, first=4
            )
            np.testing.assert_array_equal(found, expected)
    finally:
        module._KEPT = before


def test_a_generation_at_a_time() -> None:
    values, violations = points(1, 200)
    population = Population(lambda done: 20, 15, first=80)
    sizes, changes = [], []
    last: list[int] = []
    for n in range(201):
        members = population.of(np.arange(n), values[:n], violations[:n])[0].tolist()
        if members != last:
            changes.append(n)
        sizes.append(len(members))
        last = members
    assert sizes[79] == 0
    assert changes[0] == 80
    assert all((n - 80) % 15 == 0 for n in changes)
    assert len(changes) > 2
    assert set(sizes[80:]) == {20}


def test_it_grows() -> None:
    values, violations = points(0, 100)
    population = Population(growing, 1, first=4)
    sizes = [
        len(population.of(np.arange(n), values[:n], violations[:n])[0]) for n in (4, 40, 60, 100)
    ]
    assert sizes == [3, 10, 15, 25]


@pytest.mark.parametrize("unique", [True, False])
def test_points_of_equal_values(unique: bool) -> None:
    values = np.array([[0.0, 1.0]] * 6 + [[2.0, 2.0]])
    population = Population(lambda done: 3, 1, first=7, unique=unique)
    members = population.of(np.arange(7), values, np.zeros(7))[0].tolist()
    # Equal points come last, even after a dominated one.
    assert (6 in members) == unique


def test_feasible_points_survive() -> None:
    values = np.array([[0.0, 0.0], [5.0, 5.0], [6.0, 6.0], [-1.0, -1.0]])
    population = Population(lambda done: 2, 1, first=4)
    members, ranks, _ = population.of(np.arange(4), values, np.array([1.0, 0.0, 0.0, 2.0]))
    assert members.tolist() == [1, 2]
    assert ranks.tolist() == [0, 1]


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
    draw = selection(history, members, ranks, crowding)
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


def test_all_outside_share_evenly() -> None:
    values = np.array([[5.0, 9.0], [9.0, 5.0]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


def test_infinite_values_share_evenly_rather_than_nan() -> None:
    values = np.array([[-1e300, -1e299], [-1e299, -1e300]])
    np.testing.assert_allclose(_hypervolume_shares(values, np.array([4.0, 4.0])), [0.5, 0.5])


@pytest.mark.parametrize("objectives", [5, 7])
def test_many_objectives_share_evenly(objectives: int) -> None:
    values = np.eye(objectives)
    shares = _hypervolume_shares(values, np.full(objectives, 4.0))
    np.testing.assert_allclose(shares, 1 / objectives)


def test_draws_follow_the_shares() -> None:
    history = history_of([[0.0, 3.0], [1.0, 1.0], [3.0, 0.0], [3.5, 3.5]], worst=4.0)
    found = drawn(HypervolumeParents(share=1.0, even=0.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 6, 1: 4 / 6, 2: 1 / 6, 3: 0}, abs=0.03)
    found = drawn(HypervolumeParents(share=1.0, even=1.0), history, range(4), [0, 0, 0, 1])
    assert found == pytest.approx({0: 1 / 3, 1: 1 / 3, 2: 1 / 3, 3: 0}, abs=0.03)
    half = drawn(HypervolumeParents(share=0.5, even=0.0), history, range(4), [0, 0, 0, 1])
    assert 0 < half[3] < 0.1, "by tournament dominated ones have their turn"


def test_members_are_positions_in_the_history() -> None:
    history = history_of([[9.0, 9.0]] * 5 + [[0.0, 1.0], [1.0, 0.0]])
    for selection in (HypervolumeParents(), tournament_parents):
        found = drawn(selection, history, [5, 6], [0, 0], n=200)
        assert found.keys() == {5, 6}
        assert min(found.values()) > 0.3


def test_of_infeasible_members_the_least_violating_are_the_front() -> None:
    history = history_of([[0.0, 0.0], [5.0, 5.0], [4.0, 6.0]], worst=9.0)
    found = drawn(HypervolumeParents(share=1.0), history, range(3), [2, 1, 1])
    assert found[0] == 0


def test_tournament_prefers_rank_then_crowding() -> None:
    history = history_of([[0.0, 0.0]] * 3)
    found = drawn(tournament_parents, history, range(3), [0, 0, 1], [1.0, 2.0, 9.0])
    # Against itself and the two others: 5/9, 3/9, 1/9.
    assert found == pytest.approx({0: 3 / 9, 1: 5 / 9, 2: 1 / 9}, abs=0.03)


POINTS = arrays(
    float,
    st.tuples(st.integers(1, 25), st.integers(1, 3)),
    elements=st.integers(0, 6).map(float),
)


def _ranks_by_peeling(values: np.ndarray) -> np.ndarray:
    ranks = np.full(len(values), -1)
    level = 0
    while (ranks < 0).any():
        left = np.flatnonzero(ranks < 0)
        for i in left:
            dominated = any(
                (values[j] <= values[i]).all() and (values[j] < values[i]).any() for j in left
            )
            if not dominated:
                ranks[i] = -2 - level
        ranks[ranks == -2 - level] = level
        level += 1
    return ranks


@settings(deadline=None, max_examples=60)
@given(POINTS)
def test_ranks_are_those_of_peeling(values: np.ndarray) -> None:
    np.testing.assert_array_equal(
        pareto_ranks(values, np.zeros(len(values))), _ranks_by_peeling(values)
    )


@settings(deadline=None, max_examples=40)
@given(POINTS, st.data())
def test_infeasible_points_come_last_by_violation(values: np.ndarray, data: st.DataObject) -> None:
    violations = np.array(
        data.draw(
            st.lists(st.sampled_from([0, 0, 1.0, 2.5]), min_size=len(values), max_size=len(values))
        )
    )
    ranks = pareto_ranks(values, violations)
    for i in range(len(values)):
        for j in range(len(values)):
            if violations[i] < violations[j]:
                assert ranks[i] < ranks[j]


def test_crowding_by_hand() -> None:
    values = np.array([[0.0, 4.0], [1.0, 2.0], [4.0, 0.0], [9.0, 9.0]])
    ranks = np.array([0, 0, 0, 1])
    crowding = crowding_distances(values, ranks)
    assert np.isinf(crowding[[0, 2, 3]]).all()
    assert crowding[1] == 2.0  # the whole range in both objectives
    assert crowding_distances(values, ranks, normalize=False)[1] == 8.0


@settings(deadline=None, max_examples=40)
@given(POINTS, st.integers(1, 30))
def test_survivors_are_the_best(values: np.ndarray, count: int) -> None:
    best, ranks, crowding = survivors(values, np.zeros(len(values)), count)
    assert len(best) == len(ranks) == len(crowding) == min(count, len(values))
    assert (np.diff(best) > 0).all()
    lost = np.setdiff1d(np.arange(len(values)), best)
    if len(lost):
        every = pareto_ranks(values, np.zeros(len(values)))
        assert ranks.max() <= every[lost].min()


def test_survival_tournament_prefers_rank_then_crowding() -> None:
    rng = np.random.default_rng(0)
    wins = [binary_tournament(rng, np.array([0, 1]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 0) < 0.85  # loses only against itself
    wins = [binary_tournament(rng, np.array([0, 0]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 1) < 0.85
