"""Random forest importance: a filter that fits a model of all features at once."""

from __future__ import annotations

from typing import Any, Unpack

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from optuna_mofs._typing import Floats
from optuna_mofs.filters.data import FilterOptions, prepare

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
