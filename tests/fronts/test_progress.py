from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optuna_mofs.fronts import hypervolume, hypervolume_history, pareto_front

from .helpers import make_study, point_arrays, quick


@quick
@given(point_arrays(widths=(2, 3)), st.booleans())
def test_each_entry_is_the_volume_so_far_and_the_last_that_of_the_front(points, maximise):
    directions = ["maximize" if maximise else "minimize", *["minimize"] * (points.shape[1] - 1)]
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
