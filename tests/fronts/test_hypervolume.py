from __future__ import annotations

import time

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import (
    hypervolume,
    hypervolume_history,
    hypervolume_over_time,
    pareto_front,
)
from tests.fronts.helpers import make_study, point_arrays, quick, slow_volume, special


@quick
@given(point_arrays(max_points=8), st.sampled_from([3.0, 6.0, 7.0]))
def test_volume_agrees_with_counting_cells(points, bound):
    expected = slow_volume(points, [bound] * points.shape[1])
    assert hypervolume(points, bound) == pytest.approx(expected)


@quick
@given(point_arrays(st.floats(0, 1), widths=(1, 5)))
def test_over_time_is_the_volume_of_each_beginning(points):
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
    usable = points[(points < 2.5).all(axis=1)]
    if np.isneginf(usable).any():
        assert growth[-1] == np.inf
    else:
        assert growth[-1] == pytest.approx(slow_volume(usable, [2.5] * points.shape[1]))


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


def test_rounding_does_not_let_the_volume_shrink():
    # The last point is better by the least there is: about one gain in twelve rounds below 0.
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
def test_bad_reference_is_refused(reference):
    with pytest.raises(ValueError, match="reference point"):
        hypervolume([[0.0, 0.0]], reference)
    with pytest.raises(ValueError, match="reference point"):
        hypervolume_over_time([[0.0, 0.0]], reference)


def test_a_long_history_takes_a_moment():
    # All points are on the front. Computing each volume anew takes four times what is allowed.
    rng = np.random.default_rng(0)
    angles = rng.uniform(0.0, np.pi / 2, size=5000)
    points = 1.0 - np.column_stack([np.cos(angles), np.sin(angles)])
    started = time.process_time()
    growth = hypervolume_over_time(points, 1.0)
    assert time.process_time() - started < 0.5
    assert growth[-1] == pytest.approx(hypervolume(points, 1.0))


def test_inputs_are_not_changed():
    points = np.array([[0.5, 0.5], [0.2, np.nan], [0.1, 0.9]])
    reference = np.array([1.0, 1.0])
    kept = points.copy()
    hypervolume(points, reference)
    hypervolume_over_time(points, reference)
    np.testing.assert_array_equal(points, kept)
    assert reference.tolist() == [1.0, 1.0]


@quick
@given(point_arrays(widths=(2, 3)), st.booleans())
def test_each_entry_is_the_volume_so_far_and_the_last_that_of_the_front(points, maximize):
    directions = ["maximize" if maximize else "minimize", *["minimize"] * (points.shape[1] - 1)]
    study = make_study(points, directions)
    signs = np.array([-1.0 if d == "maximize" else 1.0 for d in directions])
    history = hypervolume_history(study)
    bound = (points * signs).max(axis=0)
    expected = [hypervolume(points[: i + 1] * signs, bound) for i in range(len(points))]
    np.testing.assert_allclose(history, expected)
    assert history.index.tolist() == list(range(len(points)))
    assert history.iloc[-1] == pytest.approx(pareto_front(study).hypervolume())


def test_index_holds_the_numbers_of_finished_trials():
    study = make_study([[0.5, 0.5]])
    study.add_trial(optuna.trial.create_trial(state=optuna.trial.TrialState.FAIL))
    study.add_trial(optuna.trial.create_trial(values=[0.25, 0.5]))
    history = hypervolume_history(study, {"value_0": 1.0, "value_1": 1.0})
    assert history.index.tolist() == [0, 2]
    assert history.index.name == "number"
    assert history.name == "hypervolume"
    assert history.tolist() == [0.25, 0.375]


def test_infeasible_trials_add_nothing():
    study = make_study([[0.5, 0.5], [0.0, 0.0]], constraints=[{"c": 0.0}, {"c": 1.0}])
    assert hypervolume_history(study, [1, 1]).tolist() == [0.25, 0.25]
    study = make_study([[np.inf, 0.0]], constraints=[{"c": 1.0}])
    assert hypervolume_history(study).tolist() == [0.0]


def test_no_finished_trial():
    assert len(hypervolume_history(make_study([], ["minimize", "minimize"]))) == 0
