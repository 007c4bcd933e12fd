from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.exceptions import NotFittedError

from optuna_mofs.filters import DEFAULT_FILTERS, FilterEnsemble, rank_scores

FAST = ["information_gain", "auc", "jmi"]


@pytest.fixture(scope="module")
def cancer():
    return load_breast_cancer(return_X_y=True, as_frame=True)


@settings(max_examples=60)
@given(
    st.lists(
        st.one_of(st.integers(-3, 3), st.sampled_from([np.nan, np.inf, -np.inf, 1e-300])),
        min_size=2,
        max_size=12,
    )
)
def test_ranks(scores):
    ranks = rank_scores(scores)
    assert np.isfinite(ranks).all()
    assert ranks.mean() == pytest.approx(0.5)  # averaged ties keep the mean
    values = np.where(np.isnan(scores), -np.inf, scores)
    p = len(values)
    for k in range(p):
        below, tied = (values < values[k]).sum(), (values == values[k]).sum()
        assert ranks[k] == pytest.approx((below + (tied - 1) / 2) / (p - 1))


def test_rank_corner_cases():
    assert rank_scores([0.2]).tolist() == [1.0]
    assert rank_scores([[5, 5, 5], [1, 2, 3]]).tolist() == [[0.5] * 3, [0, 0.5, 1]]
    assert rank_scores([np.nan, np.nan]).tolist() == [0.5, 0.5]
    assert rank_scores([0.1 + 0.2, 0.3, 0.0]).tolist() == [0.75, 0.75, 0.0]
    assert rank_scores([1.0, 1.0 + 1e-9]).tolist() == [0.0, 1.0]


def test_default_ensemble(cancer):
    X, y = cancer
    ensemble = FilterEnsemble(random_state=0)
    assert ensemble.fit(X, y) is ensemble
    assert ensemble.names_ == list(DEFAULT_FILTERS)
    assert ensemble.scores_.shape == ensemble.ranks_.shape == (5, 30)
    assert ensemble.ranks_.min() == 0.0
    assert ensemble.ranks_.max() == 1.0
    assert ensemble.feature_names_in_.tolist() == X.columns.tolist()
    assert ensemble.task_ == "classification"
    again = clone(ensemble).fit(X, y)
    np.testing.assert_array_equal(again.scores_, ensemble.scores_)
    frame = ensemble.to_frame()
    assert frame.shape == (30, 5)
    assert (np.diff(frame.mean(axis=1)) < 1e-12).all()
    pd.testing.assert_series_equal(
        frame["jmi"].sort_index(),
        pd.Series(
            ensemble.ranks_[2], pd.Index(X.columns, name="feature"), name="jmi"
        ).sort_index(),
    )


def test_golden_order(cancer):
    X, y = cancer
    ensemble = FilterEnsemble(["information_gain", "jmi", "cmim", "auc"]).fit(X, y)
    assert ensemble.to_frame().index[:3].tolist() == [
        "worst perimeter",
        "worst concave points",
        "mean concave points",
    ]


def test_random_state_kinds(cancer):
    X, y = cancer
    fit = lambda seed: FilterEnsemble(["random_forest"], random_state=seed).fit(X, y).scores_  # noqa: E731
    generator = np.random.RandomState
    np.testing.assert_array_equal(fit(generator(3)), fit(generator(3)))
    assert (fit(1) != fit(2)).any()
    assert np.isfinite(fit(None)).all()


def test_aggregate_is_the_weighted_mean_of_ranks(cancer):
    ensemble = FilterEnsemble(FAST).fit(*cancer)
    np.testing.assert_allclose(ensemble.aggregate(), ensemble.ranks_.mean(axis=0))
    weights = [1.0, 0.0, 3.0]
    expected = 0.25 * ensemble.ranks_[0] + 0.75 * ensemble.ranks_[2]
    np.testing.assert_allclose(ensemble.aggregate(weights), expected)
    np.testing.assert_allclose(ensemble.aggregate([1e308, 0, 1.5e308]).max(), 1.0, atol=0.1)
    assert weights == [1.0, 0.0, 3.0]


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1, 2], r"that is 3, got shape \(2,\)"),
        ([[1, 2, 3]], "shape"),
        ([1, -1, 1], "not negative"),
        ([1, np.nan, 1], "finite"),
        ([0, 0, 0], "all be zero"),
    ],
)
def test_bad_weights_raise(cancer, weights, message):
    ensemble = FilterEnsemble(FAST).fit(*cancer)
    with pytest.raises(ValueError, match=message):
        ensemble.aggregate(weights)


