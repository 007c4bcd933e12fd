"""Filters that fit a model of all features at once."""

from __future__ import annotations

from inspect import signature
from typing import Any, Unpack

import numpy as np
from scipy import sparse
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from optuna_mofs._imports import optional_import
from optuna_mofs.filters.data import FilterData, FilterOptions, Floats, prepare

N_TREES = 200
TREE_SAMPLES = 1000
LEAF = 3
RELIEF_SAMPLES = 1000
RELIEF_NEIGHBOURS = 10


def random_forest(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """Impurity importance in a random forest of 200 trees.

    Each tree sees at most 1000 drawn samples, leaves hold at least three and splits try √p
    features, so the cost grows slowly with the data. ``random_state`` fixes the result whatever
    ``n_jobs`` is.
    """
    data = prepare(X, y, options)
    model = RandomForestRegressor if data.task == "regression" else RandomForestClassifier
    limit = np.finfo(np.float32).max
    values = data.matrix()
    if sparse.issparse(values):
        values = values.astype(np.float32)
    else:  # trees hold single precision; what does not fit is moved to its end
        values = np.clip(values, -limit, limit).astype(np.float32)
    forest = model(
        n_estimators=N_TREES,
        max_samples=min(1.0, TREE_SAMPLES / data.n_samples),
        min_samples_leaf=LEAF if data.n_samples >= 20 * LEAF else 1,
        max_features="sqrt",
        random_state=data.seed,
        n_jobs=data.n_jobs,
    )
    return data.finish(forest.fit(values, data.y).feature_importances_)


def relieff(X: Any, y: Any = None, **options: Unpack[FilterOptions]) -> Floats:
    """ReliefF (Kononenko, 1994) with 10 neighbours, on at most 1000 drawn samples.

    Needs the package ``skrebate``: ``pip install 'optuna-mofs[filters]'``.
    """
    data = prepare(X, y, options)
    skrebate = optional_import("skrebate", "filters")
    rows = _draw_samples(data)
    values, target = data.matrix()[rows], data.y[rows]
    if sparse.issparse(values):
        values = values.toarray()
    varying = np.flatnonzero(values.max(axis=0) > values.min(axis=0))
    scores = np.full(data.n_features, np.nan)
    if len(varying) == 0:
        return data.finish(scores)
    if data.task == "classification":
        neighbours = min(RELIEF_NEIGHBOURS, int(np.bincount(target)[np.unique(target)].min()) - 1)
        threshold = max(data.n_classes, 2 * data.bins)
    else:
        neighbours = min(RELIEF_NEIGHBOURS, len(rows) - 1)
        threshold = 1  # a target with more distinct values than this counts as continuous
    # Release 0.8 split the one threshold of 0.7 into one of features and one of the target.
    known = signature(skrebate.ReliefF.__init__).parameters
    thresholds = ("discrete_threshold", "categorical_threshold", "multiclass_threshold")
    relief = skrebate.ReliefF(
        n_features_to_select=1,
        n_neighbors=max(neighbours, 1),
        n_jobs=data.n_jobs or 1,
        **{name: threshold for name in thresholds if name in known},
    )
    relief.fit(values[:, varying], target)
    scores[varying] = relief.feature_importances_
    return data.finish(scores)


def _draw_samples(data: FilterData) -> Any:
    if data.n_samples <= RELIEF_SAMPLES:
        return np.arange(data.n_samples)
    generator = np.random.default_rng(data.seed)
    return np.sort(generator.choice(data.n_samples, RELIEF_SAMPLES, replace=False))
