from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import (
    knee_index,
    nondominated_mask,
    one_standard_error_index,
)
from tests.fronts.helpers import point_arrays, quick, special


def distance_to_line(points: np.ndarray) -> np.ndarray:
    """Distance below the straight line between the extreme points, after normalizing."""
    scaled = (points - points.min(axis=0)) / np.ptp(points, axis=0)
    first, last = scaled[scaled[:, 0].argmin()], scaled[scaled[:, 1].argmin()]
    along = last - first
    normal = np.array([along[1], -along[0]])
    return (scaled - first) @ normal / np.linalg.norm(normal) * np.sign(normal.sum()) * -1.0


@quick
@given(st.integers(0, 10_000))
def test_two_objectives_farthest_from_the_line_between_the_extremes(seed):
    rng = np.random.default_rng(seed)
    x = np.sort(rng.uniform(size=9))
    front = np.column_stack([x * 40.0, (1.0 - np.sqrt(x)) * rng.uniform(0.1, 9.0)])
    distance = distance_to_line(front)
    assert distance.max() > 0.0
    assert knee_index(front) == int(distance.argmax())


@quick
@given(point_arrays(special))
def test_the_knee_is_on_the_front(points):
    if nondominated_mask(points).any():
        assert nondominated_mask(points)[knee_index(points)]
    else:
        with pytest.raises(ValueError, match="NaN"):
            knee_index(points)


@quick
@given(point_arrays(), st.data())
def test_units_offsets_and_order_do_not_matter(points, data):
    width = points.shape[1]
    scale = [2.0 ** data.draw(st.integers(-8, 8)) for _ in range(width)]
    shift = [float(data.draw(st.integers(-50, 50))) for _ in range(width)]
    knee = points[knee_index(points)]
    changed = points * scale + shift
    np.testing.assert_array_equal(changed[knee_index(changed)], knee * scale + shift)
    shuffled = points[data.draw(st.permutations(range(len(points))))]
    np.testing.assert_array_equal(shuffled[knee_index(shuffled)], knee)


@quick
@given(point_arrays(), st.data())
def test_dominated_points_do_not_matter(points, data):
    knee = points[knee_index(points)]
    row = data.draw(st.integers(0, len(points) - 1))
    more = np.vstack([points[row] + 1000.0, points])
    np.testing.assert_array_equal(more[knee_index(more)], knee)


def test_degenerate_fronts():
    assert knee_index([[5.0, 5.0]]) == 0
    # Two points lie on their own line: the better first objective.
    assert knee_index([[2.0, 1.0], [1.0, 2.0]]) == 1
    # A straight front: the middle.
    assert knee_index([[0.0, 4.0], [1.0, 3.0], [2.0, 2.0], [3.0, 1.0], [4.0, 0.0]]) == 2
    # A concave front: not an extreme point.
    assert knee_index([[0.0, 10.0], [7.0, 8.0], [8.0, 7.5], [10.0, 0.0]]) in (1, 2)
    # Equal points.
    assert knee_index([[1.0, 1.0], [1.0, 1.0]]) == 0


def test_a_constant_objective_does_not_matter():
    front = np.array([[0.0, 10.0], [1.0, 3.0], [5.0, 1.0], [10.0, 0.0]])
    with_constant = np.insert(front, 1, 7.0, axis=1)
    assert knee_index(with_constant) == knee_index(front) == 1


def test_three_objectives_near_the_ideal_point():
    corners = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]])
    assert knee_index(np.vstack([corners, [[0.2, 0.3, 0.2]]])) == 3


def test_infinite_points_are_no_knee_unless_there_are_no_others():
    assert knee_index([[-np.inf, 9.0], [1.0, 1.0], [0.0, 5.0], [5.0, 0.0]]) == 1
    assert knee_index([[np.inf, 0.0], [0.0, np.inf]]) == 1


def test_huge_values_do_not_overflow():
    huge = 1.7e308
    front = np.array([[-huge, huge], [-huge * 0.9, -huge * 0.9], [huge, -huge]])
    assert knee_index(front) == 1


def test_no_points():
    with pytest.raises(ValueError, match="no points"):
        knee_index(np.empty((0, 2)))


def test_input_is_not_changed():
    points = np.array([[3.0, 1.0], [1.0, 3.0], [1.5, 1.5]])
    before = points.copy()
    knee_index(points)
    np.testing.assert_array_equal(points, before)


rows = st.lists(
    st.tuples(st.integers(0, 8), st.integers(0, 5), st.integers(0, 4)), min_size=1, max_size=12
)


@quick
@given(rows)
def test_rule_by_its_definition(cases):
    errors, sizes, spreads = (np.array(column, dtype=float) for column in zip(*cases))
    pick = one_standard_error_index(errors, sizes, spreads)
    best = min(range(len(cases)), key=lambda i: (errors[i], sizes[i], i))
    allowed = [i for i in range(len(cases)) if errors[i] <= errors[best] + spreads[best]]
    assert pick in allowed
    assert (sizes[pick], errors[pick]) == min((sizes[i], errors[i]) for i in allowed)


@quick
@given(rows)
def test_no_spread_gives_the_sparsest_of_the_best(cases):
    errors, sizes, _ = (np.array(column, dtype=float) for column in zip(*cases))
    pick = one_standard_error_index(errors, sizes, 0.0)
    assert (errors[pick], sizes[pick]) == min(zip(errors, sizes))


def test_nan_is_left_out():
    assert one_standard_error_index([np.nan, 0.2, 0.21], [1, 5, np.nan], 0.1) == 1
    with pytest.raises(ValueError, match="none without NaN"):
        one_standard_error_index([np.nan], [1], 0.1)


def test_only_the_spread_of_the_best_point_counts():
    assert one_standard_error_index([0.1, 0.2], [9, 1], [0.05, 5.0]) == 0
    assert one_standard_error_index([0.1, 0.2], [9, 1], [0.2, np.nan]) == 1


@pytest.mark.parametrize("spread", [-0.1, np.nan, np.inf])
def test_bad_spread_raises(spread):
    with pytest.raises(ValueError, match="standard error of the best"):
        one_standard_error_index([0.1, 0.2], [9, 1], spread)


def test_bad_shapes_raise():
    with pytest.raises(ValueError, match="one length"):
        one_standard_error_index([0.1, 0.2], [9], 0.1)
