"""Filters that score one column at a time, and the importances of a random forest."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from optuna_mofs._typing import Floats
from optuna_mofs.filters._data import FilterData, FilterOptions, prepare
from optuna_mofs.filters._forest import forest_importances
from optuna_mofs.filters._registry import register_filter

PERFECT = 1.0 - 1e-12  # explained share of variance that counts as 1
PART = 2048  # columns whose ranks are processed at a time
N_TREES = 200
MAX_TREE_SAMPLES = 600
MIN_LEAF = 5
N_CUTS = 32


@register_filter
def auc(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the area under the ROC curve in either direction: ``max(AUC, 1 - AUC)``.

    With several classes, return the mean over one class against the rest; for regression, compare
    samples above the median of the target with the others.

    Example:
        >>> auc([[3, 1], [2, 2], [1, 1], [0, 2]], [0, 0, 1, 1]).tolist()
        [1.0, 0.5]
    """
    data = prepare(X, y, options)
    targets = data.indicators()
    if data.task == "regression":
        middle = np.median(data.y)
        above = data.y > middle
        # More than half of the samples may share the largest value.
        targets = np.asarray(above if above.any() else data.y >= middle, dtype=float)[None, :]
    size = targets.sum(axis=1)
    scores = np.empty(data.n_features)
    for part in _parts(data.n_features):
        rank_sum = data.ranks[part].astype(np.float64) @ targets.T
        wins = rank_sum - size * (size - 1) / 2
        area = wins / (size * (data.n_samples - size))
        scores[part] = np.maximum(area, 1.0 - area).mean(axis=1)
    return data.finish(scores)


@register_filter
def anova_f(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the F statistic between classes, or of the linear regression on a numeric target.

    A feature that explains the target completely scores infinity.
    """
    data = prepare(X, y, options)
    if data.task == "regression":
        explained = correlations(data, data.y[None, :])[:, 0] ** 2
        model, error = 1, data.n_samples - 2
    else:
        rows = np.array([data.classes == c for c in range(data.n_classes)], dtype=np.float64)
        weighted = rows / np.sqrt(rows.sum(axis=1, keepdims=True))
        explained = np.empty(data.n_features)
        for part, block in data.blocks():
            explained[part] = ((unit_rows(block) @ weighted.T) ** 2).sum(axis=1)
        model, error = data.n_classes - 1, data.n_samples - data.n_classes
    perfect = explained > PERFECT
    explained[perfect] = 0.0
    scores = explained / (1.0 - explained) * max(error, 1) / model
    scores[perfect] = np.inf
    return data.finish(scores)


@register_filter
def pearson(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the absolute correlation with the target, or its mean over class indicators."""
    data = prepare(X, y, options)
    return data.finish(np.abs(correlations(data, data.indicators())).mean(axis=1))


@register_filter
def spearman(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the absolute rank correlation with the target; classes as in :func:`pearson`."""
    data = prepare(X, y, options)
    targets = data.indicators()
    if data.task == "regression":
        _, place, count = np.unique(data.y, return_inverse=True, return_counts=True)
        targets = (np.cumsum(count) - (count - 1) / 2)[place][None, :]
    unit = unit_rows(targets)
    scores = np.empty(data.n_features)
    for part in _parts(data.n_features):
        ranks = unit_rows(data.ranks[part].astype(np.float64))
        scores[part] = np.abs(ranks @ unit.T).mean(axis=1)
    return data.finish(scores)


@register_filter
def variance(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the variance, which ignores the target and depends on the unit of the feature."""
    data = prepare(X, y, options)
    scores = np.empty(data.n_features)
    with np.errstate(over="ignore"):  # infinite variance above 1e154
        for part, block in data.blocks():
            scores[part] = block.var(axis=1)
    return data.finish(scores)


@register_filter
def constant(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score all features equally: the sixth filter of the authors' code of Binder et al. (2020).

    Weight on it lowers all differences of the other filters. Without it, a mutation by filters
    always puts back the feature that all of them rank first, and never the last one.
    """
    data = prepare(X, y, options)
    return data.finish(np.zeros(data.n_features))


@register_filter
def mutual_information(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by mutual information from nearest neighbors (Kraskov et al., 2004; Ross, 2014).

    It needs no bins; features with few distinct values are treated as discrete. It takes some
    milliseconds per feature, far more than :func:`information_gain`.
    """
    data = prepare(X, y, options)
    score = mutual_info_regression if data.task == "regression" else mutual_info_classif
    is_single = data.task == "classification" and data.n_classes == data.n_samples
    if is_single and not data.discrete.all():
        raise ValueError(
            "mutual_information needs a class with at least two rows, but each row has a class of "
            "its own. Pass task='regression' if y holds numbers."
        )
    values = np.empty((data.n_features, data.n_samples))
    for part, block in data.blocks():
        values[part] = unit_rows(block) * np.sqrt(data.n_samples)
    values[data.discrete] = data.codes[data.discrete]
    return data.finish(
        score(
            values.T,
            data.y,
            discrete_features=data.discrete,
            random_state=data.seed,
            n_jobs=data.n_jobs,
        )
    )


def correlations(data: FilterData, targets: Floats) -> Floats:
    """Return the correlation of each feature with each target, features × targets."""
    unit = unit_rows(targets)
    result = np.empty((data.n_features, len(targets)))
    for part, block in data.blocks():
        result[part] = unit_rows(block) @ unit.T
    return result


def unit_rows(block: Floats) -> Floats:
    """Center each row and scale it to length one; a constant row becomes zero."""
    constant = block.max(axis=1) == block.min(axis=1)
    half = block / 2.0  # so that the difference of two huge numbers is still finite
    centered = half - half.mean(axis=1, keepdims=True)
    centered[constant] = 0.0
    largest = np.abs(centered).max(axis=1, keepdims=True)
    centered /= np.where(largest > 0, largest, 1.0)
    length = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    return centered / np.where(length > 0, length, 1.0)


def _parts(p: int) -> list[slice]:
    return [slice(lo, min(lo + PART, p)) for lo in range(0, p, PART)]


@register_filter
def random_forest(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Score by the impurity importance in a random forest of 200 trees.

    Each tree is fitted to at most 600 random samples, leaves hold at least five, and splits try √p
    features at 32 equal-frequency cuts, so the cost grows slowly with the data. The result depends
    on ``random_state`` but not on ``n_jobs``.
    """
    data = prepare(X, y, options)
    model = RandomForestRegressor if data.task == "regression" else RandomForestClassifier
    values = bin_ranks(data.ranks, data.n_samples).T
    forest = model(
        n_estimators=N_TREES,
        max_samples=MAX_TREE_SAMPLES if data.n_samples > MAX_TREE_SAMPLES else None,
        min_samples_leaf=MIN_LEAF if data.n_samples >= 10 * MIN_LEAF else 1,
        max_features="sqrt",
        random_state=data.seed,
        n_jobs=data.n_jobs,
    )
    return data.finish(forest_importances(forest, values, data.y))


def bin_ranks(ranks: NDArray[np.float32], n_samples: int) -> NDArray[np.float32]:
    """Return what trees are fitted to: ranks, in 32 equal-frequency bins of many samples.

    Trees depend on the order of values only. Ranks are computed already and fit into single
    precision however large the values are. Ties sort faster.
    """
    if n_samples <= 2 * N_CUTS:
        return ranks
    return np.floor(ranks * np.float32(N_CUTS / n_samples))
