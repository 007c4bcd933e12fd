"""Measures of predictions: errors, rates, probability losses and disparity."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    accuracy_score,
    get_scorer,
    get_scorer_names,
    r2_score,
    roc_auc_score,
)

from optuna_mofs._estimators import last_step
from optuna_mofs._typing import Array
from optuna_mofs.measures._base import Fold, Measure
from optuna_mofs.measures._registry import register_measure
from optuna_mofs.measures._row_losses import area_under_curve, mean_of, ratio, row_metric

#: Slope of the logistic curve over decision values: a row on the margin of a support vector
#: machine, whose decision value is 1, has the probability 0.88.
_SLOPE = 2.0
#: Probabilities below this one count as this one in the log loss.
_MIN_PROBABILITY = 0.01


#: Better known names of losses.
_LABELS = {
    "mean_squared_error": "MSE",
    "root_mean_squared_error": "RMSE",
    "mean_absolute_error": "MAE",
    "mean_absolute_percentage_error": "MAPE",
    "brier_score": "Brier score",
}


#: Methods ``score`` that do the same as those of scikit-learn's mixins.
_ACCURACY_METHODS = (
    "DummyClassifier.score",
    "KNeighborsClassifier.score",
    "CatBoostClassifier.score",
    "MultiOutputClassifier.score",
)
_R2_METHODS = ("DummyRegressor.score", "CatBoostRegressor.score")


def _is_loss(scorer: object) -> bool:
    # A scorer of a loss ("neg_...") returns minus the loss; any other is 1 at best.
    return getattr(scorer, "_sign", 1) < 0


def _error(fold: Fold, *, train: bool) -> float:
    metric, _ = _metric(fold.scorer, fold.estimator)
    if metric is None or train or hasattr(fold.scorer, "_score_func"):
        score = fold.score(train=train)
    elif metric is accuracy_score and _are_labels(fold.y_test, fold.prediction):
        # scikit-learn's function takes longer than many fits, and of several columns accepts
        # only zeros and ones.
        right = fold.prediction == fold.y_test
        right = right.all(axis=1) if right.ndim == 2 else right
        score = float(np.average(right, weights=fold.test_weight))
    else:  # the estimator's own score, with predictions that the losses of rows use too
        score = float(metric(fold.y_test, fold.prediction, sample_weight=fold.test_weight))
    return -score if _is_loss(fold.scorer) else 1.0 - score


def _are_labels(y: Array, predicted: Array) -> bool:
    is_same = y.dtype.kind == predicted.dtype.kind and y.shape == predicted.shape
    return y.ndim == 2 or (is_same and y.dtype.kind in "biuU")


def _error_rows(fold: Fold) -> Array:
    """Return the error of each row; NaN if the model's own score is unknown."""
    metric, options = _metric(fold.scorer, fold.estimator)
    rows = row_metric(metric, options)
    if rows is None:
        return np.full(len(fold.y_test), np.nan)
    found = rows(fold.y_test, fold.response, _weight(fold))
    return found if _is_loss(fold.scorer) else 1.0 - found


def _metric(scorer: Any, estimator: Any = None) -> tuple[Any, dict[str, Any]]:
    """Return the metric of a scorer and its options; (None, {}) if they are unknown."""
    if hasattr(scorer, "_score_func"):
        return scorer._score_func, scorer._kwargs
    if not hasattr(scorer, "_estimator"):
        return None, {}
    # scikit-learn's default: the estimator's own score.
    model = last_step(scorer._estimator if estimator is None else estimator)
    own = getattr(type(model), "score", None)
    name = getattr(own, "__qualname__", "")
    if own is ClassifierMixin.score or name in _ACCURACY_METHODS:
        return accuracy_score, {}
    if own is RegressorMixin.score or name in _R2_METHODS:
        return r2_score, {}
    return None, {}


