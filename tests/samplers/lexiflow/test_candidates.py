from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs.history._history import History
from optuna_mofs.samplers.lexiflow.candidates import draw_candidates, random_directions
from optuna_mofs.samplers.operators.places import Places
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study


@pytest.mark.parametrize("dimension", [0, 1, 6])
@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_directions_have_length_1_for_each_axis_on_average(dimension, sparse):
    drawn = random_directions(np.random.default_rng(0), 2000, dimension, sparse=sparse)
    assert drawn.shape == (2000, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)
    if dimension == 6:
        hardly = np.mean(np.abs(drawn) < 0.05 * np.abs(drawn).max(axis=1, keepdims=True))
        assert hardly > 0.3 if sparse else hardly < 0.1


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_steps_stay_near_their_trial_and_others_go_anywhere(problem):
    study = make_study(problem, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(PROBLEMS[problem], n_trials=12)
    history = History(StudyDescription.read(study))
    history.update(study)
    places = Places.of(history)
    rng = np.random.default_rng(0)
    drawn = draw_candidates(rng, history, places, 300, (3, 5), (0.01, 0.02), sparse=0.5, start={})
    assert set(drawn.bases.tolist()) == {-1, 3, 5}
    assert set(drawn.steps.tolist()) == {0.01, 0.02}
    np.testing.assert_array_equal(places.row(drawn.places), drawn.rows)
    numbers = ~history.space.categorical
    for i in (3, 5):
        mine = drawn.rows[drawn.bases == i][:, numbers]
        far = np.abs(mine - history.rows[i][numbers])
        assert far.max() < 0.2
        assert far.max() > 0
    spread = np.ptp(drawn.rows[drawn.bases < 0][:, numbers], axis=0)
    assert (spread > 0.7).all()
    if problem == "packed":
        assert len(drawn.rows) == 75
        flips = np.array([(drawn.masks[drawn.bases == 3] != history.mask(3)).sum(axis=1)])
        assert flips.min() == 0
        assert 1 <= flips.max() <= 4
    else:
        assert drawn.masks is None
