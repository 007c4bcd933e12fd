"""Impurity importances without estimators of trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from optuna_mofs.filters import _forest
from optuna_mofs.filters._forest import forest_importances

FORESTS = [
    ExtraTreesClassifier(20, min_samples_leaf=2, random_state=3),
    ExtraTreesClassifier(20, bootstrap=True, max_samples=40, random_state=4),
    ExtraTreesRegressor(20, min_samples_leaf=2, max_features=1 / 3, random_state=5),
    RandomForestClassifier(20, min_samples_leaf=5, random_state=6),
    RandomForestRegressor(20, max_samples=50, max_features="sqrt", random_state=7),
]


def data(forest: Any, p: int = 7) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.floor(rng.normal(size=(120, p)) * 8).astype(np.float32)
    y = X[:, 0] * X[:, 1] + rng.normal(size=120)
    return X, np.digitize(y, [-20, 20]) + 1 if "Classifier" in type(forest).__name__ else y


@pytest.mark.parametrize("forest", FORESTS)
def test_importances_are_those_of_the_forest(forest, monkeypatch):
    X, y = data(forest)
    monkeypatch.setattr(type(forest), "fit", None)  # it is not used
    found = forest_importances(forest, X, y)
    monkeypatch.undo()
    np.testing.assert_array_equal(found, forest.fit(X, y).feature_importances_)


def test_other_versions_of_the_builders_fit_the_forest(monkeypatch):
    forest = FORESTS[0]
    X, y = data(forest)
    expected = forest_importances(forest, X, y)

    def fails(*args: Any) -> None:
        raise TypeError("missing argument")

    monkeypatch.setattr(_forest, "_lean_importances", fails)
    np.testing.assert_array_equal(forest_importances(forest, X, y), expected)


def test_trees_without_splits_have_no_importances():
    X, y = data(FORESTS[0])
    assert not forest_importances(FORESTS[0], np.zeros_like(X), y).any()