def _score_name(scorer: Any) -> str:
    """Return scikit-learn's name of a scorer, or that of its function."""
    metric, options = _metric(scorer)
    for name in get_scorer_names():
        known: Any = get_scorer(name)
        if metric is known._score_func and options == known._kwargs:
            return str(name).removeprefix("neg_")
    function = str(getattr(metric or scorer, "__name__", "score"))
    return "score" if function == "<lambda>" else function.removesuffix("_score")


def error_measure(scorer: object, *, train: bool = False) -> Measure:
    """Return the measure of 1 − score, or of the loss itself, on the test or training folds."""
    name = _score_name(scorer)
    label = _LABELS.get(name, name.replace("_", " ")) if _is_loss(scorer) else f"1 - {name}"
    has_rows = not train and row_metric(*_metric(scorer)) is not None
    return Measure(
        "training_error" if train else "error",
        fold=partial(_error, train=train),
        worst=None if _is_loss(scorer) else 1.0,
        rows=_error_rows if has_rows else None,
        label=f"{label} (training)" if train else label,
        worst_is_constant=True,
    )


def scorer_measure(name: str, scorer: Any, *, train: bool = False) -> Measure:
    """Return the error by a scorer that need not be the objective's, under a name of its own."""
    plain = error_measure(scorer, train=train)
    rows = None if plain.rows is None else _ByScorer(scorer, plain.rows)
    return replace(plain, name=name, fold=_ByScorer(scorer, plain.fold), rows=rows)


@dataclass(frozen=True, eq=False)
class _ByScorer:
    """A function of a fold, called with another scorer."""

    scorer: Any
    function: Callable[[Fold], Any] | None

    def __call__(self, fold: Fold) -> Any:
        assert self.function is not None
        return self.function(replace(fold, scorer=self.scorer))


def to_score(scorer: object, error: Any) -> Any:
    """Return the score that belongs to an error (or array of errors) by this scorer."""
    return -error if _is_loss(scorer) else 1.0 - error


def false_negative_rate(fold: Fold) -> float:
    """Return the share of missed positives; the mean over classes if there are more than two.

    The positive one of two classes is the larger label, as in scikit-learn. Classes that are
    absent from the test fold do not count.
    """
    return _mean_error_rate(fold, of_positives=True)


def false_positive_rate(fold: Fold) -> float:
    """Return the share of negatives predicted positive; the mean over more than two classes."""
    return _mean_error_rate(fold, of_positives=False)


def _mean_error_rate(fold: Fold, *, of_positives: bool) -> float:
    """Return the error rate among the positives or negatives of each positive class, averaged."""
    weight = _weight(fold)
    rates = [
        weight[rows & wrong].sum() / weight[rows].sum()
        for rows, wrong in _rate_parts(fold, of_positives)
    ]
    return float(np.mean(rates)) if rates else 0.0


def _error_rate_rows(fold: Fold, *, of_positives: bool) -> Array:
    weight = _weight(fold)
    rates = [ratio(r & wrong, r, weight) for r, wrong in _rate_parts(fold, of_positives)]
    return mean_of(rates, None, weight) if rates else np.zeros(len(weight))


def _rate_parts(fold: Fold, of_positives: bool) -> list[tuple[Array, Array]]:
    """Return the rows and the wrong rows of each positive class, without those of no weight."""
    classes, weight = _classes(fold), _weight(fold)
    parts = [
        ((fold.y_test == positive) == of_positives, (fold.prediction == positive) != of_positives)
        for positive in (classes[1:] if len(classes) == 2 else classes)
    ]
    return [(rows, wrong) for rows, wrong in parts if weight[rows].sum() > 0]


def _classes(fold: Fold) -> Array:
    return np.unique(np.concatenate([fold.y_train, fold.y_test]))


def _weight(fold: Fold) -> Array:
    return np.ones(len(fold.y_test)) if fold.test_weight is None else fold.test_weight