def test_aggregate_needs_fit():
    with pytest.raises(NotFittedError):
        FilterEnsemble().aggregate()


def test_own_function_gets_what_the_user_gave(cancer):
    X, y = cancer
    seen = []

    def own(features, target):
        seen.append((features, target))
        scores = np.arange(30.0)
        scores[29] = np.nan
        return scores

    ensemble = FilterEnsemble(["auc", own]).fit(X, y)
    assert seen[0][0] is X
    assert seen[0][1] is y
    assert ensemble.names_ == ["auc", "own"]
    assert ensemble.ranks_[1, 28] == 1.0
    assert ensemble.ranks_[1, 29] == 0.0
    bad = FilterEnsemble([("short", lambda features, target: [1.0])])
    with pytest.raises(ValueError, match=r"'short' must return .* got shape \(1,\)"):
        bad.fit(X, y)


def test_groups_score_by_their_best_column(cancer):
    X, y = cancer
    groups = [[2], [0, 1, 5], np.array([10, 9])]
    ensemble = FilterEnsemble(FAST).fit(X, y, feature_groups=groups)
    single = FilterEnsemble(FAST).fit(X, y)
    assert ensemble.ranks_.shape == (3, 3)
    for k, group in enumerate(groups):
        np.testing.assert_array_equal(
            ensemble.scores_[:, k], single.scores_[:, list(group)].max(axis=1)
        )
    assert ensemble.n_features_in_ == 30


def test_groups_of_a_one_hot_code_are_named_by_it():
    rng = np.random.default_rng(0)
    color = rng.choice(["red", "blue", "green"], 60)
    frame = pd.get_dummies(pd.DataFrame({"size": rng.normal(size=60), "color": color}))
    ensemble = FilterEnsemble(FAST).fit(frame, color == "red", feature_groups=[[0], [1, 2, 3]])
    assert ensemble.to_frame().index.tolist() == ["color", "size"]


def test_nan_of_one_column_does_not_spoil_its_group(cancer):
    X, y = cancer
    scores = np.arange(30.0)
    scores[3] = np.nan
    ensemble = FilterEnsemble([("own", lambda features, target: scores)])
    assert ensemble.fit(X, y, feature_groups=[[3, 4], [5]]).scores_.tolist() == [[4.0, 5.0]]


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([], "empty"),
        ([[]], r"feature_groups\[0\]"),
        ([[0.5]], r"feature_groups\[0\]"),
        ([[0], [30]], "0 to 29"),
        ([[-1]], "0 to 29"),
        ([[0, 1], [1]], "share"),
    ],
)
def test_bad_groups_raise(cancer, groups, message):
    with pytest.raises(ValueError, match=message):
        FilterEnsemble(FAST).fit(*cancer, feature_groups=groups)


def test_refit_on_an_array_forgets_the_names(cancer):
    X, y = cancer
    ensemble = FilterEnsemble(["auc"]).fit(X, y)
    ensemble.fit(X.to_numpy(), y)
    assert not hasattr(ensemble, "feature_names_in_")
    assert ensemble.features_[0] == "x0"


def test_validation_waits_for_fit():
    ensemble = FilterEnsemble(["nonsense"], bins=-1)
    assert ensemble.get_params()["bins"] == -1
    X, y = make_classification(30, random_state=0)
    with pytest.raises(ValueError, match="nonsense"):
        ensemble.fit(X, y)


def test_one_feature():
    assert (
        FilterEnsemble(FAST).fit([[0.0], [1.0], [2.0]], [0, 0, 1]).ranks_.tolist() == [[1.0]] * 3
    )
