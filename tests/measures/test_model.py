from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, get_scorer, mean_squared_error
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs.measures import Fold, measure
from optuna_mofs.measures.model import false_negative_rate, false_positive_rate


class Says:
    """A model that says what it was told to."""

    def __init__(self, prediction):
        self.prediction = np.asarray(prediction)

    def predict(self, X):
        return self.prediction


def fold(truth, said, *, train=None, weight=None):
    truth = np.asarray(truth)
    return Fold(
        estimator=Says(said),
        X_train=None,
        y_train=truth if train is None else np.asarray(train),
        X_test=None,
        y_test=truth,
        scorer=None,
        test_weight=weight,
    )


@settings(deadline=None, max_examples=120)
@given(
    st.sampled_from([["no", "yes"], [0, 1], ["a", "b", "c"], [2, 3, 5, 7]]),
    st.integers(1, 40),
    st.integers(0, 2**32),
    st.booleans(),
)
def test_rates_against_the_confusion_matrix(labels, rows, seed, weighted):
    rng = np.random.default_rng(seed)
    truth, said = rng.choice(labels, rows), rng.choice(labels, rows)
    weight = rng.random(rows) + 0.1 if weighted else None
    matrix = confusion_matrix(truth, said, labels=labels, sample_weight=weight).astype(float)
    fnr, fpr = [], []
    for k in range(len(labels)) if len(labels) > 2 else [1]:
        positives, negatives = matrix[k].sum(), matrix.sum() - matrix[k].sum()
        if positives > 0:
            fnr.append((positives - matrix[k, k]) / positives)
        if negatives > 0:
            fpr.append((matrix[:, k].sum() - matrix[k, k]) / negatives)
    # The training fold knows all labels, the test fold perhaps not.
    found = fold(truth, said, train=labels, weight=weight)
    assert false_negative_rate(found) == pytest.approx(np.mean(fnr) if fnr else 0.0)
    assert false_positive_rate(found) == pytest.approx(np.mean(fpr) if fpr else 0.0)


def test_the_larger_label_is_the_positive_one():
    found = fold(["no", "no", "yes", "yes", "yes"], ["yes", "no", "no", "yes", "yes"])
    assert false_negative_rate(found) == pytest.approx(1 / 3)
    assert false_positive_rate(found) == pytest.approx(1 / 2)


def scored_fold(scoring, model, *, weight=None):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] > 0).astype(int) if scoring in ("accuracy", "neg_log_loss") else X[:, 0]
    model = model.fit(X[:40], y[:40])
    return Fold(
        estimator=model,
        X_train=X[:40],
        y_train=y[:40],
        X_test=X[40:],
        y_test=y[40:],
        scorer=get_scorer(scoring),
        test_weight=weight,
    )


@pytest.mark.parametrize("scoring", ["accuracy", "r2"])
def test_error_is_one_minus_a_score(scoring):
    model = (DecisionTreeClassifier if scoring == "accuracy" else DecisionTreeRegressor)(
        max_depth=1
    )
    found = scored_fold(scoring, model)
    error, training = measure("error", found.scorer), measure("training_error", found.scorer)
    X, y = found.X_test, found.y_test
    assert error.fold(found) == pytest.approx(1 - model.score(X, y))
    assert training.fold(found) == pytest.approx(1 - model.score(found.X_train, found.y_train))
    assert error.worst == training.worst == 1.0


def test_error_of_a_loss_is_the_loss_without_a_worst_value():
    model = DecisionTreeRegressor(max_depth=1)
    found = scored_fold("neg_mean_squared_error", model)
    error = measure("error", found.scorer)
    expected = mean_squared_error(found.y_test, model.predict(found.X_test))
    assert error.fold(found) == pytest.approx(expected)
    assert error.fold(found) > 0
    assert error.worst is None
    training = measure("training_error", found.scorer)
    assert training.fold(found) < error.fold(found)


def test_weights_reach_the_scorer():
    weight = np.zeros(20)
    weight[0] = 1.0
    found = scored_fold("accuracy", DecisionTreeClassifier(max_depth=1), weight=weight)
    right = found.estimator.predict(found.X_test[:1])[0] == found.y_test[0]
    assert measure("error", found.scorer).fold(found) == (0.0 if right else 1.0)


def test_predictions_are_made_once():
    class Counts(Says):
        calls = 0

        def predict(self, X):
            Counts.calls += 1
            return self.prediction

    found = fold([0, 1], [0, 1])
    found.estimator = Counts([0, 1])
    false_negative_rate(found)
    false_positive_rate(found)
    assert Counts.calls == 1


@pytest.mark.parametrize(
    "name", ["error", "training_error", "fnr", "fpr", "fraction", "count", "cost", "instability"]
)
def test_measures_travel_to_other_processes(name):
    assert pickle.loads(pickle.dumps(measure(name, get_scorer("accuracy")))).name == name
