from __future__ import annotations

import numpy as np

from optuna_mofs import FilterEnsembleNSGA2Sampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.gaussian.points import Points, points_of
from optuna_mofs.samplers.operators.places import Places
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study


def test_each_parameter_has_its_own_distance():
    rows = np.array([[0.0, 0.0], [0.5, 2.0], [0.5, np.nan], [np.nan, np.nan]])
    points = Points(rows, np.array([False, True]))
    first, second = points.squares(points)
    np.testing.assert_allclose(first[0], [0, 0.25, 0.25, 1])
    np.testing.assert_allclose(first[3], [1, 1, 1, 0])
    np.testing.assert_allclose(second[1], [1, 0, 1, 1])
    np.testing.assert_allclose(second[2], [1, 1, 0, 0])


def test_masks_differ_by_what_they_do_not_share_and_by_size():
    masks = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=bool)
    points = Points(np.empty((4, 0)), np.zeros(0, dtype=bool), masks)
    shared, sizes = points.squares(points[np.array([0, 3])])
    np.testing.assert_allclose(shared[:, 0], [0, 0.5, 1, 1], atol=1e-6)
    np.testing.assert_allclose(shared[:, 1], [1, 1, 1, 0], atol=1e-6)
    assert sizes[2, 0] == 0
    assert 0 < sizes[1, 0] < sizes[3, 0]


def test_trials_of_a_study_are_seen_with_their_masks():
    study = make_study("packed", sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=5)
    history = History(StudyDescription.read(study))
    history.update(study)
    points = points_of(history, Places.of(history), np.array([3, 1]))
    assert points.masks.shape == (2, 59)
    np.testing.assert_array_equal(points.masks[0], history.mask(3))
    np.testing.assert_array_equal(points.rows, history.rows[[3, 1]])