def class_probabilities(model: Any, X: Any, classes: Array) -> Array:
    """Return the model's class probabilities, or an approximation, as rows × classes.

    Without ``predict_proba``, they are a fixed logistic function of ``decision_function``; without
    either, the predicted class has probability 1. ``classes`` are sorted and include those of the
    model.
    """
    if hasattr(model, "predict_proba"):
        known = np.asarray(model.predict_proba(X))
    elif hasattr(model, "decision_function"):
        values = _SLOPE * np.asarray(model.decision_function(X))
        if values.ndim == 1:
            known = np.column_stack([1 - expit(values), expit(values)])
        else:
            known = softmax(values, axis=1)
    else:
        return np.asarray(np.asarray(model.predict(X))[:, None] == classes, dtype=float)
    probabilities: Array = np.zeros((known.shape[0], len(classes)))
    probabilities[:, np.searchsorted(classes, model.classes_)] = known
    return probabilities


def brier_loss(fold: Fold) -> float:
    """Return half the mean squared distance of probabilities from the truth (Brier 1950).

    It is in [0, 1], and distinguishes models with the same number of errors on a few hundred rows,
    so it ranks them with less noise than the error.
    """
    return float(np.average(_brier_rows(fold), weights=fold.test_weight))


def _brier_rows(fold: Fold) -> Array:
    probabilities, truth = _probabilities_and_truth(fold)
    return ((probabilities - truth) ** 2).sum(axis=1) / 2


def log_loss(fold: Fold) -> float:
    """Return the mean negative logarithm of the true class's probability, at least 0.01.

    Without that bound, a single confident wrong prediction would dominate the mean.
    """
    return float(np.average(_log_loss_rows(fold), weights=fold.test_weight))


def _log_loss_rows(fold: Fold) -> Array:
    probabilities, truth = _probabilities_and_truth(fold)
    of_truth = np.maximum((probabilities * truth).sum(axis=1), _MIN_PROBABILITY)
    return -np.log(of_truth)


def auc_loss(fold: Fold) -> float:
    """Return 1 − the area under the ROC curve, the mean of one class against the rest.

    Classes that are absent from the test fold, or alone in it, do not count.
    """
    areas = [
        roc_auc_score(truth, score, sample_weight=fold.test_weight)
        for score, truth in _columns_of_mixed_classes(fold)
    ]
    return 1.0 - float(np.mean(areas)) if areas else 0.5


def _auc_rows(fold: Fold) -> Array:
    weight = _weight(fold)
    areas = [
        area_under_curve(score, truth, ~truth, weight)
        for score, truth in _columns_of_mixed_classes(fold)
    ]
    return 1.0 - mean_of(areas, None, weight) if areas else np.full(len(weight), 0.5)


def _columns_of_mixed_classes(fold: Fold) -> list[tuple[Array, Array]]:
    """Return probability and truth of the classes that some but not all rows belong to."""
    probabilities, truth = _probabilities_and_truth(fold)
    columns = [k for k in range(truth.shape[1]) if 0 < truth[:, k].sum() < len(truth)]
    if truth.shape[1] == 2:
        columns = columns[-1:]
    return [(probabilities[:, k], truth[:, k]) for k in columns]


def _probabilities_and_truth(fold: Fold) -> tuple[Array, Array]:
    if "probabilities" not in fold.cache:
        classes = _classes(fold)
        truth: Array = fold.y_test[:, None] == classes
        known = class_probabilities(*fold.predictor, classes)
        fold.cache["probabilities"] = known, truth
    return fold.cache["probabilities"]


def disparity(sensitive: Any, *, positive: Any = None, name: str = "disparity") -> Measure:
    """Return the measure of statistical disparity (DSP) between groups of rows.

    It is the largest difference of P(ŷ = positive | group) between two groups, 0 at best
    (statistical parity, Perrone et al. 2021, *Fair Bayesian optimization*). The groups need not be
    a feature of the model. On test data (:func:`optuna_mofs.generalization`) the groups are
    unknown and the measure is NaN.

    Args:
        sensitive: Group of each row of the objective's ``X``, in its order: an array or a column
            of a DataFrame with two or more groups; missing values are a group of their own.
        positive: The desirable class; by default the larger one of two labels.
        name: Name of the measure.

    Example:
        >>> disparity(["a", "a", "b"]).name
        'disparity'
    """
    return Measure(name, fold=_Disparity(_group_codes(sensitive), positive), worst=1.0)


