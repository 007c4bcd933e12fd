from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs.features import mean_tree_size
from optuna_mofs.features._tree_size import MAX_TREE_ROWS, BinnedTrees

LIMITS = {"min_samples_split": 20, "min_samples_leaf": 7, "random_state": 0}


def exact_size(X, y, classification, subsets=20):
    """The same with scikit-learn's trees, which look at every threshold."""
    rng = np.random.default_rng(1)
    sizes = []
    for _ in range(subsets):
        rows = rng.permutation(len(y))[: int(0.9 * len(y))]
        if classification:
            share = np.bincount(y[rows]) / len(rows)
            least = 0.01 * (1 - np.sum(share**2))
            tree = DecisionTreeClassifier(min_impurity_decrease=least, **LIMITS)
        else:
            least = 0.01 * np.var(y[rows])
            tree = DecisionTreeRegressor(min_impurity_decrease=least, **LIMITS)
        split = tree.fit(X[rows], y[rows]).tree_.feature
        sizes.append(len(set(split[split >= 0])))
    return np.mean(sizes)


@pytest.mark.parametrize(
    ("load", "classification"),
    [(load_breast_cancer, True), (load_wine, True), (load_diabetes, False)],
)
def test_finds_as_many_features_as_exact_trees(load, classification):
    X, y = load(return_X_y=True)
    found = mean_tree_size(X, y, classification=classification)
    assert found == pytest.approx(exact_size(X, y, classification), abs=0.7)


@pytest.mark.parametrize("classification", [True, False])
def test_trees_are_exact_where_bins_do_not_change_the_data(classification):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (300, 6)).astype(float)
    signal = X[:, 0] * (X[:, 1] > 3) + 0.3 * X[:, 2] + rng.normal(size=300)
    y = np.digitize(signal, [1, 3]) if classification else signal
    if classification:
        share = np.bincount(y) / len(y)
        least = 0.01 * (1 - np.sum(share**2))
        tree = DecisionTreeClassifier(min_impurity_decrease=least, **LIMITS)
    else:
        tree = DecisionTreeRegressor(min_impurity_decrease=0.01 * np.var(y), **LIMITS)
    expected = tree.fit(X, y).tree_.feature
    trees = BinnedTrees(X.T.astype(np.uint8), y, classification=classification)
    found = trees.split_columns(np.arange(300))
    assert sorted(found) == sorted(expected[expected >= 0])


def test_noise_and_tiny_data_give_one():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    assert mean_tree_size(*noise, classification=True) == 1
    tiny = rng.normal(size=(10, 5)), np.arange(10) % 2
    assert mean_tree_size(*tiny, classification=True) == 1


def test_constant_columns_and_targets_that_cannot_be_split():
    X = np.ones((50, 3))
    assert mean_tree_size(X, np.arange(50) % 2, classification=True) == 1


def test_grouped_columns_count_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    alone = mean_tree_size(X, y, classification=True)
    together = mean_tree_size(X, y, classification=True, columns=[[0, 1], [2], [3]])
    assert alone >= 2
    assert together == pytest.approx(1, abs=0.5)


def test_any_container_with_missing_values_and_categories():
    X, y = load_wine(return_X_y=True)
    expected = mean_tree_size(X, y, classification=True)
    assert mean_tree_size(sparse.csr_array(X), y, classification=True) == expected
    frame = pd.DataFrame(X)
    frame.iloc[:5, 0] = np.nan
    frame["kind"] = pd.Categorical(np.where(y == 0, "red", "white"))
    assert 1 <= mean_tree_size(frame, y, classification=True) <= len(frame.columns)
    strings = np.where(y == 0, "red", "white")
    assert mean_tree_size(frame, strings, classification=True) == 1


def test_same_seed_same_size():
    X, y = load_wine(return_X_y=True)
    first = mean_tree_size(X, y, classification=True, random_state=3)
    assert first == mean_tree_size(X, y, classification=True, random_state=3)


def test_small_data_gets_100_subsets_and_large_data_fewer(monkeypatch):
    counted = []
    monkeypatch.setattr(
        BinnedTrees, "split_columns", lambda self, rows: counted.append(len(rows)) or [0]
    )
    X, y = make_classification(200, 20, random_state=0)
    mean_tree_size(X, y, classification=True)
    assert counted == [180] * 100
    counted.clear()
    mean_tree_size(np.zeros((2600, 500)), np.arange(2600) % 2, classification=True)
    assert 5 <= len(counted) < 100
    assert counted[0] == 2340
    counted.clear()
    rows = MAX_TREE_ROWS + 1000
    mean_tree_size(np.zeros((rows, 2)), np.arange(rows) % 2, classification=True, subsets=3)
    assert counted == [int(0.9 * MAX_TREE_ROWS)] * 3


def test_a_rare_class_is_never_left_out():
    rows = 20 * MAX_TREE_ROWS
    y = np.zeros(rows, dtype=int)
    y[:2] = 1
    X = np.column_stack([y, np.arange(rows) % 7])
    for seed in range(3):
        assert mean_tree_size(X, y, classification=True, subsets=2, random_state=seed) == 1
