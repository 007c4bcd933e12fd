from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import hypervolume, hypervolume_over_time
from tests.fronts.helpers import point_arrays, quick, slow_volume, special


@quick
@given(point_arrays(max_points=8), st.sampled_from([3.0, 6.0, 7.0]))
def test_volume_agrees_with_counting_cells(points, bound):
    expected = slow_volume(points, [bound] * points.shape[1])
    assert hypervolume(points, bound) == pytest.approx(expected)


@quick
@given(point_arrays(st.floats(0, 1), widths=(1, 5)))
def test_over_time_is_the_volume_of_each_prefix(points):
    growth = hypervolume_over_time(points, 0.75)
    expected = [hypervolume(points[: i + 1], 0.75) for i in range(len(points))]
    np.testing.assert_allclose(growth, expected, atol=1e-12)
    assert (np.diff(growth) >= 0.0).all()


@quick
@given(point_arrays(widths=(2, 3), max_points=20))
def test_over_time_with_ties(points):
    growth = hypervolume_over_time(points, 5.0)
    expected = [hypervolume(points[: i + 1], 5.0) for i in range(len(points))]
    np.testing.assert_allclose(growth, expected)


@quick
@given(point_arrays(special))
def test_nan_and_infinities(points):
    growth = hypervolume_over_time(points, 2.5)
    expected = [hypervolume(points[: i + 1], 2.5) for i in range(len(points))]
    np.testing.assert_allclose(growth, expected)
    valid = points[(points < 2.5).all(axis=1)]
    if np.isneginf(valid).any():
        assert growth[-1] == np.inf
    else:
        assert growth[-1] == pytest.approx(slow_volume(valid, [2.5] * points.shape[1]))


@quick
@given(point_arrays(max_points=8), st.data())
def test_volume_grows_with_points_and_with_better_points(points, data):
    bound = 6.5
    some = data.draw(st.integers(0, len(points)))
    assert hypervolume(points[:some], bound) <= hypervolume(points, bound) + 1e-9
    row = data.draw(st.integers(0, len(points) - 1))
    better = points.copy()
    better[row] -= 0.5
    assert hypervolume(better, bound) >= hypervolume(points, bound) - 1e-9


def test_rounding_errors_do_not_make_the_volume_shrink():
    # The last point is better by one unit in the last place: about one gain in twelve rounds
    # below 0.
    rng = np.random.default_rng(0)
    for _ in range(200):
        points = rng.random((4, 5))
        points[3] = points[0]
        points[3, 4] = np.nextafter(points[0, 4], -1.0)
        assert (np.diff(hypervolume_over_time(points, 1.0)) >= 0.0).all()


def test_no_points_inside():
    assert hypervolume(np.empty((0, 2)), 1.0) == 0.0
    assert hypervolume([[1.0, 0.0], [2.0, 2.0]], [1.0, 1.0]) == 0.0
    assert hypervolume_over_time(np.empty((0, 3)), 1.0).shape == (0,)


@pytest.mark.parametrize("reference", [[1.0], [1.0, 1.0, 1.0], [np.inf, 1.0], np.nan])
def test_bad_reference_raises(reference):
    with pytest.raises(ValueError, match="reference point"):
        hypervolume([[0.0, 0.0]], reference)
    with pytest.raises(ValueError, match="reference point"):
        hypervolume_over_time([[0.0, 0.0]], reference)


def test_two_objectives_need_no_volume_computation(monkeypatch):
    # All points are on the front. A volume per point would make 5000 calls.
    rng = np.random.default_rng(0)
    angles = rng.uniform(0.0, np.pi / 2, size=5000)
    points = 1.0 - np.column_stack([np.cos(angles), np.sin(angles)])
    total = hypervolume(points, 1.0)
    calls = []
    monkeypatch.setattr("moocore.hypervolume", lambda *_, **__: calls.append(1))
    growth = hypervolume_over_time(points, 1.0)
    assert not calls
    assert growth[-1] == pytest.approx(total)


def test_inputs_are_not_changed():
    points = np.array([[0.5, 0.5], [0.2, np.nan], [0.1, 0.9]])
    reference = np.array([1.0, 1.0])
    kept = points.copy()
    hypervolume(points, reference)
    hypervolume_over_time(points, reference)
    np.testing.assert_array_equal(points, kept)
    assert reference.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("n_objectives", [1, 2, 3, 4])
def test_the_largest_numbers_give_a_volume(n_objectives):
    largest = np.finfo(float).max
    points = np.full((2, n_objectives), -largest)
    points[0, 0] = points[1, -1] = -1e308
    assert hypervolume(points, 1.0) >= largest / 2
    assert hypervolume(points, largest) == np.inf
    volumes = hypervolume_over_time(points, np.full(n_objectives, largest))
    assert volumes.tolist() == [np.inf, np.inf]
