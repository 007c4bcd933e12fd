"""Metrics as means over rows, so that the selection of models can be bootstrapped.

An accuracy is the mean of one number per row. Others, such as an F score, are ratios of means or
averages over classes. These functions return the first-order approximation of the metric by one
number per row, the infinitesimal jackknife: its weighted mean is the metric itself, and resampling
the numbers gives about the values that resampling the predictions gives.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from sklearn import metrics

from optuna_mofs._typing import Array

#: A function of truth, prediction and sample weights.
RowMetric = Callable[..., Array]


def ratio(numerator: Array, denominator: Array, weight: Array) -> Array:
    """Return the ratio of two means as one number per row; 0 if the denominator is 0.

    Example:
        >>> rows = ratio(np.array([1, 0, 0]), np.array([1, 1, 0]), np.ones(3))
        >>> rows.tolist(), rows.mean().item()
        ([1.25, -0.25, 0.5], 0.5)
    """
    total = float(np.average(denominator, weights=weight))
    if total == 0:
        return np.zeros(len(weight))
    value = float(np.average(numerator, weights=weight)) / total
    return value + (numerator - value * denominator) / total


def mean_of(parts: Sequence[Array], members: Sequence[Array] | None, weight: Array) -> Array:
    """Return the average of metrics, each given as one number per row.

    If ``members`` has the rows of each, a metric counts by their share, which is random too.
    """
    if members is None:
        return np.mean(parts, axis=0)
    values = [float(np.average(part, weights=weight)) for part in parts]
    shares = [float(np.average(member, weights=weight)) for member in members]
    total = float(np.average(values, weights=shares))
    rows = np.full(len(weight), total)
    for part, member, value, share in zip(parts, members, values, shares):
        rows += (share * (part - value) + (member - share) * (value - total)) / sum(shares)
    return rows


def area_under_curve(score: Array, positive: Array, negative: Array, weight: Array) -> Array:
    """Return the area under the ROC curve by the placement of each row (DeLong et al. 1988).

    The placement of a positive is the share of negatives with a lower score, and vice versa. Rows
    can be neither.
    """
    level = np.unique(score, return_inverse=True)[1]
    rows = np.zeros(len(score))
    for own, other, sign in ((positive, negative, 1), (negative, positive, -1)):
        at = np.bincount(level, weight * other)
        # Negative scores are compared the other way round; ties count half.
        below = np.cumsum(at) if sign > 0 else np.cumsum(at[::-1])[::-1]
        with np.errstate(invalid="ignore"):
            rows[own] = ((below - at / 2) / at.sum())[level][own]
    total = weight.sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        value = float(rows[positive] @ weight[positive] / weight[positive].sum())
        out = np.full(len(score), value)
        for own in (positive, negative):
            out[own] += (rows[own] - value) * total / weight[own].sum()
    return out


# ---- the metrics of scikit-learn ----------------------------------------------------------------


def _accuracy(y: Array, predicted: Array, weight: Array) -> Array:
    is_right = np.asarray(predicted == y, dtype=float)
    return is_right if y.ndim == 1 else is_right.min(axis=1)  # all outputs


def _balanced_accuracy(
    y: Array, predicted: Array, weight: Array, *, adjusted: bool = False
) -> Array:
    classes = np.unique(y)
    recalls = [ratio((predicted == k) & (y == k), y == k, weight) for k in classes]
    rows = mean_of(recalls, None, weight)
    chance = 1 / len(classes)
    return (rows - chance) / (1 - chance) if adjusted else rows


def _rate(
    y: Array,
    predicted: Array,
    weight: Array,
    *,
    tp: float,
    fp: float,
    fn: float,
    average: str | None = "binary",
    pos_label: Any = 1,
) -> Array:
    """Return tp TP / (tp TP + fp FP + fn FN), such as an F score, averaged over classes."""
    if y.ndim == 2:  # labels: one column of zeros and ones each
        truth, said = list(y.T == 1), list(predicted.T == 1)
    else:
        classes = [pos_label] if average == "binary" else np.union1d(y, predicted)
        truth, said = [y == k for k in classes], [predicted == k for k in classes]
    hits = [tp * (t & s) for t, s in zip(truth, said)]
    sums = [hit + fp * (s & ~t) + fn * (t & ~s) for hit, t, s in zip(hits, truth, said)]
    if average == "micro":
        return ratio(sum(hits), sum(sums), weight)
    rates = [ratio(hit, total, weight) for hit, total in zip(hits, sums)]
    return mean_of(rates, truth if average == "weighted" else None, weight)


def _f_score(
    y: Array,
    predicted: Array,
    weight: Array,
    *,
    beta: float,
    average: str | None = "binary",
    pos_label: Any = 1,
) -> Array:
    counts = {"tp": 1 + beta**2, "fp": 1.0, "fn": beta**2}
    return _rate(y, predicted, weight, average=average, pos_label=pos_label, **counts)


def _roc_auc(
    y: Array,
    score: Array,
    weight: Array,
    *,
    average: str | None = "macro",
    multi_class: str = "raise",
) -> Array:
    classes = np.unique(y)
    if score.ndim == 1:
        return area_under_curve(score, y == classes[-1], y != classes[-1], weight)
    if multi_class == "ovr":
        pairs = [(k, classes[classes != c]) for k, c in enumerate(classes)]
    else:
        pairs = [
            (a, classes[[b]])
            for i, j in combinations(range(len(classes)), 2)
            for a, b in ((i, j), (j, i))
        ]
    areas = [
        area_under_curve(score[:, k], y == classes[k], np.isin(y, others), weight)
        for k, others in pairs
    ]
    members = None
    if average == "weighted":
        members = [
            y == classes[k] if multi_class == "ovr" else np.isin(y, [classes[k], *others])
            for k, others in pairs
        ]
    return mean_of(areas, members, weight)


def _r2(y: Array, predicted: Array, weight: Array) -> Array:
    errors = (y - predicted) ** 2
    spread = (y - np.average(y, weights=weight)) ** 2
    if np.average(spread, weights=weight) == 0:  # as scikit-learn: 1 if all is right, else 0
        return np.full(len(y), 0.0 if errors.any() else 1.0)
    return 1 - ratio(errors, spread, weight)


def _squares(y: Array, predicted: Array, weight: Array) -> Array:
    return (y - predicted) ** 2


def _root(rows_of: RowMetric, y: Array, predicted: Array, weight: Array) -> Array:
    squares = rows_of(y, predicted, weight)
    mean = float(np.average(squares, weights=weight))
    root = mean**0.5
    return squares if mean == 0 else root + (squares - mean) / (2 * root)


def _log_squares(y: Array, predicted: Array, weight: Array) -> Array:
    return (np.log1p(y) - np.log1p(predicted)) ** 2


def _absolute(y: Array, predicted: Array, weight: Array) -> Array:
    return np.abs(y - predicted)


def _relative(y: Array, predicted: Array, weight: Array) -> Array:
    return np.abs(y - predicted) / np.maximum(np.abs(y), np.finfo(np.float64).eps)


def _log_loss(
    y: Array, probability: Array, weight: Array, *, labels: Sequence[Any] | None = None
) -> Array:
    known = probability if probability.ndim == 2 else np.stack([1 - probability, probability], 1)
    codes = np.searchsorted(np.unique(y) if labels is None else np.unique(labels), y)
    of_truth = known[np.arange(len(y)), codes]
    tiny = np.finfo(known.dtype).eps
    return np.asarray(-np.log(np.clip(of_truth, tiny, 1 - tiny)), dtype=float)


def _brier(y: Array, probability: Array, weight: Array, *, pos_label: Any = None) -> Array:
    if probability.ndim == 1:
        positive = y == (1 if pos_label is None else pos_label)
        return (probability - positive) ** 2
    rows = ((probability - (y[:, None] == np.unique(y))) ** 2).sum(axis=1)
    return rows / 2 if probability.shape[1] == 2 else rows


_ROWS: dict[Any, RowMetric] = {
    metrics.accuracy_score: _accuracy,
    metrics.balanced_accuracy_score: _balanced_accuracy,
    metrics.precision_score: partial(_rate, tp=1, fp=1, fn=0),
    metrics.recall_score: partial(_rate, tp=1, fp=0, fn=1),
    metrics.jaccard_score: partial(_rate, tp=1, fp=1, fn=1),
    metrics.f1_score: partial(_rate, tp=2, fp=1, fn=1),
    metrics.fbeta_score: _f_score,
    metrics.roc_auc_score: _roc_auc,
    metrics.r2_score: _r2,
    metrics.mean_squared_error: _squares,
    metrics.root_mean_squared_error: partial(_root, _squares),
    metrics.mean_squared_log_error: _log_squares,
    metrics.root_mean_squared_log_error: partial(_root, _log_squares),
    metrics.mean_absolute_error: _absolute,
    metrics.mean_absolute_percentage_error: _relative,
    metrics.log_loss: _log_loss,
    metrics.brier_score_loss: _brier,
}


def row_metric(metric: Any, options: dict[str, Any]) -> RowMetric | None:
    """Return a metric of scikit-learn as one number per row, or None if it is not known.

    Args:
        metric: The function, such as :func:`sklearn.metrics.f1_score`.
        options: Its keyword arguments.

    Example:
        >>> row_metric(metrics.accuracy_score, {})(np.array([0, 1]), np.array([1, 1]), None)
        array([0., 1.])
    """
    rows = _ROWS.get(metric)
    if rows is None or options.get("average", "macro") in (None, "samples"):
        return None
    if not options.keys() <= inspect.signature(rows).parameters.keys():
        return None
    return partial(_rows_of_target, metric, rows, options)


#: Metrics whose rows know targets of several columns.
_OF_LABELS = (_accuracy, _rate, _f_score)
#: Metrics of several columns that are the mean of those of the columns.
_MEAN_OF_OUTPUTS = (
    metrics.roc_auc_score,
    metrics.r2_score,
    metrics.mean_squared_error,
    metrics.root_mean_squared_error,
    metrics.mean_squared_log_error,
    metrics.root_mean_squared_log_error,
    metrics.mean_absolute_error,
    metrics.mean_absolute_percentage_error,
)


def _rows_of_target(
    metric: Any,
    rows: RowMetric,
    options: dict[str, Any],
    y: Array,
    predicted: Array,
    weight: Array | None,
) -> Array:
    """Return one number per row; NaN if they are not known for a target of several columns."""
    if y.ndim == 1 or getattr(rows, "func", rows) in _OF_LABELS:
        return rows(y, predicted, weight, **options)
    if metric not in _MEAN_OF_OUTPUTS or np.shape(predicted) != y.shape:
        return np.full(len(y), np.nan)
    if options.get("average", "macro") != "macro":
        return np.full(len(y), np.nan)
    parts = [rows(y[:, k], predicted[:, k], weight, **options) for k in range(y.shape[1])]
    return np.mean(parts, axis=0)
