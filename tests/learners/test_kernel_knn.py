from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp
from scipy.stats import norm, rankdata
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs.learners import KernelKNeighborsClassifier, KernelKNeighborsRegressor
from optuna_mofs.learners import _kernel_knn as module
from optuna_mofs.learners._kernel_knn import KERNELS, neighbor_weights, paired_distances

BOTH = [KernelKNeighborsClassifier, KernelKNeighborsRegressor]


@parametrize_with_checks([cls() for cls in BOTH])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True)


@pytest.mark.parametrize("p", [1, 2, 3])
def test_rectangular_kernel_is_plain_knn(cancer, p):
    X, y = cancer
    Z = StandardScaler().fit(X[:400]).transform(X)
    plain = KNeighborsClassifier(9, p=p).fit(Z[:400], y[:400])
    ours = KernelKNeighborsClassifier(n_neighbors=9, distance=p, kernel="rectangular")
    ours.fit(X[:400], y[:400])
    np.testing.assert_allclose(ours.predict_proba(X[400:]), plain.predict_proba(Z[400:]))
    mean = KNeighborsRegressor(9, p=p).fit(Z[:400], X[:400, 0])
    model = KernelKNeighborsRegressor(n_neighbors=9, distance=p, kernel="rectangular")
    model.fit(X[:400], X[:400, 0])
    np.testing.assert_allclose(model.predict(X[400:]), mean.predict(Z[400:]))


@pytest.mark.parametrize("kernel", ["rectangular", "optimal", "triangular", "biweight"])
@pytest.mark.parametrize("distance", [1.0, 42.0, 100.0])
def test_it_learns(cancer, kernel, distance):
    X, y = cancer
    model = KernelKNeighborsClassifier(n_neighbors=15, distance=distance, kernel=kernel)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_units_do_not_matter_unless_scaling_is_off(cancer):
    X, y = cancer
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    model = KernelKNeighborsClassifier().fit(X[:400], y[:400])
    other = KernelKNeighborsClassifier().fit(X[:400] * units, y[:400])
    np.testing.assert_allclose(
        model.predict_proba(X[400:]), other.predict_proba(X[400:] * units), atol=1e-9
    )
    model.set_params(scale=False).fit(X[:400], y[:400])
    other.set_params(scale=False).fit(X[:400] * units, y[:400])
    assert (model.predict(X[400:]) != other.predict(X[400:] * units)).any()


@pytest.mark.parametrize("scale", [True, False])
def test_columns_constant_in_training_are_ignored(scale):
    X = np.column_stack([np.arange(10.0), np.full(10, 0.1)])
    y = np.arange(10) > 4
    model = KernelKNeighborsClassifier(n_neighbors=3, scale=scale).fit(X, y)
    far = np.column_stack([np.arange(10.0), np.full(10, 1e6)])
    np.testing.assert_array_equal(model.predict_proba(far), model.predict_proba(X))


def test_one_binary_column_gives_the_class_shares():
    X = np.array([[0.0]] * 10 + [[1.0]] * 10)
    y = np.array(["a"] * 9 + ["b"] + ["b"] * 7 + ["a"] * 3)
    for kernel in ("rectangular", "optimal", "rank", "gaussian"):
        model = KernelKNeighborsClassifier(n_neighbors=4, kernel=kernel).fit(X, y)
        np.testing.assert_allclose(model.predict_proba([[0.0], [1.0]]), [[0.9, 0.1], [0.3, 0.7]])


def test_names_of_columns_and_pickling(cancer):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    model = KernelKNeighborsClassifier().fit(X, y)
    assert list(model.feature_names_in_) == list(X.columns)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(X[X.columns[::-1]])


def test_labels_of_any_kind():
    X = np.arange(6.0)[:, None]
    for labels in (["x", "y"], [-1, 1], [False, True]):
        y = pd.Series(np.repeat(labels, 3))
        model = KernelKNeighborsClassifier(n_neighbors=2).fit(X, y)
        np.testing.assert_array_equal(model.predict(X), y)


