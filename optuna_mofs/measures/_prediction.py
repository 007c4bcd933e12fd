"""Measures of predictions: errors, rates, probability losses and disparity."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, softmax
from sklearn.metrics import roc_auc_score

from optuna_mofs._typing import Array
from optuna_mofs.measures._base import Fold, Measure
from optuna_mofs.measures._registry import register_measure

#: Slope of the logistic curve over decision values: a row on the margin of a support vector
#: machine, whose decision value is 1, has the probability 0.88.
_SLOPE = 2.0
#: Probabilities below this one count as this one in the log loss.
_MIN_PROBABILITY = 0.01


def _is_loss(scorer: object) -> bool:
    # A scorer of a loss ("neg_...") returns minus the loss; any other is 1 at best.
    return getattr(scorer, "_sign", 1) < 0


def _error(fold: Fold, *, train: bool) -> float:
    score = fold.score(train=train)
    return -score if _is_loss(fold.scorer) else 1.0 - score


def error_measure(scorer: object, *, train: bool = False) -> Measure:
    """Return the measure of 1 − score, or of the loss itself, on the test or training folds."""
    worst = None if _is_loss(scorer) else 1.0
    name = "training_error" if train else "error"
    return Measure(name, fold=partial(_error, train=train), worst=worst)


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
    classes, weight = _classes(fold), _weight(fold)
    rates = []
    for positive in classes[1:] if len(classes) == 2 else classes:
        rows = (fold.y_test == positive) == of_positives
        wrong = (fold.prediction == positive) != of_positives
        if weight[rows].sum() > 0:
            rates.append(weight[rows & wrong].sum() / weight[rows].sum())
    return float(np.mean(rates)) if rates else 0.0


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
    probabilities, truth = _probabilities_and_truth(fold)
    squares = (probabilities - truth) ** 2
    return float(np.average(squares.sum(axis=1) / 2, weights=fold.test_weight))


def log_loss(fold: Fold) -> float:
    """Return the mean negative logarithm of the true class's probability, at least 0.01.

    Without that bound, a single confident wrong prediction would dominate the mean.
    """
    probabilities, truth = _probabilities_and_truth(fold)
    of_truth = np.maximum((probabilities * truth).sum(axis=1), _MIN_PROBABILITY)
    return float(np.average(-np.log(of_truth), weights=fold.test_weight))


def auc_loss(fold: Fold) -> float:
    """Return 1 − the area under the ROC curve, the mean of one class against the rest.

    Classes that are absent from the test fold, or alone in it, do not count.
    """
    probabilities, truth = _probabilities_and_truth(fold)
    columns = [k for k in range(truth.shape[1]) if 0 < truth[:, k].sum() < len(truth)]
    if truth.shape[1] == 2:
        columns = columns[-1:]
    areas = [
        roc_auc_score(truth[:, k], probabilities[:, k], sample_weight=fold.test_weight)
        for k in columns
    ]
    return 1.0 - float(np.mean(areas)) if areas else 0.5


def _probabilities_and_truth(fold: Fold) -> tuple[Array, Array]:
    classes = _classes(fold)
    truth: Array = fold.y_test[:, None] == classes
    return class_probabilities(fold.estimator, fold.X_test, classes), truth


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
for _name, _function, _worst in (
    ("fnr", false_negative_rate, 1.0),
    ("fpr", false_positive_rate, 1.0),
    ("geometric_mean_loss", geometric_mean_loss, 1.0),
    ("brier_loss", brier_loss, 1.0),
    ("log_loss", log_loss, 4.7),  # a little above -log(_MIN_PROBABILITY)
    ("auc_loss", auc_loss, 1.0),
):
    register_measure(Measure(_name, fold=_function, worst=_worst, classification_only=True))
