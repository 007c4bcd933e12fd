"""Several scorers of a search: lists, dicts, and functions that return dicts."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import accuracy_score, recall_score

from optuna_mofs.model_selection._scorers import named_scorers
from tests.model_selection.searches import quick_search


def accuracy_and_recall(estimator, X, y, sample_weight=None):
    predicted = estimator.predict(X)
    return {
        "accuracy": accuracy_score(y, predicted, sample_weight=sample_weight),
        "recall": recall_score(y, predicted, average="macro", sample_weight=sample_weight),
    }


FORMS = [
    ["accuracy", "recall_macro"],
    {"accuracy": "accuracy", "recall": "recall_macro"},
    accuracy_and_recall,
]


@pytest.mark.parametrize("scoring", FORMS, ids=["list", "dict", "function"])
def test_several_scores_are_optimized_together(wine, scoring):
    search = quick_search(scoring=scoring, cv=2).fit(*wine)
    second = "recall_macro" if isinstance(scoring, list) else "recall"
    assert search.multimetric_
    assert search.objective_.metric_names == ["error_accuracy", f"error_{second}", "fraction"]
    alone = quick_search(scoring=FORMS[1], cv=2).fit(*wine)
    for key in ("accuracy", second):
        found = search.cv_results_[f"mean_test_{key}"]
        expected = alone.cv_results_[f"mean_test_{'recall' if key == second else key}"]
        np.testing.assert_allclose(found, expected)
    chosen = search.select(refit=second)
    expected = accuracy_and_recall(chosen.best_estimator_, *wine)["recall"]
    assert chosen.score(*wine) == pytest.approx(expected)


def test_a_function_is_called_once_per_model(wine):
    calls = []

    def scoring(estimator, X, y):
        calls.append(len(y))
        return accuracy_and_recall(estimator, X, y)

    search = quick_search(scoring=scoring, cv=2, n_trials=4)
    search.fit(*wine)
    # The scores of four trials and of the two baselines, whose measures are evaluated one by one.
    assert len([n for n in calls if n == 89]) <= 2 * (4 + 3)


def test_weights_reach_functions_that_accept_them(wine):
    weight = np.random.default_rng(0).random(178)
    weighted = quick_search(scoring=accuracy_and_recall, cv=2).fit(*wine, sample_weight=weight)
    plain = quick_search(scoring=accuracy_and_recall, cv=2).fit(*wine)
    assert (
        weighted.cv_results_["mean_test_recall"] != plain.cv_results_["mean_test_recall"]
    ).any()


def test_functions_of_one_score_stay_as_they_are(wine):
    def scoring(estimator, X, y):
        return estimator.score(X, y)

    assert named_scorers(RidgeClassifier(), scoring, *wine, classification=True) == (scoring, None)


def test_functions_may_need_the_estimator(wine):
    def scoring(estimator, X, y):
        return {"margin": np.abs(estimator.decision_function(X)).mean()}

    _, several = named_scorers(RidgeClassifier(), scoring, *wine, classification=True)
    assert list(several) == ["margin"]


def test_errors_are_left_to_the_trials(wine):
    def scoring(estimator, X, y):
        raise RuntimeError("broken")

    assert named_scorers(RidgeClassifier(), scoring, *wine, classification=True)[1] is None


def test_names_must_not_change(wine):
    X, y = wine
    _, several = named_scorers(
        RidgeClassifier(),
        lambda estimator, X, y: {"many" if len(y) > 100 else "few": 1.0},
        X,
        y,
        classification=True,
    )
    model = RidgeClassifier().fit(X, y)
    assert several["many"](model, X, y) == 1
    with pytest.raises(ValueError, match="without 'many'"):
        several["many"](model, X[:50], y[:50])


def test_copies_of_scorers_do_not_hold_data(wine):
    X, y = wine
    _, several = named_scorers(RidgeClassifier(), accuracy_and_recall, X, y, classification=True)
    several["recall"](RidgeClassifier().fit(X, y), X, y)
    assert len(pickle.dumps(several["recall"])) < 1000
