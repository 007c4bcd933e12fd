from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs.learners import DropoutMLPClassifier


@parametrize_with_checks([DropoutMLPClassifier(epochs=100, learning_rate_1=0.01, random_state=0)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def test_it_learns_with_any_number_of_layers():
    X, y = load_iris(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    for n_layers in (1, 2, 3):
        model = DropoutMLPClassifier(n_layers=n_layers, epochs=60, random_state=0)
        model.set_params(learning_rate_1=0.01, learning_rate_2=0.01, learning_rate_3=0.01)
        assert model.fit(X, y).score(X, y) > 0.93
        assert len(model.coefs_) == n_layers + 1


def test_gradients_are_those_of_finite_differences():
    rng = np.random.RandomState(0)
    X, y = rng.standard_normal((9, 4)), np.arange(9) % 3
    model = DropoutMLPClassifier(n_layers=2, n_units_1=5, n_units_2=6, epochs=1, random_state=0)
    model.fit(X, y)
    for bias in model.intercepts_:  # away from 0, where a rectified unit has no derivative
        bias += rng.uniform(0.1, 0.5, len(bias))
    targets = np.eye(3)[y]

    def loss():
        return -np.log(model.predict_proba(X)[targets == 1]).mean()

    gradients = model._gradients(rng, X, targets, [0.0, 0.0])
    for weight, gradient in zip(model._weights(), gradients):
        place = tuple(0 for _ in weight.shape)
        before = weight[place]
        weight[place] = before + 1e-6
        above = loss()
        weight[place] = before - 1e-6
        slope = (above - loss()) / 2e-6
        weight[place] = before
        assert gradient[place] == pytest.approx(slope, abs=1e-6)


def test_a_layer_has_its_own_learning_rate_and_dropout():
    X, y = load_iris(return_X_y=True)
    slow = DropoutMLPClassifier(n_layers=2, epochs=1, learning_rate_1=1e-12, random_state=0)
    first = clone(slow).set_params(learning_rate_2=0.1).fit(X, y)
    second = clone(slow).set_params(learning_rate_2=1e-12).fit(X, y)
    np.testing.assert_allclose(first.coefs_[0], second.coefs_[0], atol=1e-6)
    assert np.abs(first.coefs_[1] - second.coefs_[1]).max() > 0.01
    rng = np.random.RandomState(0)
    dropped = first._gradients(rng, X[:5], np.eye(3)[y[:5]], [0.0, 0.99])
    assert np.mean(dropped[4] == 0) > 0.5  # rows of units without output


@pytest.mark.parametrize(
    ("options", "message"),
    [({"n_layers": 4}, "n_layers"), ({"dropout_1": 1.0}, "dropout_1"), ({"epochs": 0}, "epochs")],
)
def test_invalid_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        DropoutMLPClassifier(**options).fit([[0.0], [1.0]], [0, 1])
