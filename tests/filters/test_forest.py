from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_classification, make_regression

from optuna_mofs.filters import random_forest


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_signal_is_found(task):
    make = make_classification if task == "classification" else make_regression
    extra = {"n_redundant": 0, "shuffle": False} if task == "classification" else {"coef": True}
    X, y, *coefficients = make(
        n_samples=300, n_features=40, n_informative=3, random_state=0, **extra
    )
    signal = np.flatnonzero(coefficients[0]) if coefficients else np.arange(3)
    scores = random_forest(X, y, random_state=0)
    assert set(np.argsort(-scores)[:3].tolist()) == set(signal.tolist())


def test_same_seed_same_scores_whatever_n_jobs():
    X, y = make_classification(200, 15, random_state=1)
    first = random_forest(X, y, random_state=5)
    np.testing.assert_array_equal(first, random_forest(X, y, random_state=5, n_jobs=2))
    assert (first != random_forest(X, y, random_state=6)).any()


def test_sparse_nan_and_huge_values():
    X, y = make_classification(120, 8, random_state=1)
    X[::9, 3] = np.nan
    X[0, 1] = 1e300
    dense = random_forest(X, y, random_state=0)
    assert np.isfinite(dense).all()
    np.testing.assert_allclose(dense, random_forest(sparse.csr_array(X), y, random_state=0))


def test_more_samples_than_a_tree_may_see():
    X, y = make_classification(2500, 6, n_informative=2, shuffle=False, random_state=2)
    assert np.isfinite(random_forest(X, y, random_state=0)).all()
