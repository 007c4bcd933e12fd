from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import (
    check_dont_overwrite_parameters,
    check_get_params_invariance,
    check_set_params,
)

from optuna_mofs.learners import LayeredMLPClassifier, LayeredMLPRegressor

BOTH = [LayeredMLPClassifier, LayeredMLPRegressor]


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    "check",
    [check_dont_overwrite_parameters, check_get_params_invariance, check_set_params],
)
def test_scikit_learn_conventions(cls, check):
    check(cls.__name__, cls(max_iter=5))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("cls", BOTH)
def test_shape_follows_the_parameters(cls):
    X, y = load_iris(return_X_y=True)
    model = clone(cls(max_iter=2).set_params(n_layers=3, n_units=5, alpha=0.5)).fit(X, y)
    assert [w.shape for w in model.coefs_[:3]] == [(4, 5), (5, 5), (5, 5)]
    assert len(model.coefs_) == 4
    assert model.alpha == 0.5
    assert "hidden_layer_sizes" not in model.get_params()


def test_it_learns():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    options = {"n_units": 8, "solver": "lbfgs", "max_iter": 2000, "random_state": 0}
    names = np.array(["a", "b", "c"])[y]
    assert LayeredMLPClassifier(**options).fit(X, names).score(X, names) > 0.95
    assert LayeredMLPRegressor(**options, alpha=1.0).fit(X, y).score(X, y) > 0.9


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("option", [{"n_layers": 0}, {"n_units": 2.5}, {"n_units": True}])
def test_bad_shapes_raise(cls, option):
    with pytest.raises(ValueError, match="must be an integer of at least 1"):
        cls(**option).fit(np.eye(4), [0, 1, 0, 1])
