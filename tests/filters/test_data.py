"""What every filter must survive: the roles of the data, run over all filters."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs.filters import FILTERS, FilterData, filter_names, jmi, rank_scores

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


@EVERY
@pytest.mark.parametrize("task", ["binary", "multiclass", "regression"])
def test_signal_ranks_first_in_every_task(name, task):
    X, y = make(task)
    before = X.copy()
    scores = FILTERS[name](X, y, random_state=0)
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
    scores = FILTERS[name](X, y, random_state=0)
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
    dense = FILTERS[name](X, y, random_state=0)
    result = FILTERS[name](sparse.csr_matrix(X), y, random_state=0)
    np.testing.assert_allclose(result, dense, rtol=1e-6)


@EVERY
def test_frame_with_words(name):
    X, y = make("multiclass")
    frame = pd.DataFrame(X[:, [0, 1, 3]], columns=["a", "b", "c"])
    frame["word"] = y
    frame["flag"] = y == "mid"
    frame.loc[3, "word"] = None
    scores = FILTERS[name](frame, pd.Series(y, index=range(100, 180)), random_state=0)
    assert scores.shape == (5,)
    assert np.isfinite(scores[:3]).all()
    if name != "variance":
        assert scores[3:].max() > scores[:3].max()


@EVERY
def test_all_columns_constant(name):
    scores = FILTERS[name](np.ones((12, 3)), np.arange(12) % 2, random_state=0)
    assert len(set(scores.tolist())) == 1
    assert np.isfinite(scores).all()


@EVERY
def test_extreme_numbers(name):
    X, y = make()
    X[:, 0] *= 1e305
    X[:, 1] = X[:, 1] * 1e-300
    X[:, 3] = 1e15 + np.arange(80) % 2
    assert not np.isnan(FILTERS[name](X, y, random_state=0)).any()


@EVERY
def test_two_samples_and_one_feature(name):
    assert FILTERS[name]([[0.0], [1.0]], [0, 1], random_state=0).shape == (1,)


def test_blocks_join_seamlessly(monkeypatch):
    X, y = make()
    X[2, 4] = np.nan
    whole = FilterData(X, y)
    monkeypatch.setattr("optuna_mofs.filters.data.BLOCK_ENTRIES", 160)
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
    assert FilterData(np.zeros((2, 10_935)), y).greedy_steps == 182
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
def test_bad_input_is_refused(X, y, options, message):
    with pytest.raises(ValueError, match=message):
        FilterData(X, y, **options)
