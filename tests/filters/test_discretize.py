from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import rankdata

from optuna_mofs.filters._discretize import bin_columns, bin_vector, sort_columns


@settings(max_examples=60)
@given(
    arrays(float, st.tuples(st.integers(1, 4), st.integers(1, 25)), elements=st.integers(-3, 3))
)
def test_ranks_are_scipys_average_ranks(block):
    in_order = sort_columns(block)
    np.testing.assert_array_equal(in_order.ranks, rankdata(block, axis=1) - 1)
    np.testing.assert_array_equal(in_order.dense, rankdata(block, method="dense", axis=1) - 1)
    assert in_order.distinct.tolist() == [len(np.unique(row)) for row in block]


def test_ranks_ignore_nan():
    block = np.array([[3.0, np.nan, 1.0, 1.0, np.nan]])
    in_order = sort_columns(block)
    assert in_order.n_valid.tolist() == [3]
    assert in_order.distinct.tolist() == [2]
    np.testing.assert_array_equal(in_order.ranks[0, [0, 2, 3]], [2.0, 0.5, 0.5])


@settings(max_examples=50)
@given(st.integers(2, 8), st.integers(1, 20), st.integers(0, 1000))
def test_bins_of_distinct_values_differ_by_at_most_one(bins, per_bin, seed):
    n = max(bins * per_bin, 2 * bins + 1)
    row = np.random.default_rng(seed).normal(size=(1, n))
    codes, levels = bin_columns(row, sort_columns(row), bins)
    size = np.bincount(codes[0], minlength=bins)
    assert levels.tolist() == [bins]
    assert size.max() - size.min() <= 1
    assert (np.diff(codes[0][np.argsort(row[0])].astype(int)) >= 0).all()


def test_few_values_are_kept_and_ties_share_a_bin():
    few = np.tile(np.arange(10.0), 7)
    codes, levels = bin_columns(few[None], sort_columns(few[None]), 5)
    assert levels.tolist() == [10]
    np.testing.assert_array_equal(codes[0], few)
    many = np.repeat(np.arange(11.0), 7)
    codes, levels = bin_columns(many[None], sort_columns(many[None]), 5)
    assert levels.tolist() == [5]
    assert all(len(set(codes[0, many == value].tolist())) == 1 for value in range(11))


def test_heavy_value_at_either_end_stays_apart():
    rest = np.linspace(1, 2, 20)
    for heavy in (0.0, 3.0):
        row = np.concatenate([np.full(80, heavy), rest])[None]
        codes, _ = bin_columns(row, sort_columns(row), 5)
        assert not set(codes[0, :80].tolist()) & set(codes[0, 80:].tolist())


def test_nan_is_a_level_and_does_not_move_the_bins():
    values = np.linspace(0, 1, 50)
    row = np.concatenate([values, np.full(50, np.nan)])[None]
    codes, levels = bin_columns(row, sort_columns(row), 5)
    assert levels.tolist() == [6]
    assert set(codes[0, 50:].tolist()) == {5}
    assert np.bincount(codes[0, :50]).tolist() == [10] * 5
    only_nan = np.full((1, 4), np.nan)
    codes, levels = bin_columns(only_nan, sort_columns(only_nan), 5)
    assert levels.tolist() == [1]
    assert codes.tolist() == [[0, 0, 0, 0]]


def test_rich_nominal_column_keeps_its_frequent_levels():
    rare = np.arange(100, 120)
    row = np.concatenate([np.repeat([50.0, 7.0, 90.0], [30, 20, 10]), rare])[None]
    codes, levels = bin_columns(row, sort_columns(row), 2, np.array([True]))
    assert levels.tolist() == [4]
    assert codes[0, :60].tolist() == [0] * 30 + [1] * 20 + [2] * 10
    assert set(codes[0, 60:].tolist()) == {3}


def test_bin_vector_has_no_gaps():
    heavy = np.concatenate([np.zeros(90), np.arange(1.0, 21.0)])
    codes = bin_vector(heavy, 5)
    assert sorted(set(codes.tolist())) == list(range(codes.max() + 1))
    assert codes.max() >= 1
