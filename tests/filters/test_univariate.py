from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_wine,
    make_classification,
    make_regression,
)
from sklearn.feature_selection import (
    f_classif,
    f_regression,
    mutual_info_classif,
    mutual_info_regression,
)
from sklearn.metrics import roc_auc_score

from optuna_mofs.filters import (
    anova_f,
    auc,
    mutual_information,
    pearson,
    random_forest,
    spearman,
    variance,
)


def expected_auc(X, y, classes):
    total = np.zeros(X.shape[1])
    for c in classes:
        area = np.array([roc_auc_score(y == c, column) for column in X.T])
        total += np.maximum(area, 1 - area)
    return total / len(classes)


@settings(max_examples=30)
@given(st.integers(5, 40), st.integers(2, 3), st.integers(0, 10_000))
def test_auc_with_ties(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 4))
    y = np.concatenate([np.arange(n_classes), rng.integers(0, n_classes, n - n_classes)])
    varying = X.min(axis=0) < X.max(axis=0)
    result = auc(X, y)
    np.testing.assert_allclose(result[varying], expected_auc(X, y, np.unique(y))[varying])
    assert (result[~varying] == result.min()).all()


def test_auc_of_regression_splits_at_the_median():
    X, y = load_diabetes(return_X_y=True)
    np.testing.assert_allclose(auc(X, y), expected_auc(X, y > np.median(y), [True]))


def test_auc_of_regression_with_a_heavy_largest_value():
    y = np.array([0.5, 1.5, 2.5, 9.5, 9.5, 9.5, 9.5])
    assert auc(np.column_stack([y, -y]), y).tolist() == [1.0, 1.0]


@pytest.mark.parametrize("load", [load_wine, load_breast_cancer])
def test_anova_f_is_scikit_learns(load):
    X, y = load(return_X_y=True)
    np.testing.assert_allclose(anova_f(X, y), f_classif(X, y)[0])


def test_anova_f_of_regression_is_scikit_learns():
    X, y = load_diabetes(return_X_y=True)
    np.testing.assert_allclose(anova_f(X, y), f_regression(X, y)[0])


def test_perfect_features_score_infinity_alike():
    y = np.array([0, 0, 1, 1, 2, 2])
    X = np.column_stack([y, 3.3 - 0.1 * y, [0, 1, 0, 1, 0, 1]])
    assert anova_f(X, y)[:2].tolist() == [np.inf, np.inf]
    assert anova_f(X, y)[2] == pytest.approx(0.0, abs=1e-12)


def test_correlations():
    X, y = load_diabetes(return_X_y=True)
    r = [abs(np.corrcoef(column, y)[0, 1]) for column in X.T]
    rho = [abs(spearmanr(column, y).statistic) for column in X.T]
    np.testing.assert_allclose(pearson(X, y), r)
    np.testing.assert_allclose(spearman(X, y), rho)


def test_correlations_of_classes_are_means_over_indicators():
    X, y = load_wine(return_X_y=True)
    r = [np.mean([abs(np.corrcoef(column, y == c)[0, 1]) for c in range(3)]) for column in X.T]
    rho = [np.mean([abs(spearmanr(column, y == c).statistic) for c in range(3)]) for column in X.T]
    np.testing.assert_allclose(pearson(X, y), r)
    np.testing.assert_allclose(spearman(X, y), rho)


def test_variance():
    X, y = load_wine(return_X_y=True)
    np.testing.assert_allclose(variance(X, y), X.var(axis=0))


def test_mutual_information_is_scikit_learns():
    X, y = load_wine(return_X_y=True)
    X = np.column_stack([X[:, :4], X[:, 0] > 13])
    mask = [False] * 4 + [True]
    expected = mutual_info_classif(X, y, discrete_features=mask, random_state=3)
    np.testing.assert_allclose(mutual_information(X, y, random_state=3), expected)
    X, y = load_diabetes(return_X_y=True)
    mask = np.arange(10) == 1  # sex
    expected = mutual_info_regression(X, y, discrete_features=mask, random_state=3)
    np.testing.assert_allclose(mutual_information(X, y, random_state=3), expected)


def test_nan_counts_as_the_median():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = rng.integers(0, 2, 60)
    holed = X.copy()
    holed[::7, 2] = np.nan
    filled = holed.copy()
    filled[::7, 2] = np.nanmedian(holed[:, 2])
    for function in (auc, anova_f, pearson, spearman, variance):
        np.testing.assert_allclose(function(holed, y), function(filled, y))


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
