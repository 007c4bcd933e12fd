from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import brier_score_loss, roc_auc_score
from sklearn.metrics import log_loss as scikit_learns_log_loss
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.measures import Fold
from optuna_mofs.measures.probability import (
    _from_distances,
    auc_loss,
    brier_loss,
    class_probabilities,
    log_loss,
)


class SaysOnly:
    """A classifier that has nothing but a prediction."""

    def __init__(self, said: list[int]) -> None:
        self.said = said

    def predict(self, X: np.ndarray) -> np.ndarray:
        return np.resize(self.said, len(X))


def fold_of(model, X, y, weight=None) -> Fold:
    return Fold(model.fit(X, y), X, y, X, y, scorer=None, test_weight=weight)


def test_probabilities_of_a_classifier_are_its_own():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=500).fit(X, y)
    np.testing.assert_array_equal(
        class_probabilities(model, X, np.arange(3)), model.predict_proba(X)
    )


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris])
def test_without_probabilities_the_decision_function_says_who_is_likely(load):
    X, y = load(return_X_y=True)
    model = RidgeClassifier().fit(X, y)
    shares = class_probabilities(model, X, np.unique(y))
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X))
    assert ((shares > 0) & (shares < 1)).all()


def test_a_bare_prediction_gets_all_of_it():
    shares = class_probabilities(SaysOnly([7, 3]), np.zeros((2, 1)), np.array([3, 5, 7]))
    assert shares.tolist() == [[0, 0, 1], [1, 0, 0]]


def test_classes_that_a_model_never_saw_get_nothing():
    model = LogisticRegression().fit([[0.0], [1.0]], ["a", "c"])
    shares = class_probabilities(model, [[0.5]], np.array(["a", "b", "c"]))
    assert shares[0, 1] == 0
    assert shares.sum() == pytest.approx(1)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-50, 50), min_size=2, max_size=6))
def test_farther_from_the_boundary_is_more_likely(distances):
    positive = _from_distances(np.sort(distances))[:, 1]
    assert (np.diff(positive) >= 0).all()
    assert ((positive > 0.5) == (np.sort(distances) > 0)).all() or min(map(abs, distances)) < 1e-12


def test_two_classes_are_scored_as_by_scikit_learn():
    X, y = load_breast_cancer(return_X_y=True)
    weight = np.linspace(0.1, 1, len(y))
    model = LogisticRegression(max_iter=20)
    fold = fold_of(model, X[:, :3], y, weight)
    expected = brier_score_loss(y, model.predict_proba(X[:, :3])[:, 1], sample_weight=weight)
    assert brier_loss(fold) == pytest.approx(expected)
    positive = np.clip(model.predict_proba(X[:, :3])[:, 1], 0.01, 0.99)
    expected = scikit_learns_log_loss(y, positive, sample_weight=weight)
    # A probability beyond 0.99 of the true class is not cut.
    assert log_loss(fold) == pytest.approx(expected, abs=0.005)
    expected = 1 - roc_auc_score(y, positive, sample_weight=weight)
    assert auc_loss(fold) == pytest.approx(expected, abs=1e-3)


def test_being_sure_and_wrong_is_not_infinitely_bad():
    fold = fold_of(LogisticRegression(C=1e6), [[0.0], [1.0]], np.array([0, 1]))
    fold.X_test, fold.y_test = [[50.0]], np.array([0])
    assert log_loss(fold) == pytest.approx(-np.log(0.01))


def test_the_area_of_several_classes_is_their_mean_and_a_lone_class_says_nothing():
    X, y = load_iris(return_X_y=True)
    model = LogisticRegression(max_iter=20)
    fold = fold_of(model, X[:, :2], y)
    expected = 1 - roc_auc_score(y, model.predict_proba(X[:, :2]), multi_class="ovr")
    assert auc_loss(fold) == pytest.approx(expected)
    fold.X_test, fold.y_test = X[:5, :2], y[:5]
    assert auc_loss(fold) == 0.5


def test_it_is_a_measure_by_name_and_takes_machines_without_probabilities():
    X, y = load_iris(return_X_y=True)
    objective = FeatureSelectionObjective(SVC(), X, y, measures=["brier", "count"], cv=3)
    study = objective.create_study()
    study.optimize(objective, n_trials=2)
    assert all(0 < t.values[0] < 1 for t in study.trials)