@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"n_neighbors": 0}, r"n_neighbors must be .* got 0"),
        ({"n_neighbors": 2.5}, r"n_neighbors must be .* got 2.5"),
        ({"distance": 0.5}, "at least 1"),
        ({"distance": float("nan")}, r"distance must be .* got nan"),
        ({"kernel": "square"}, "biweight"),
    ],
)
def test_bad_options_raise(cls, option, message):
    with pytest.raises(ValueError, match=message):
        clone(cls(**option)).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def reference_distances(train, row, p):
    """By logarithms: another way to stay stable than that of the module."""
    difference = np.abs(train - row)
    if np.isinf(p):
        return difference.max(axis=1)
    with np.errstate(divide="ignore"):
        return np.exp(logsumexp(p * np.log(difference), axis=1) / p)


def reference_weights(distances, k, kernel, d):
    """One query row, without ties, straight from the definitions."""
    order = np.argsort(distances)
    nearest = distances[order[:k]]
    ratio = np.clip(nearest / distances[order[k]], 1e-6, 1 - 1e-6)
    i = np.arange(1, k + 1)
    bend = 1 + 2 / d
    weight = {
        "rectangular": np.ones(k),
        "triangular": 1 - ratio,
        "epanechnikov": 0.75 * (1 - ratio**2),
        "biweight": 15 / 16 * (1 - ratio**2) ** 2,
        "triweight": 35 / 32 * (1 - ratio**2) ** 3,
        "cos": np.cos(np.pi / 2 * ratio),
        "inv": 1 / ratio,
        "gaussian": norm.pdf(ratio * abs(norm.ppf(1 / (2 * (k + 1))))),
        "rank": k + 1 - rankdata(nearest),
        "optimal": (1 + d / 2 - d / (2 * k ** (2 / d)) * (i**bend - (i - 1) ** bend)) / k,
    }[kernel]
    result = np.zeros(len(distances))
    result[order[:k]] = weight / weight.sum()
    return result


def weights(train, query, k=3, p=2.0, kernel="triangular"):
    d = train.shape[1]
    return neighbor_weights(train, query, k=k, p=p, kernel=kernel, n_columns=d).toarray()


@pytest.mark.parametrize("kernel", sorted(KERNELS))
@pytest.mark.parametrize(("k", "d"), [(1, 1), (1, 5), (7, 3), (7, 20)])
def test_weights_follow_the_definitions(kernel, k, d):
    rng = np.random.default_rng(k * d)
    train, query = rng.normal(size=(40, d)), rng.normal(size=(6, d))
    got = weights(train, query, k, 2.0, kernel)
    for row, line in zip(query, got):
        expected = reference_weights(reference_distances(train, row, 2.0), k, kernel, d)
        np.testing.assert_allclose(line, expected, rtol=1e-8, atol=1e-12)


@settings(max_examples=60)
@given(
    p=st.one_of(st.floats(1, 2), st.floats(2, 100), st.just(np.inf)),
    d=st.integers(1, 12),
    k=st.integers(1, 20),
    seed=st.integers(0, 10**6),
    scale=st.sampled_from([1e-8, 1.0, 1e8]),
)
def test_any_exponent_gives_the_exact_neighbors(p, d, k, seed, scale):
    rng = np.random.default_rng(seed)
    train = scale * rng.standard_t(2, size=(60, d))
    query = scale * rng.standard_t(2, size=(5, d))
    got = weights(train, query, k, p)
    for row, line in zip(query, got):
        expected = reference_weights(reference_distances(train, row, p), k, "triangular", d)
        np.testing.assert_allclose(line, expected, atol=1e-6)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("p", [1.0, 1.3, 2.0, 7.5, 16.0, 17.0, 100.0, np.inf])
def test_tree_and_matrix_agree(monkeypatch, d, p):
    rng = np.random.default_rng(d)
    train, query = rng.normal(size=(900, d)), rng.normal(size=(50, d))
    # Some rows in a tie and some far away, so that every branch of the tree search is used.
    train[:40] = train[0]
    query[0], query[1] = train[0], 50.0
    by_tree = weights(train, query, 9, p)
    monkeypatch.setattr(module, "_TREE_MAX_COLUMNS", 0)
    np.testing.assert_allclose(by_tree, weights(train, query, 9, p), atol=1e-9)


