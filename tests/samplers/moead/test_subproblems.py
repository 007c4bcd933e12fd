from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.moead._subproblems import (
    MOEADNote,
    Subproblems,
    get_decomposition,
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


def test_a_neighborhood_holds_the_nearest_weights():
    found = neighborhoods(simplex_points(6, 2), 3)
    assert found[:, 0].tolist() == list(range(6))
    assert set(found[2]) == {1, 2, 3}
    assert set(found[0]) == {0, 1, 2}


def test_with_equal_weights_each_vector_comes_first_in_its_neighborhood():
    assert neighborhoods(simplex_points(5, 1), 2)[:, 0].tolist() == list(range(5))


LOSSES = np.array([[0.2, 0.4], [0.1, 0.4]])


def test_the_augmented_distance_breaks_ties() -> None:
    even = np.array([[0.5, 0.5]])
    assert tchebycheff(LOSSES, even).ravel().tolist() == [0.2, 0.2]
    augmented_tchebycheff = get_decomposition("augmented_tchebycheff")
    np.testing.assert_allclose(augmented_tchebycheff(LOSSES, even).ravel(), [0.215, 0.2125])
    losses = np.array([[0.4, 0.4], [0.4, 0.1]])
    assert np.ptp(tchebycheff(losses, even)) == 0
    assert augmented_tchebycheff(losses, even)[1] < augmented_tchebycheff(losses, even)[0]


def test_an_objective_of_weight_zero_counts_a_little() -> None:
    assert (tchebycheff(LOSSES, np.array([[0.0, 0.0]])) > 0).all()


def test_decompositions_by_name() -> None:
    assert get_decomposition("tchebycheff") is tchebycheff
    assert get_decomposition(max) is max  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"decomposition must be one of .* got 'sum'"):
        get_decomposition("sum")


WEIGHTS = simplex_points(5, 2)


class Trials:
    """A history that holds values, violations, and the subproblem of each trial."""

    def __init__(self, values, subproblem, violations=None, numbers=None):
        self.values = np.array(values, dtype=float)
        self.violations = np.zeros(len(values)) if violations is None else np.array(violations)
        self.numbers = np.arange(len(values)) if numbers is None else numbers
        self._notes = [MOEADNote(subproblem=k) for k in subproblem]

    def __len__(self):
        return len(self.values)

    def note(self, i, kind):
        return self._notes[i]


def subproblems(most=3, near=3, normalize=True, everywhere=False):
    return Subproblems(
        WEIGHTS,
        neighborhoods(WEIGHTS, near),
        tchebycheff,
        max_replacements=most,
        global_replacement=everywhere,
        normalize_objectives=normalize,
    )


def followed(found, *trials, **options):
    found.follow(Trials(*trials, **options))
    return found.members


def members(values, subproblem, violations=None, **options):
    return followed(subproblems(**options), values, subproblem, violations)


def test_the_first_trial_becomes_the_member_of_its_neighborhood():
    assert members([[1, 1]], [0]).tolist() == [0, 0, 0, -1, -1]


def test_a_trial_made_for_no_subproblem_competes_for_all():
    assert members([[1, 1]], [None], most=5).tolist() == [0] * 5


def test_with_global_replacement_every_trial_competes_for_all():
    assert members([[1, 1]], [0], most=5, everywhere=True).tolist() == [0] * 5


def test_the_better_trial_by_the_weights_is_the_member():
    # The second is better in the second objective, which counts in the first weights.
    assert members([[0, 1], [1, 0]], [None, None], most=5).tolist() == [1, 1, 1, 0, 0]


def test_one_trial_replaces_a_limited_number_of_members():
    found = members([[1, 1], [0.5, 0.5]], [None, None], most=2)
    assert found.tolist().count(1) == 2


def test_less_violation_beats_better_values():
    found = members([[0, 0], [5, 5]], [None, None], violations=[1.0, 0.0], most=5)
    assert found.tolist() == [1] * 5
    again = members([[5, 5], [0, 0]], [None, None], violations=[0.0, 1.0], most=5)
    assert again.tolist() == [0] * 5


