"""What every filter must survive: the roles of the data, run over all filters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs.filters import FilterData, filter_names, get_filter, jmi, rank_scores
from optuna_mofs.filters._data import encode_columns

EVERY = pytest.mark.parametrize("name", filter_names())


def make(task: str = "binary", n: int = 80):
    rng = np.random.default_rng(0)
    latent = rng.normal(size=n)
    X = rng.normal(size=(n, 6))
    X[:, 2] = 3 * latent + 0.3 * rng.normal(size=n)
    y = {
        "binary": (latent > 0).astype(int),
        "multiclass": np.array(["low", "mid", "top"])[np.digitize(latent, [-0.5, 0.5])],
        "regression": latent,
    }[task]
    return X, y


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.mark.parametrize("name", [name for name in filter_names() if name != "constant"])
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_signal_ranks_first_in_every_task(name, task):
    X, y = make(task)
    before = X.copy()
    scores = get_filter(name)(X, y, random_state=0)
    assert scores.dtype == np.float64
    assert scores.shape == (6,)
    assert scores.argmax() == 2
    np.testing.assert_array_equal(X, before)


@EVERY
@pytest.mark.parametrize("task", ["binary", "regression"])
def test_awkward_columns(name, task):
    X, y = make(task)
    X[::5, 1] = np.nan
    X[:, 0] = 7.7
    X[:, 3] = np.nan
    X[:, 4] = X[:, 2]
    X[:, 5] = X[:, 5] > 0
    scores = get_filter(name)(X, y, random_state=0)
    assert not np.isnan(scores).any()
    assert scores[0] == scores[3] == scores.min()
    ranks = rank_scores(scores)
    if name not in ("random_forest", "jmi", "cmim", "mrmr"):
        assert ranks[2] == ranks[4]  # copies


@EVERY
def test_sparse_equals_dense(name):
    X, y = make()
    X[np.abs(X) < 0.5] = 0.0
    X[3, 1] = np.nan
    dense = get_filter(name)(X, y, random_state=0)
    result = get_filter(name)(sparse.csr_matrix(X), y, random_state=0)
    np.testing.assert_allclose(result, dense, rtol=1e-6)


@EVERY
def test_frame_with_words(name):
    X, y = make("multiclass")
    frame = pd.DataFrame(X[:, [0, 1, 3]], columns=["a", "b", "c"])
    frame["word"] = y
    frame["flag"] = y == "mid"
    frame.loc[3, "word"] = None
    scores = get_filter(name)(frame, pd.Series(y, index=range(100, 180)), random_state=0)
    assert scores.shape == (5,)
    assert np.isfinite(scores[:3]).all()
    if name not in ("variance", "constant"):
        assert scores[3:].max() > scores[:3].max()


@EVERY
def test_all_columns_constant(name):
    scores = get_filter(name)(np.ones((12, 3)), np.arange(12) % 2, random_state=0)
    assert len(set(scores.tolist())) == 1
    assert np.isfinite(scores).all()


@EVERY
def test_extreme_numbers(name):
    X, y = make()
    X[:, 0] *= 1e305
    X[:, 1] = X[:, 1] * 1e-300
    X[:, 3] = 1e15 + np.arange(80) % 2
    assert not np.isnan(get_filter(name)(X, y, random_state=0)).any()


@EVERY
def test_two_samples_and_one_feature(name):
    assert get_filter(name)([[0.0], [1.0]], [0, 1], random_state=0).shape == (1,)


def test_blocks_join_seamlessly(monkeypatch):
    X, y = make()
    X[2, 4] = np.nan
    whole = FilterData(X, y)
    monkeypatch.setattr("optuna_mofs.filters._data.BLOCK_ENTRIES", 160)
    parts = FilterData(X, y)
    assert len(list(parts.blocks())) == 3
    np.testing.assert_array_equal(whole.codes, parts.codes)
    np.testing.assert_array_equal(whole.ranks, parts.ranks)
    np.testing.assert_array_equal(whole.matrix(), parts.matrix())


def test_prepared_data_stands_for_features_and_target():
    X, y = make()
    data = FilterData(X, y, bins=3)
    np.testing.assert_array_equal(jmi(data), jmi(X, y, bins=3))
    with pytest.raises(ValueError, match="alone"):
        jmi(data, y)


def test_greedy_steps_follow_the_budget():
    y = [0, 1]
    assert FilterData(np.zeros((2, 500)), y).greedy_steps == 500
    assert FilterData(np.zeros((2, 10_935)), y).greedy_steps == 100
    assert FilterData(np.zeros((2, 50_000)), y).greedy_steps == 100
    assert FilterData(np.zeros((2, 500)), y, n_steps=7).greedy_steps == 7


@pytest.mark.parametrize(
    ("X", "y", "options", "message"),
    [
        (np.ones((3, 0)), [0, 1, 1], {}, "no features"),
        (np.ones((3, 2)), [0, 1], {}, "3 samples but y has 2"),
        (np.ones((3, 2)), [1, 1, 1], {}, "fewer than two"),
        (np.ones((3, 2)), [0, 1, np.nan], {}, "missing"),
        (np.ones((0, 2)), [], {}, "fewer than two"),
        (np.ones((2, 2)), ["a", "b"], {"task": "regression"}, "numeric"),
        (np.ones((2, 2)), [0, 1], {"task": "ranking"}, "'ranking'"),
        (np.ones((2, 2)), [0, 1], {"bins": 1}, "got 1"),
        (np.ones((2, 2)), [0, 1], {"bins": 2.5}, "got 2.5"),
        (np.ones((2, 2)), [0, 1], {"n_steps": 0}, "got 0"),
    ],
)
def test_bad_input_raises(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        FilterData(X, y, **options)


def test_frame_with_every_kind_of_column():
    frame = pd.DataFrame(
        {
            "float": [1.5, np.nan, 2.0],
            "int": [3, 1, 2],
            "bool": [True, False, True],
            "string": ["b", "a", None],
            "category": pd.Categorical(["lo", "hi", None], categories=["lo", "hi"]),
            "ordered": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "nullable_bool": pd.array([True, None, False], dtype="boolean"),
            "date": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        }
    )
    before = frame.copy(deep=True)
    values, nominal = encode_columns(frame)
    pd.testing.assert_frame_equal(frame, before)
    expected = [
        [1.5, 3, 1, 1, 0, 0, 1, 1],
        [np.nan, 1, 0, 0, 1, 1, np.nan, np.nan],
        [2.0, 2, 1, np.nan, np.nan, 0, 3, 0],
    ]
    np.testing.assert_array_equal(values[:, :8], expected)
    assert np.isnan(values[:, 8]).tolist() == [False, True, False]
    assert values[2, 8] > values[0, 8]
    assert frame.columns[nominal].tolist() == ["string", "category"]


def test_object_array_is_split_into_numbers_and_words():
    values, nominal = encode_columns(np.array([[1, "x"], [2, "y"], [3, "x"]], dtype=object))
    np.testing.assert_array_equal(values, [[1, 0], [2, 1], [3, 0]])
    assert nominal.tolist() == [False, True]


@pytest.mark.parametrize("dtype", [float, int, object])
def test_masked_entries_are_missing(dtype):
    masked = np.ma.array([[1, 2], [3, 4]], mask=[[False, True], [False, False]], dtype=dtype)
    values, _ = encode_columns(masked)
    np.testing.assert_array_equal(values, [[1, np.nan], [3, 4]])
    np.testing.assert_array_equal(masked.data, [[1, 2], [3, 4]])


def test_sparse_stays_sparse():
    values, _ = encode_columns(sparse.random(6, 4, density=0.5, format="csr", random_state=0))
    assert sparse.issparse(values)
    assert values.format == "csc"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3), "two dimensions"),
        (np.array([[1.0, np.inf]]), "infinity"),
        (np.array([[1j]]), "complex"),
        (sparse.csr_array([[np.inf, 0.0]]), "infinity"),
    ],
)
def test_bad_features_raise(X, message):
    with pytest.raises(ValueError, match=message):
        encode_columns(X)


def test_large_finite_values_are_not_taken_for_infinity():
    values, _ = encode_columns(np.full((2, 2), 1e308))
    assert np.isfinite(values).all()