def test_tree_is_used_only_where_it_is_certain(monkeypatch):
    rng = np.random.default_rng(0)
    train, query = rng.normal(size=(900, 4)), rng.normal(size=(80, 4))
    _, _, unsure = module._by_tree(train, query, 9, 20.0)
    assert len(unsure) < 20
    grid = np.round(train)
    _, _, unsure = module._by_tree(grid, np.round(query), 9, 2.0)
    assert len(unsure) > 40


@settings(max_examples=40)
@given(
    kernel=st.sampled_from(sorted(KERNELS)),
    p=st.sampled_from([1.0, 1.5, 2.0, 3.0, 50.0]),
    k=st.integers(1, 30),
    seed=st.integers(0, 10**6),
)
def test_ties_make_the_order_of_rows_irrelevant(kernel, p, k, seed):
    rng = np.random.default_rng(seed)
    train = rng.integers(0, 3, size=(30, 2)).astype(float)
    query = rng.integers(0, 3, size=(4, 2)).astype(float)
    order = rng.permutation(30)
    first, second = weights(train, query, k, p, kernel), weights(train[order], query, k, p, kernel)
    np.testing.assert_allclose(first[:, order], second, atol=1e-12)
    np.testing.assert_allclose(first.sum(axis=1), 1)
    assert (first >= 0).all()
    # Equal rows, equal weights.
    for line in first:
        for row in np.unique(train, axis=0):
            same = line[(train == row).all(axis=1)]
            np.testing.assert_allclose(same, same[0], atol=1e-12)


def test_tied_last_place_is_shared():
    train = np.array([[0.0], [1.0], [-1.0], [1.0], [-1.0]])
    got = weights(train, np.zeros((1, 1)), 2, 2.0, "rectangular")
    np.testing.assert_allclose(got, [[0.5, 0.125, 0.125, 0.125, 0.125]])


@pytest.mark.parametrize("kernel", sorted(KERNELS))
def test_all_rows_equal(kernel):
    got = weights(np.ones((4, 2)), np.ones((2, 2)), 2, 3.0, kernel)
    np.testing.assert_allclose(got, 0.25)


@pytest.mark.parametrize(("rows", "k"), [(1, 1), (1, 50), (2, 50), (5, 5), (5, 4)])
def test_more_neighbors_than_rows(rows, k):
    train = np.arange(float(rows))[:, None]
    got = weights(train, np.array([[-0.5]]), k, 2.0, "rectangular")[0]
    used = min(k, max(rows - 1, 1))
    np.testing.assert_allclose(got, np.where(np.arange(rows) < used, 1 / used, 0))


@pytest.mark.parametrize("entries", [1, 7, 100])
@pytest.mark.parametrize("p", [2.0, 3.5])
def test_blocks_change_nothing(monkeypatch, entries, p):
    rng = np.random.default_rng(1)
    train, query = rng.normal(size=(30, 6)), rng.normal(size=(11, 6))
    whole = weights(train, query, 5, p)
    monkeypatch.setattr(module, "_MAX_ENTRIES", entries)
    np.testing.assert_array_equal(weights(train, query, 5, p), whole)


def test_bounds_spare_most_powers():
    rng = np.random.default_rng(2)
    block = module._minkowski_block(rng.normal(size=(50, 8)), rng.normal(size=(400, 8)), 7, 40)
    assert np.isfinite(block).mean() < 0.1


@settings(max_examples=40)
@given(p=st.floats(1, 1000), exponent=st.integers(-200, 200), seed=st.integers(0, 1000))
def test_paired_distances_scale_with_their_unit(p, exponent, seed):
    a = np.random.default_rng(seed).normal(size=(3, 4))
    unit = 10.0**exponent
    base = paired_distances(a, np.zeros_like(a), p)
    np.testing.assert_allclose(paired_distances(a * unit, np.zeros_like(a), p), base * unit)
    assert (base >= np.abs(a).max(axis=1)).all()