def test_scales_do_not_matter_where_they_are_normalized():
    rng = np.random.default_rng(0)
    values, subproblem = rng.random((40, 2)), (np.arange(40) % 5).tolist()
    assert members(values, subproblem).tolist() == members(values * [1, 1000], subproblem).tolist()
    unscaled = members(values * [1, 1000], subproblem, normalize=False)
    assert unscaled.tolist() != members(values, subproblem, normalize=False).tolist()


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000), cut=st.integers(1, 29), late=st.integers(0, 28))
def test_the_state_is_a_function_of_the_history(seed, cut, late):
    """Neither earlier states nor the order in which trials complete matter."""
    rng = np.random.default_rng(seed)
    values, subproblem = rng.random((30, 2)), rng.integers(5, size=30).tolist()
    whole = members(values, subproblem)
    follower = subproblems()
    followed(follower, values[:cut], subproblem[:cut])
    rest = np.delete(np.arange(30), late)
    followed(follower, values[rest], [subproblem[i] for i in rest], numbers=rest)
    assert followed(follower, values, subproblem).tolist() == whole.tolist()


def test_long_histories_with_a_late_first_trial_are_replayed():
    rng = np.random.default_rng(1)
    values, subproblem = rng.random((400, 2)), rng.integers(5, size=400).tolist()
    follower = subproblems()
    followed(follower, values[1:], subproblem[1:], numbers=np.arange(1, 400))
    assert followed(follower, values, subproblem).tolist() == members(values, subproblem).tolist()


def algorithm_1(values, neighbors):
    """Steps 3 to 10 of Algorithm 1 (Rosales-Pérez et al. 2014), with eq. 11, line by line."""
    n = len(WEIGHTS)
    x = list(range(n))
    z = values[:n].min(axis=0)
    for number in range(n, len(values)):
        i = number % n
        z = np.minimum(z, values[number])
        for j in neighbors[i]:
            new = max(WEIGHTS[j] * abs(values[number] - z))
            old = max(WEIGHTS[j] * abs(values[x[j]] - z))
            if new <= old:
                x[j] = number
    return x


def published():
    return Subproblems(
        WEIGHTS,
        neighborhoods(WEIGHTS, 3),
        get_decomposition("unbounded_tchebycheff"),
        max_replacements=3,
        global_replacement=False,
        normalize_objectives=False,
        own_start=True,
    )


@settings(max_examples=40)
@given(seed=st.integers(0, 10_000), count=st.integers(5, 60))
def test_the_published_members_are_those_of_algorithm_1(seed, count):
    # An error and a dimension: a lower bound of the weights would let the dimension decide.
    values = np.random.default_rng(seed).random((count, 2)) * [1, 320]
    subproblem = (np.arange(count) % 5).tolist()
    found = followed(published(), values, subproblem).tolist()
    assert found == algorithm_1(values, neighborhoods(WEIGHTS, 3))


def test_in_the_paper_the_initial_points_keep_their_own_subproblems():
    values = [[k, 9 - k] for k in (3, 0, 4, 1, 2)]
    assert followed(published(), values, [0, 1, 2, 3, 4]).tolist() == [0, 1, 2, 3, 4]
    # A place whose trial failed stays empty until its subproblem has its next turn.
    assert followed(published(), values[1:], [1, 2, 3, 4]).tolist() == [-1, 0, 1, 2, 3]


def test_in_the_paper_an_objective_of_weight_zero_does_not_count():
    losses = np.array([[0.01, 0.0], [0.0, 320.0]])
    weights = np.array([[1.0, 0.0]])
    exact = get_decomposition("unbounded_tchebycheff")(losses, weights).ravel()
    assert exact.tolist() == [0.01, 0.0]
    assert tchebycheff(losses, weights).argmin() == 0
