from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs import MOEADSampler
from optuna_mofs.samplers.moead._subproblems import (
    Subproblems,
    augmented_tchebycheff,
    neighborhoods,
    simplex_points,
    tchebycheff,
)


@settings(max_examples=25)
@given(count=st.integers(4, 40), m=st.integers(1, 6))
def test_weights_are_on_the_simplex_and_differ(count, m):
    weights = simplex_points(count, m)
    assert weights.shape == (count, m)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    if m > 1:
        assert len(np.unique(weights, axis=0)) == count


@pytest.mark.parametrize("m", [2, 3, 4])
def test_every_corner_is_among_them(m):
    weights = simplex_points(20, m)
    assert set(weights.argmax(axis=1)[weights.max(axis=1) == 1.0]) == set(range(m))


def test_three_objectives_are_covered_evenly():
    weights = simplex_points(28, 3)
    apart = np.sqrt(((weights[:, None] - weights) ** 2).sum(axis=2)) + 10 * np.eye(28)
    assert apart.min() > 0.1  # an even spread has about 0.24


def test_neighbors_are_the_nearest_itself_first():
    places = neighborhoods(simplex_points(6, 2), 3)
    assert places[:, 0].tolist() == list(range(6))
    assert set(places[2]) == {1, 2, 3}
    assert set(places[0]) == {0, 1, 2}


def test_neighbors_of_equal_weights_hold_oneself():
    assert neighborhoods(simplex_points(5, 1), 2)[:, 0].tolist() == list(range(5))


LOSSES = np.array([[0.2, 0.4], [0.1, 0.4]])


def test_the_sum_tells_points_apart_that_are_equal_in_the_worst() -> None:
    even = np.array([[0.5, 0.5]])
    assert tchebycheff(LOSSES, even).ravel().tolist() == [0.2, 0.2]
    np.testing.assert_allclose(augmented_tchebycheff(LOSSES, even).ravel(), [0.215, 0.2125])


def test_a_weight_of_zero_still_cares_a_little() -> None:
    assert (tchebycheff(LOSSES, np.array([[0.0, 0.0]])) > 0).all()


def test_by_name() -> None:
    chosen = MOEADSampler(decomposition="augmented_tchebycheff").decomposition
    assert chosen is augmented_tchebycheff
    assert MOEADSampler(decomposition=max).decomposition is max  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"decomposition must be one of .* but is 'sum'"):
        MOEADSampler(decomposition="sum")


WEIGHTS = simplex_points(5, 2)


def subproblems(most=3, near=3, normalize=True):
    places = neighborhoods(WEIGHTS, near)
    return Subproblems(WEIGHTS, places, tchebycheff, most=most, normalize=normalize)


def members(values, belongs, violations=None, **options):
    values = np.array(values, dtype=float)
    violations = np.zeros(len(values)) if violations is None else np.array(violations)
    return subproblems(**options).members(np.arange(len(values)), values, violations, belongs)


def test_a_first_trial_takes_its_neighborhood():
    assert members([[1, 1]], [0]).tolist() == [0, 0, 0, -1, -1]


def test_a_trial_of_nobody_competes_for_all():
    assert members([[1, 1]], [None], most=5).tolist() == [0] * 5


def test_the_better_by_its_weights_stays():
    # The second is better in the second objective, which the first weights ask for.
    assert members([[0, 1], [1, 0]], [None, None], most=5).tolist() == [1, 1, 1, 0, 0]


def test_one_trial_takes_only_so_many_places():
    found = members([[1, 1], [0.5, 0.5]], [None, None], most=2)
    assert found.tolist().count(1) == 2


def test_less_violation_beats_better_values():
    found = members([[0, 0], [5, 5]], [None, None], violations=[1.0, 0.0], most=5)
    assert found.tolist() == [1] * 5
    again = members([[5, 5], [0, 0]], [None, None], violations=[0.0, 1.0], most=5)
    assert again.tolist() == [0] * 5


def test_scales_do_not_matter_where_they_are_normalized():
    rng = np.random.default_rng(0)
    values, belongs = rng.random((40, 2)), (np.arange(40) % 5).tolist()
    assert members(values, belongs).tolist() == members(values * [1, 1000], belongs).tolist()
    unscaled = members(values * [1, 1000], belongs, normalize=False)
    assert unscaled.tolist() != members(values, belongs, normalize=False).tolist()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), cut=st.integers(1, 29), late=st.integers(0, 28))
def test_the_state_is_a_function_of_the_history(seed, cut, late):
    """Whatever was asked in between, and in whichever order trials came."""
    rng = np.random.default_rng(seed)
    values, belongs = rng.random((30, 2)), rng.integers(5, size=30).tolist()
    whole = members(values, belongs)
    numbers, zero = np.arange(30), np.zeros(30)
    asked = subproblems()
    asked.members(numbers[:cut], values[:cut], zero[:cut], belongs[:cut])
    rest = np.delete(numbers, late)
    asked.members(rest, values[rest], zero[rest], [belongs[i] for i in rest])
    assert asked.members(numbers, values, zero, belongs).tolist() == whole.tolist()


def test_long_histories_with_a_late_first_trial_are_replayed():
    rng = np.random.default_rng(1)
    values, belongs = rng.random((400, 2)), rng.integers(5, size=400).tolist()
    asked = subproblems()
    asked.members(np.arange(1, 400), values[1:], np.zeros(399), belongs[1:])
    found = asked.members(np.arange(400), values, np.zeros(400), belongs)
    assert found.tolist() == members(values, belongs).tolist()


def test_the_augmented_distance_tells_equal_largest_ones_apart():
    losses, even = np.array([[0.4, 0.4], [0.4, 0.1]]), np.array([[0.5, 0.5]])
    assert np.ptp(tchebycheff(losses, even)) == 0
    assert augmented_tchebycheff(losses, even)[1] < augmented_tchebycheff(losses, even)[0]
