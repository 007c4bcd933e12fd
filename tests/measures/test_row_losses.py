"""The mean of the losses of rows is the value of the fold, and resampling them is faithful."""

from __future__ import annotations

import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import metrics
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import check_scoring, get_scorer, get_scorer_names, make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs.measures import Fold, Measure, get_measure
from optuna_mofs.measures._prediction import error_measure
from optuna_mofs.measures._row_losses import row_metric

KNOWN = [
    name
    for name in get_scorer_names()
    if row_metric(get_scorer(name)._score_func, get_scorer(name)._kwargs) is not None
]
REGRESSION = [name for name in KNOWN if "error" in name or name == "r2"]
BINARY = ["f1", "precision", "recall", "jaccard"]


def noisy_fold(scoring, *, n_classes, seed, weighted, n=60):
    """A fold whose labels are partly random, so that every metric is strictly between its ends."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(2 * n, 3))
    weight = rng.uniform(0.1, 3, 2 * n) if weighted else None
    if n_classes == 0:
        y = np.abs(X[:, 0] + rng.normal(size=2 * n))
        model = make_pipeline(LinearRegression(positive=True, fit_intercept=False))
        X = np.abs(X)
    else:
        y = np.digitize(X[:, 0] + rng.normal(size=2 * n), np.linspace(-1, 1, n_classes + 1)[1:-1])
        model = LogisticRegression()
    model.fit(X[:n], y[:n])
    return Fold(
        estimator=model,
        X_train=X[:n],
        y_train=y[:n],
        X_test=X[n:],
        y_test=y[n:],
        scorer=check_scoring(model, scoring),
        test_weight=None if weight is None else weight[n:],
    )


def test_the_scorers_of_every_day_are_known():
    assert set(KNOWN) >= {
        *("accuracy", "balanced_accuracy", "r2", "neg_log_loss", "neg_brier_score", "roc_auc"),
        *("roc_auc_ovr", "roc_auc_ovo_weighted", "neg_mean_squared_error", "f1_weighted"),
        *("neg_root_mean_squared_error", "neg_mean_absolute_error", *BINARY, "recall_macro"),
    }
    for name in ("matthews_corrcoef", "average_precision", "neg_max_error", "f1_samples"):
        assert error_measure(get_scorer(name)).rows is None


@pytest.mark.parametrize("scoring", [*KNOWN, None])
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.booleans())
def test_the_mean_of_rows_is_the_value_of_the_fold(scoring, seed, weighted):
    if scoring in REGRESSION:
        kinds = [0]
    else:
        kinds = [2] if scoring in BINARY else [2, 3] if scoring else [0, 2, 3]
    for n_classes in kinds:
        if n_classes == 3 and (scoring == "roc_auc" or (weighted and "ovo" in (scoring or ""))):
            continue
        fold = noisy_fold(scoring, n_classes=n_classes, seed=seed, weighted=weighted)
        measure = error_measure(fold.scorer)
        rows = measure.rows(fold)
        assert rows.shape == (60,)
        found = np.average(rows, weights=fold.test_weight)
        assert found == pytest.approx(measure.fold(fold), abs=1e-9)
        assert np.ptp(rows) > 0


@pytest.mark.parametrize("name", ["fnr", "fpr", "brier_loss", "log_loss", "auc_loss"])
@settings(max_examples=8, deadline=None)
@given(st.integers(0, 2**32), st.booleans(), st.sampled_from([2, 3]))
def test_measures_of_predictions_have_rows(name, seed, weighted, n_classes):
    fold = noisy_fold("accuracy", n_classes=n_classes, seed=seed, weighted=weighted)
    measure = get_measure(name)
    found = np.average(measure.rows(fold), weights=fold.test_weight)
    assert found == pytest.approx(measure.fold(fold), abs=1e-9)
    assert measure.label


@pytest.mark.parametrize(
    "scoring",
    [
        *("balanced_accuracy", "f1", "precision", "f1_weighted", "roc_auc", "jaccard_macro"),
        *("roc_auc_ovr_weighted", "roc_auc_ovo", "r2", "neg_root_mean_squared_error"),
    ],
)
def test_resampled_rows_vary_like_the_metric_on_resampled_predictions(scoring):
    n_classes = 0 if scoring in REGRESSION else 3 if "ov" in scoring else 2
    fold = noisy_fold(scoring, n_classes=n_classes, seed=0, weighted=False, n=400)
    rows, measure = error_measure(fold.scorer).rows(fold), error_measure(fold.scorer)
    rng = np.random.default_rng(1)
    draws = rng.integers(400, size=(120, 400))
    exact = [
        measure.fold(replace(fold, X_test=fold.X_test[draw], y_test=fold.y_test[draw]))
        for draw in draws
    ]
    found = rows[draws].mean(axis=1)
    assert np.corrcoef(exact, found)[0, 1] > 0.97
    assert np.std(found) == pytest.approx(np.std(exact), rel=0.12)


def test_a_metric_without_a_denominator_is_zero_for_all_rows():
    class Negative(LogisticRegression):
        def predict(self, X):
            return np.zeros(len(X), dtype=int)

    fold = noisy_fold("recall", n_classes=2, seed=0, weighted=False)
    fold.estimator.__class__ = Negative
    fold.y_test = np.zeros_like(fold.y_test)
    with pytest.warns(UndefinedMetricWarning):
        value = error_measure(fold.scorer).fold(fold)
    assert error_measure(fold.scorer).rows(fold).tolist() == [value] * 60


def test_a_constant_target_has_the_r2_of_scikit_learn():
    for predicted in (1.0, 2.0):
        y = np.ones(9)
        found = row_metric(metrics.r2_score, {})(y, np.full(9, predicted), np.ones(9))
        assert found.tolist() == [metrics.r2_score(y, np.full(9, predicted))] * 9


def test_perfect_predictions_have_no_root_mean_squared_error():
    found = row_metric(metrics.root_mean_squared_error, {})(np.ones(3), np.ones(3), np.ones(3))
    assert found.tolist() == [0.0] * 3


@pytest.mark.parametrize(
    ("scoring", "known"),
    [
        (make_scorer(metrics.fbeta_score, beta=2), True),
        (make_scorer(metrics.f1_score, pos_label=0), True),
        (make_scorer(metrics.balanced_accuracy_score, adjusted=True), True),
        (make_scorer(metrics.roc_auc_score, response_method="predict_proba", max_fpr=0.5), False),
        (make_scorer(metrics.accuracy_score, normalize=False), False),
        (make_scorer(metrics.mean_squared_error), True),
        (lambda estimator, X, y: 0.5, False),
    ],
)
def test_options_of_scorers(scoring, known):
    fold = noisy_fold(scoring, n_classes=2, seed=3, weighted=False)
    measure = error_measure(fold.scorer)
    assert (measure.rows is not None) == known
    if known:
        assert measure.rows(fold).mean() == pytest.approx(measure.fold(fold))


@pytest.mark.parametrize(
    ("estimator", "scoring", "label", "known"),
    [
        (SVC(), None, "1 - accuracy", True),
        (make_pipeline(StandardScaler(), LinearRegression()), None, "1 - r2", True),
        (DummyClassifier(), None, "1 - accuracy", True),
        (DummyRegressor(), None, "1 - r2", True),
        (GridSearchCV(SVC(), {"C": [1]}), None, "1 - score", False),
        (SVC(), "roc_auc", "1 - roc_auc", True),
        (SVC(), "f1_macro", "1 - f1_macro", True),
        (SVC(), "neg_log_loss", "log loss", True),
        (SVC(), "neg_brier_score", "Brier score", True),
        (LinearRegression(), "neg_root_mean_squared_error", "RMSE", True),
        (LinearRegression(), "neg_median_absolute_error", "median absolute error", False),
        (SVC(), lambda estimator, X, y: 1.0, "1 - score", False),
    ],
)
def test_the_error_is_named(estimator, scoring, label, known):
    measure = error_measure(check_scoring(estimator, scoring))
    assert measure.label == label
    assert (measure.rows is not None) == known
    assert error_measure(check_scoring(estimator, scoring), train=True).rows is None
    pickle.dumps(measure)


@pytest.mark.parametrize("scoring", [None, "accuracy", "roc_auc"])
def test_values_and_rows_share_one_prediction(scoring):
    calls = []

    class Counting(LogisticRegression):
        def decision_function(self, X):
            calls.append(len(X))
            return super().decision_function(X)

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    model = Counting().fit(X, y)
    fold = Fold(model, X, y, X, y, check_scoring(model, scoring))
    measure = error_measure(fold.scorer)
    assert measure.rows(fold).mean() == pytest.approx(measure.fold(fold))
    assert calls == [40]


def test_an_own_score_of_another_model_gives_nan():
    class Own(LogisticRegression):
        def score(self, X, y, sample_weight=None):
            return 0.25

    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), np.arange(40) % 2
    measure = error_measure(check_scoring(LogisticRegression()))
    fold = Fold(Own().fit(X, y), X, y, X, y, check_scoring(LogisticRegression()))
    assert measure.fold(fold) == 0.75
    assert np.isnan(measure.rows(fold)).all()


def test_rows_need_a_measure_of_folds():
    with pytest.raises(ValueError, match="needs functions fold= and rows="):
        Measure("size", whole=lambda whole: 1.0, rows=lambda fold: np.zeros(3))
