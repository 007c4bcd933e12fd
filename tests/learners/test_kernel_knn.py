from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs.learners import KernelKNeighborsClassifier, KernelKNeighborsRegressor

BOTH = [KernelKNeighborsClassifier, KernelKNeighborsRegressor]


@parametrize_with_checks([cls() for cls in BOTH])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_rectangular_kernel_is_plain_knn(cancer, p):
    X, y = cancer
    Z = StandardScaler().fit(X[:400]).transform(X)
    plain = KNeighborsClassifier(9, p=p).fit(Z[:400], y[:400])
    ours = KernelKNeighborsClassifier(n_neighbors=9, distance=p, kernel="rectangular")
    ours.fit(X[:400], y[:400])
    np.testing.assert_allclose(ours.predict_proba(X[400:]), plain.predict_proba(Z[400:]))
    mean = KNeighborsRegressor(9, p=p).fit(Z[:400], X[:400, 0])
    model = KernelKNeighborsRegressor(n_neighbors=9, distance=p, kernel="rectangular")
    model.fit(X[:400], X[:400, 0])
    np.testing.assert_allclose(model.predict(X[400:]), mean.predict(Z[400:]))


@pytest.mark.parametrize("kernel", ["rectangular", "optimal", "triangular", "biweight"])
@pytest.mark.parametrize("distance", [1.0, 42.0, 100.0])
def test_it_learns(cancer, kernel, distance):
    X, y = cancer
    model = KernelKNeighborsClassifier(n_neighbors=15, distance=distance, kernel=kernel)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_units_do_not_matter_unless_scaling_is_off(cancer):
    X, y = cancer
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    model = KernelKNeighborsClassifier().fit(X[:400], y[:400])
    other = KernelKNeighborsClassifier().fit(X[:400] * units, y[:400])
    np.testing.assert_allclose(
        model.predict_proba(X[400:]), other.predict_proba(X[400:] * units), atol=1e-9
    )
    model.set_params(scale=False).fit(X[:400], y[:400])
    other.set_params(scale=False).fit(X[:400] * units, y[:400])
    assert (model.predict(X[400:]) != other.predict(X[400:] * units)).any()


@pytest.mark.parametrize("scale", [True, False])
def test_columns_constant_in_training_are_ignored(scale):
    X = np.column_stack([np.arange(10.0), np.full(10, 0.1)])
    y = np.arange(10) > 4
    model = KernelKNeighborsClassifier(n_neighbors=3, scale=scale).fit(X, y)
    far = np.column_stack([np.arange(10.0), np.full(10, 1e6)])
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(X))


def test_one_binary_column_gives_the_class_shares():
    X = np.array([[0.0]] * 10 + [[1.0]] * 10)
    y = np.array(["a"] * 9 + ["b"] + ["b"] * 7 + ["a"] * 3)
    for kernel in ("rectangular", "optimal", "rank", "gaussian"):
        model = KernelKNeighborsClassifier(n_neighbors=4, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), [[0.9, 0.1], [0.3, 0.7]])


def test_names_of_columns_and_pickling(cancer):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = KernelKNeighborsClassifier().fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


def test_labels_of_any_kind():
    X = np.arange(6.0)[:, None]
    for labels in (["x", "y"], [-1, 1], [False, True]):
        y = pd.Series(np.repeat(labels, 3))
        model = KernelKNeighborsClassifier(n_neighbors=2).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5"),
        ({"distance": 0.5}, "at least 1"),
        ({"distance": float("nan")}, "distance=nan"),
        ({"kernel": "square"}, "biweight"),
    ],
)
def test_bad_options_are_refused(cls, option, message):
    with pytest.raises(ValueError, match=message):
        clone(cls(**option)).fit([[0.0], [1.0], [2.0]], [0, 1, 1])