@dataclass(frozen=True, eq=False)
class _Disparity:
    # A class instead of a closure, so that objectives can be pickled.
    groups: Array
    positive: Any

    def __call__(self, fold: Fold) -> float:
        if fold.test_rows is None:
            return math.nan
        last = int(fold.test_rows.max())
        if last >= len(self.groups):
            raise ValueError(
                f"sensitive must have one entry per row of X, got {len(self.groups)} entries for "
                f"at least {last + 1} rows."
            )
        positive = _positive(fold) if self.positive is None else self.positive
        groups = self.groups[fold.test_rows]
        return group_disparity(fold.prediction == positive, groups, fold.test_weight)


def group_disparity(predicted: Array, groups: Array, weight: Array | None = None) -> float:
    """Return the largest difference between groups in the share of positive predictions.

    ``groups`` has the group of each row, as integers from 0.
    """
    total = np.bincount(groups, weight)
    positive = np.bincount(groups, predicted if weight is None else predicted * weight)
    present = total > 0
    if np.count_nonzero(present) < 2:
        return 0.0
    return float(np.ptp(positive[present] / total[present]))


def geometric_mean_loss(fold: Fold) -> float:
    """Return 1 − the geometric mean of the recalls of all classes.

    For two classes it is 1 − √(sensitivity · specificity), appendix C.3 of Zhang et al. (2023)
    after Brookhouse and Freitas (2022). Classes that are absent from the test fold do not count.
    """
    weight = _weight(fold)
    recalls = []
    for label in np.unique(fold.y_test):
        truth = fold.y_test == label
        total = float(weight[truth].sum())
        if total > 0:
            recalls.append(float(weight[truth & (fold.prediction == label)].sum()) / total)
    return 1.0 - float(np.prod(recalls) ** (1 / len(recalls))) if recalls else 0.0


def _group_codes(sensitive: Any) -> Array:
    values = np.asarray(sensitive)
    if values.ndim != 1 or len(values) == 0:
        raise ValueError(
            f"sensitive must have one group per row of X, got shape {values.shape}. "
            "Pass a column, for example X['sex']."
        )
    if values.dtype.kind == "O":
        values = values.astype(str)
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) < 2:
        raise ValueError(
            f"sensitive must have at least two groups, got only {str(distinct[0])!r}."
        )
    return codes


def _positive(fold: Fold) -> Any:
    classes = _classes(fold)
    if len(classes) != 2:
        raise ValueError(
            f"positive must be given if there are more than two classes, got {len(classes)} "
            f"classes. Pass for example disparity(..., positive={classes[-1].item()!r})."
        )
    return classes[-1]


register_measure(error_measure)
register_measure(partial(error_measure, train=True))
_Rows = Callable[[Fold], Array] | None
_MEASURES: tuple[tuple[str, str, Callable[[Fold], float], _Rows, float], ...] = (
    (
        "fnr",
        "false negative rate",
        false_negative_rate,
        partial(_error_rate_rows, of_positives=True),
        1.0,
    ),
    (
        "fpr",
        "false positive rate",
        false_positive_rate,
        partial(_error_rate_rows, of_positives=False),
        1.0,
    ),
    ("geometric_mean_loss", "1 - geometric mean of recalls", geometric_mean_loss, None, 1.0),
    ("brier_loss", "Brier score", brier_loss, _brier_rows, 1.0),
    # The worst one is a little above -log(_MIN_PROBABILITY).
    ("log_loss", "log loss", log_loss, _log_loss_rows, 4.7),
    ("auc_loss", "1 - roc_auc", auc_loss, _auc_rows, 1.0),
)
for _name, _label, _function, _rows, _worst in _MEASURES:
    register_measure(
        Measure(
            _name,
            fold=_function,
            worst=_worst,
            classification_only=True,
            rows=_rows,
            label=_label,
        )
    )
