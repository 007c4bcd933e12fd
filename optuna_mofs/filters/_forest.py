"""Impurity importances of random forests on small data, without the cost of estimator objects."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.ensemble import BaseEnsemble

from optuna_mofs._typing import Array, Floats

#: With more cells, building a tree takes much longer than creating its estimator.
_MAX_CELLS = 2_000_000


def forest_importances(forest: BaseEnsemble, X: Array, y: Array) -> Floats:
    """Return the ``feature_importances_`` of a forest that is fitted to an array.

    On small data, most of the time of a forest goes into the parameters and checks of its trees.
    Here they are built without estimators, by scikit-learn's own builders; the result is the same.
    A version of scikit-learn whose builders differ fits the forest itself.

    Args:
        forest: An unfitted forest of scikit-learn, with the default criterion and an integer as
            ``random_state``.
        X: Samples × columns, without missing values.
        y: Classes or numbers.
    """
    if effective_n_jobs(forest.n_jobs) == 1 and X.size <= _MAX_CELLS:
        try:
            return _lean_importances(forest, X, y)
        except (ImportError, AttributeError, TypeError):  # another version
            pass
    return np.asarray(forest.fit(X, y).feature_importances_)


def _lean_importances(forest: Any, X: Array, y: Array) -> Floats:
    from sklearn.tree._criterion import MSE, Gini
    from sklearn.tree._splitter import BestSplitter, RandomSplitter
    from sklearn.tree._tree import DepthFirstTreeBuilder, Tree

    n, p = X.shape
    values = np.ascontiguousarray(X, dtype=np.float32)
    if is_classifier(forest):
        classes, codes = np.unique(y, return_inverse=True)
        n_classes, target = np.array([len(classes)], dtype=np.intp), codes
        criterion: Any = Gini(1, n_classes)
    else:
        n_classes, target = np.array([1], dtype=np.intp), y
        criterion = MSE(1, n)
    target = np.ascontiguousarray(target.reshape(-1, 1), dtype=np.float64)
    splitter = RandomSplitter if type(forest).__name__.startswith("Extra") else BestSplitter
    share = np.sqrt(p) if forest.max_features == "sqrt" else forest.max_features * p
    leaf = forest.min_samples_leaf
    found = []
    # One generator for all trees: creating one takes as long as a small tree, a new seed does not.
    rng = np.random.RandomState(0)
    for seed in np.random.RandomState(forest.random_state).randint(
        np.iinfo(np.int32).max, size=forest.n_estimators
    ):
        weight = None
        if forest.bootstrap:
            size = n if forest.max_samples is None else forest.max_samples
            rng.seed(seed)
            drawn = rng.randint(0, n, size)
            weight = np.bincount(drawn, minlength=n).astype(np.float64)
        rng.seed(seed)
        split = splitter(criterion, max(1, int(share)), leaf, 0.0, rng, None)
        tree = Tree(p, n_classes, 1)
        builder = DepthFirstTreeBuilder(
            split, max(2, 2 * leaf), leaf, 0.0, np.iinfo(np.int32).max, 0.0
        )
        builder.build(tree, values, target, weight, None)
        if tree.node_count > 1:
            found.append(tree.compute_feature_importances())
    if not found:
        return np.zeros(p)
    mean = np.mean(found, axis=0, dtype=np.float64)
    return mean / mean.sum()
