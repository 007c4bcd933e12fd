from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given

from optuna_mofs.fronts import entered_front_mask, nondominated_mask, pareto_rank

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
def test_every_point_is_covered_by_a_member_and_members_do_not_dominate_each_other(points):
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
def test_ranks_peel_fronts(points):
    ranks = pareto_rank(points)
    unmeasured = np.isnan(points).any(axis=1)
    left = np.flatnonzero(~unmeasured)
    rank = 0
    while len(left):
        on_front = left[slow_front(points[left])]
        assert (ranks[on_front] == rank).all()
        left = np.setdiff1d(left, on_front)
        rank += 1
    assert (ranks[unmeasured] == rank).all()


def test_infinities_that_moocore_does_not_survive():
    # moocore 0.3.2 ends the process on the first and errs on the second.
    inf = np.inf
    assert pareto_rank([[-inf, 1.0, 1.0], [1.0, -inf, 2.0]]).tolist() == [0, 0]
    points = [[0.0, inf, inf, inf], [inf, inf, inf, inf]]
    assert nondominated_mask(points).tolist() == [True, False]
    assert pareto_rank(points).tolist() == [0, 1]


def test_many_points_of_each_width_agree_with_the_definition():
    # Above a size the library takes another algorithm for four and more objectives.
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
