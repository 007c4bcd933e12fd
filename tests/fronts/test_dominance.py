from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import entered_front_mask, nondominated_mask, pareto_rank
from optuna_mofs.fronts._dominance import update_front

from .helpers import dominates, point_arrays, quick, slow_front, special


@quick
@given(point_arrays())
def test_front_agrees_with_the_definition(points):
    assert np.flatnonzero(nondominated_mask(points)).tolist() == slow_front(points)


@quick
@given(point_arrays(special))
def test_nan_and_infinities(points):
    assert np.flatnonzero(nondominated_mask(points)).tolist() == slow_front(points)


@quick
@given(point_arrays())
def test_the_front_covers_every_point_and_its_members_do_not_dominate_each_other(points):
    front = points[nondominated_mask(points)]
    for point in points:
        assert any(dominates(member, point) or (member == point).all() for member in front)
    assert not any(dominates(a, b) for a in front for b in front)


@quick
@given(point_arrays())
def test_without_duplicates_the_first_of_each_value_is_kept(points):
    every = np.flatnonzero(nondominated_mask(points))
    once = np.flatnonzero(nondominated_mask(points, duplicates=False))
    seen: dict[tuple, int] = {}
    for i in every:
        seen.setdefault(tuple(points[i]), int(i))
    assert once.tolist() == sorted(seen.values())


@quick
@given(point_arrays(special))
def test_ranks_are_those_of_removing_fronts_one_by_one(points):
    ranks = pareto_rank(points)
    invalid = np.isnan(points).any(axis=1)
    left = np.flatnonzero(~invalid)
    rank = 0
    while len(left):
        on_front = left[slow_front(points[left])]
        assert (ranks[on_front] == rank).all()
        left = np.setdiff1d(left, on_front)
        rank += 1
    assert (ranks[invalid] == rank).all()


def test_infinities_that_moocore_cannot_handle():
    # moocore 0.3.2 crashes on the first and is wrong on the second.
    inf = np.inf
    assert pareto_rank([[-inf, 1.0, 1.0], [1.0, -inf, 2.0]]).tolist() == [0, 0]
    points = [[0.0, inf, inf, inf], [inf, inf, inf, inf]]
    assert nondominated_mask(points).tolist() == [True, False]
    assert pareto_rank(points).tolist() == [0, 1]


def test_many_points_of_each_width_agree_with_the_definition():
    # moocore switches the algorithm for many points of four and more objectives.
    rng = np.random.default_rng(3)
    for width in (2, 3, 4, 5):
        points = rng.integers(0, 8, size=(300, width)).astype(float)
        assert np.flatnonzero(nondominated_mask(points)).tolist() == slow_front(points)


def test_empty_and_bad_shapes():
    assert nondominated_mask(np.empty((0, 2))).shape == (0,)
    assert pareto_rank(np.empty((0, 3))).shape == (0,)
    assert pareto_rank([[np.nan, 1.0]]).tolist() == [0]
    with pytest.raises(
        ValueError, match=r"one row per point and one column per objective, got shape \(2,\)"
    ):
        nondominated_mask([1.0, 2.0])
    with pytest.raises(ValueError, match=r"shape \(2, 0\)"):
        pareto_rank(np.empty((2, 0)))


def test_input_is_not_changed():
    points = np.array([[1.0, np.nan], [2.0, 1.0], [0.0, 3.0]])
    before = points.copy()
    nondominated_mask(points)
    pareto_rank(points)
    np.testing.assert_array_equal(points, before)


@quick
@given(point_arrays(special))
def test_points_enter_the_front_unless_an_earlier_point_equals_or_dominates_them(points):
    expected = [
        not np.isnan(point).any() and not any((earlier <= point).all() for earlier in points[:i])
        for i, point in enumerate(points)
    ]
    assert entered_front_mask(points).tolist() == expected


@quick
@given(point_arrays(special), st.data())
def test_infeasible_points_rank_last_by_violation(points, data):
    drawn = st.lists(
        st.sampled_from([0.0, 0.0, 1.0, 2.5]), min_size=len(points), max_size=len(points)
    )
    violations = np.array(data.draw(drawn))
    ranks = pareto_rank(points, violations)
    feasible = violations == 0
    assert ranks[feasible].tolist() == pareto_rank(points[feasible]).tolist()
    for i, j in np.ndindex(len(points), len(points)):
        if violations[i] < violations[j]:
            assert ranks[i] < ranks[j]
    assert pareto_rank(points, np.zeros(len(points))).tolist() == pareto_rank(points).tolist()


@quick
@given(point_arrays())
def test_updating_point_by_point_gives_the_front(points):
    front = np.zeros(0, dtype=int)
    for row in range(len(points)):
        updated = update_front(points, front, row)
        front = front if updated is None else updated
    assert sorted(front) == np.flatnonzero(nondominated_mask(points, duplicates=False)).tolist()
