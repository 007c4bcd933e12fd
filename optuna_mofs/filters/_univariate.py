"""Filters that score one column at a time, and the importances of a random forest."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression

from optuna_mofs._typing import Floats
from optuna_mofs.filters._data import FilterOptions, prepare

PERFECT = 1.0 - 1e-12


def auc(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Area under the ROC curve of the feature alone, in either direction: ``max(AUC, 1 - AUC)``.

    Several classes: mean over one class against the rest. Regression: samples above the median of
    the target against the others.

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


def anova_f(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """F statistic of the feature between classes; of its linear regression for a numeric target.

    A feature that explains the target completely scores infinity.
    """
    data = prepare(X, y, options)
    if data.task == "regression":
        explained = _correlations(data, data.y[None, :])[:, 0] ** 2
        model, error = 1, data.n_samples - 2
    else:
        rows = np.array([data.classes == c for c in range(data.n_classes)], dtype=np.float64)
        weighted = rows / np.sqrt(rows.sum(axis=1, keepdims=True))
        explained = np.empty(data.n_features)
        for part, block in data.blocks():
            explained[part] = ((_unit_rows(block) @ weighted.T) ** 2).sum(axis=1)
        model, error = data.n_classes - 1, data.n_samples - data.n_classes
    perfect = explained > PERFECT
    explained[perfect] = 0.0
    scores = explained / (1.0 - explained) * max(error, 1) / model
    scores[perfect] = np.inf
    return data.finish(scores)


def pearson(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Absolute correlation with the target; classes: mean over the indicators of the classes."""
    data = prepare(X, y, options)
    return data.finish(np.abs(_correlations(data, data.indicators())).mean(axis=1))


def spearman(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Absolute rank correlation with the target; classes as in :func:`pearson`."""
    data = prepare(X, y, options)
    targets = data.indicators()
    if data.task == "regression":
        _, place, count = np.unique(data.y, return_inverse=True, return_counts=True)
        targets = (np.cumsum(count) - (count - 1) / 2)[place][None, :]
    unit = _unit_rows(targets)
    scores = np.empty(data.n_features)
    for part in _parts(data.n_features):
        ranks = _unit_rows(data.ranks[part].astype(np.float64))
        scores[part] = np.abs(ranks @ unit.T).mean(axis=1)
    return data.finish(scores)


def variance(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Variance of the feature as it is; the target plays no part, the unit of the feature does."""
    data = prepare(X, y, options)
    scores = np.empty(data.n_features)
    with np.errstate(over="ignore"):  # beyond 1e154 the variance is infinite
        for part, block in data.blocks():
            scores[part] = block.var(axis=1)
    return data.finish(scores)


def mutual_information(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Mutual information by nearest neighbors, without bins (Kraskov et al., 2004; Ross, 2014).

    Features with few distinct values are taken as discrete. Some milliseconds per feature: slower
    than :func:`information_gain` by far.
    """
    data = prepare(X, y, options)
    score = mutual_info_regression if data.task == "regression" else mutual_info_classif
    values = np.empty((data.n_features, data.n_samples))
    for part, block in data.blocks():
        values[part] = _unit_rows(block) * np.sqrt(data.n_samples)
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


def _correlations(data: Any, targets: Floats) -> Floats:
    unit = _unit_rows(targets)
    result = np.empty((data.n_features, len(targets)))
    for part, block in data.blocks():
        result[part] = _unit_rows(block) @ unit.T
    return result


def _unit_rows(block: Floats) -> Floats:
    """Center each row and scale it to length one; a constant row becomes zero."""
    constant = block.max(axis=1) == block.min(axis=1)
    half = block / 2.0  # so that the distance of two huge numbers is still finite
    centred = half - half.mean(axis=1, keepdims=True)
    centred[constant] = 0.0
    largest = np.abs(centred).max(axis=1, keepdims=True)
    centred /= np.where(largest > 0, largest, 1.0)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    unit: Floats = centred / np.where(length > 0, length, 1.0)
    return unit


def _parts(p: int, width: int = 2048) -> list[slice]:
    return [slice(lo, min(lo + width, p)) for lo in range(0, p, width)]


N_TREES = 200
TREE_SAMPLES = 600
LEAF = 5
CUTS = 32


def random_forest(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Impurity importance in a random forest of 200 trees.

    Each tree sees at most 600 drawn samples, leaves hold at least five, and splits try √p features
    at 32 equal-frequency cuts, so the cost grows slowly with the data. ``random_state`` fixes the
    result whatever ``n_jobs`` is.
    """
    data = prepare(X, y, options)
    model = RandomForestRegressor if data.task == "regression" else RandomForestClassifier
    # Trees only ask for order, so ranks serve them as well as values: they are there already and
    # need no care for numbers too large for single precision. Ties sort faster.
    values = data.ranks.T
    if data.n_samples > 2 * CUTS:
        values = np.floor(values * np.float32(CUTS / data.n_samples))
    forest = model(
        n_estimators=N_TREES,
        max_samples=TREE_SAMPLES if data.n_samples > TREE_SAMPLES else None,
        min_samples_leaf=LEAF if data.n_samples >= 10 * LEAF else 1,
        max_features="sqrt",
        random_state=data.seed,
        n_jobs=data.n_jobs,
    )
    return data.finish(forest.fit(values, data.y).feature_importances_)
