"""How many features a search should start with: the geometric prior.

Binder et al. (2020), section 4.3.1: decision trees on 100 random subsets of 90 % of the rows; the
mean number of distinct split variables is the mean of the geometric distribution of mask sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs.features.table import Array

#: Rows × columns × trees that the automatic number of subsets may spend (about two seconds).
_WORK = 2e7


def mean_tree_size(
    X: Array,
    y: Array,
    *,
    classification: bool,
    columns: Sequence[Sequence[int]] | None = None,
    subsets: int | None = None,
    random_state: int = 0,
) -> float:
    """Mean number of distinct features in the splits of small trees.

    The trees stop as R's ``rpart`` does by default (at least 20 rows to split, 7 in a leaf, 1 % of
    the root's impurity gained), which the paper used.

    Args:
        X: Numeric matrix, NaN allowed.
        y: Target.
        classification: Whether ``y`` holds classes.
        columns: Columns of each feature when columns are grouped.
        subsets: Number of random 90 % subsets. None: 100, fewer (at least 10) on large data.
        random_state: Seed of the subsets.
    """
    n, p = X.shape
    if subsets is None:
        subsets = int(np.clip(_WORK / (n * p), 10, 100))
    owner = np.arange(p)
    if columns is not None:
        for j, members in enumerate(columns):
            owner[list(members)] = j
    rng = np.random.default_rng(random_state)
    sizes = []
    for _ in range(subsets):
        rows = rng.permutation(n)[: max(1, int(0.9 * n))]
        tree = _rpart_like(y[rows], classification, int(rng.integers(2**31)))
        tree.fit(X[rows], y[rows])
        split = tree.tree_.feature
        sizes.append(len(set(owner[split[split >= 0]])))
    return float(np.mean(sizes))


def _rpart_like(y: Array, classification: bool, seed: int) -> Any:
    limits = {"min_samples_split": 20, "min_samples_leaf": 7, "random_state": seed}
    if classification:
        share = np.unique(y, return_counts=True)[1] / len(y)
        gini = 1.0 - float(np.sum(share**2))
        return DecisionTreeClassifier(min_impurity_decrease=0.01 * gini, **limits)
    return DecisionTreeRegressor(min_impurity_decrease=0.01 * float(np.var(y)), **limits)
