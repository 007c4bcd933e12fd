from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution
from sklearn.datasets import load_wine
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective, LexiFlowSampler
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.lexiflow.start import design_row, first_row, restart_row
from optuna_mofs.samplers.operators.places import Places

SPACE = {
    "C": FloatDistribution(0.1, 1000, log=True),
    "kernel": CategoricalDistribution(["linear", "rbf"]),
}


def places() -> Places:
    return Places(ParameterSpace(SPACE))


def test_the_first_row_is_the_users_point() -> None:
    rng = np.random.default_rng(0)
    space = ParameterSpace(SPACE)
    found = space.decode(first_row(rng, places(), {"C": 10.0, "elsewhere": 3}))
    assert found["C"] == pytest.approx(10)
    kernels = {space.decode(first_row(rng, places(), {}))["kernel"] for _ in range(30)}
    assert kernels == {"linear", "rbf"}


def test_restarts_are_spread_around_it_and_stay_inside() -> None:
    rng = np.random.default_rng(0)
    rows = np.array([restart_row(rng, places(), {"C": 0.1})[0] for _ in range(300)])
    assert ((rows >= 0) & (rows <= 1)).all()
    assert rows.std() > 0.2


def test_a_design_has_a_slice_for_each_trial() -> None:
    rows = [design_row(7, number, 10, places(), {})[0] for number in range(10)]
    assert sorted(int(10 * row) for row in rows) == list(range(10))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ({"c": 1.0}, "start names 'c', which is no parameter of the study"),
        ({"kernl": "rbf"}, "Did you mean 'kernel'"),
        ({"C": 1e9}, r"start gives 'C' the value 1000000000.0, which FloatDistribution\("),
        ({"kernel": "poly"}, "'poly'"),
    ],
)
def test_a_point_that_the_study_cannot_have(start: dict[str, Any], message: str) -> None:
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        SVC(), X, y, space=SPACE, features=None, measures=["error", "training_error"], cv=2
    )
    study = objective.create_study(sampler=LexiFlowSampler(start=start, seed=0))
    with pytest.raises(ValueError, match=message):
        study.optimize(objective, n_trials=1)
