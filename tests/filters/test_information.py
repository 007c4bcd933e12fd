from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2_contingency
from sklearn.datasets import load_diabetes, load_wine

from optuna_mofs.filters import FilterData, chi2, cmim, get_filter, information_gain, jmi, mrmr

from .textbook import criterion, information

GREEDY = ["jmi", "cmim", "mrmr"]


def check_order(name, data, scores, n_steps):
    """At every step the feature chosen next must be among the textbook's best."""
    y = data.classes
    order = np.argsort(-scores, kind="stable").tolist()
    varying = [k for k in range(data.n_features) if data.levels[k] > 1]
    for step in range(min(n_steps, len(varying))):
        waiting = [k for k in varying if k not in order[:step]]
        values = {k: criterion(name, data.codes, y, k, order[:step]) for k in waiting}
        assert values[order[step]] >= max(values.values()) - 1e-9


@settings(max_examples=40)
@given(st.sampled_from(GREEDY), st.integers(4, 40), st.integers(1, 6), st.integers(0, 10_000))
def test_greedy_order_is_the_textbooks(name, n, p, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, p))
    y = np.concatenate([[0, 1], rng.integers(0, 3, n - 2)])
    data = FilterData(X, y)
    check_order(name, data, get_filter(name)(data), p)


@pytest.mark.parametrize("name", GREEDY)
def test_greedy_order_on_wine(name):
    data = FilterData(*load_wine(return_X_y=True))
    scores = get_filter(name)(data)
    check_order(name, data, scores, data.n_features)
    assert sorted(scores.tolist()) == list(range(1, 14))


@pytest.mark.parametrize("name", GREEDY)
def test_rest_is_ordered_by_the_criterion_at_the_last_step(name):
    X, y = load_wine(return_X_y=True)
    data = FilterData(X, y, n_steps=4)
    scores = get_filter(name)(data)
    check_order(name, data, scores, 4)
    order = np.argsort(-scores).tolist()
    rest = [criterion(name, data.codes, y, k, order[:4]) for k in order[4:]]
    assert rest == sorted(rest, reverse=True)
    full = get_filter(name)(X, y)
    assert np.argsort(-full).tolist()[:4] == order[:4]


def test_jmi_finds_exclusive_or_where_single_filters_cannot():
    rng = np.random.default_rng(0)
    bits = rng.integers(0, 2, (400, 20))
    bits[:, 3] = np.where(rng.random(400) < 0.1, 1 - bits[:, 3], bits[:, 3])
    y = np.where(rng.random(400) < 0.3, bits[:, 5], bits[:, 3] ^ bits[:, 5])
    order = np.argsort(-jmi(bits, y))
    assert set(order[:2].tolist()) == {3, 5}


def test_redundant_copy_comes_late_in_cmim_and_mrmr():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300)
    strong = np.where(rng.random(300) < 0.1, 1 - y, y)
    weak = np.where(rng.random(300) < 0.3, 1 - y, y)
    X = np.column_stack([strong, strong, weak])
    assert information_gain(X, y)[0] == information_gain(X, y)[1]
    for function in (cmim, mrmr):
        assert function(X, y).tolist() == [3.0, 1.0, 2.0]


def test_constant_columns_are_last_though_redundancy_is_worse():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    signal = y + 0.2 * rng.normal(size=200)
    X = np.column_stack([np.ones(200), signal, signal, np.full(200, np.nan), signal])
    for name in GREEDY:
        scores = get_filter(name)(X, y)
        assert scores[[0, 3]].tolist() == [0.0, 0.0]
        assert (scores[[1, 2, 4]] > 0).all()


def test_information_gain_equals_the_textbook_for_regression():
    X, y = load_diabetes(return_X_y=True)
    data = FilterData(X, y)
    assert data.task == "regression"
    assert np.bincount(data.classes).min() > 80
    expected = [information(row, data.classes) for row in data.codes]
    np.testing.assert_allclose(information_gain(data), expected, atol=1e-9)


def test_missing_values_can_be_the_signal():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    X = rng.normal(size=(200, 3))
    X[y == 1, 1] = np.nan
    for function in (information_gain, jmi, cmim, mrmr, chi2):
        assert function(X, y).argmax() == 1


def test_chi2_is_pearsons_statistic():
    X, y = load_wine(return_X_y=True)
    data = FilterData(X, y)
    expected = []
    for row in data.codes:
        table = np.array([np.bincount(row[y == c], minlength=10) for c in range(3)])
        table = table[:, table.sum(axis=0) > 0]
        expected.append(chi2_contingency(table, correction=False).statistic)
    np.testing.assert_allclose(chi2(data), expected)
