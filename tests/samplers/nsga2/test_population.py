from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.nsga2 import population as module
from optuna_mofs.samplers.nsga2.population import Population
from optuna_mofs.samplers.operators.survival import survivors


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
