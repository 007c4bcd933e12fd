from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import ExtraTreesClassifier, GradientBoostingRegressor
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    lars_path,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import spaces
from optuna_mofs.filters import (
    FilterData,
    FilterEnsemble,
    estimator_elimination,
    forest_elimination,
    get_filter,
    l1_path,
    linear_elimination,
)
from optuna_mofs.filters import _elimination as elimination
from optuna_mofs.filters._registry import takes_filter_data

NAMES = ("forest_elimination", "linear_elimination", "l1_path")
EVERY = pytest.mark.parametrize("name", NAMES)
TASKS = pytest.mark.parametrize("task", ["two classes", "three classes", "regression"])


def make(task="two classes", n=150, p=12, seed=0):
    """Return a table and a target that depends on columns 3 and 7, more on 7."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    signal = X[:, 3] + 2 * X[:, 7] + 0.3 * rng.normal(size=n)
    if task == "regression":
        return X, signal
    return X, np.digitize(signal, [0.0] if task == "two classes" else [-1.0, 1.0])


@EVERY
@TASKS
@pytest.mark.parametrize("seed", range(3))
def test_planted_features_are_first(name, task, seed):
    X, y = make(task, n=400, seed=seed)
    scores = get_filter(name)(X, y, random_state=0)
    assert np.argsort(-scores)[:2].tolist() == [7, 3]


@EVERY
@TASKS
def test_a_permutation_of_columns_permutes_the_scores(name, task):
    X, y = make(task)
    order = np.random.default_rng(1).permutation(X.shape[1])
    expected = get_filter(name)(X, y, random_state=0)[order]
    np.testing.assert_array_equal(get_filter(name)(X[:, order], y, random_state=0), expected)


@EVERY
@TASKS
def test_scores_do_not_depend_on_units(name, task):
    X, y = make(task, n=60)  # few rows, whose ranks are not binned: mirrors are exact
    scales = np.where(np.arange(X.shape[1]) % 2, 1e6, -1e-3)
    result = get_filter(name)(X * scales + 5 * scales, y, random_state=0)
    np.testing.assert_array_equal(result, get_filter(name)(X, y, random_state=0))


@EVERY
def test_copies_tie_and_change_nothing(name):
    X, y = make()
    expected = get_filter(name)(X, y, random_state=0)
    copied = np.column_stack([X, 3 * X[:, 7] - 1, X[:, 0], np.ones(len(y))])
    scores = get_filter(name)(copied, y, random_state=0)
    assert scores[7] == scores[12]
    assert scores[0] == scores[13]
    assert scores[14] == scores.min()
    np.testing.assert_array_equal(np.argsort(scores[:12]), np.argsort(expected))


@EVERY
def test_scores_are_a_complete_order(name):
    X, y = make()
    assert len(np.unique(get_filter(name)(X, y, random_state=0))) == X.shape[1]


@EVERY
def test_of_many_features_the_best_ones_are_candidates(name, monkeypatch):
    X, y = make(p=60)
    monkeypatch.setattr(elimination, "MAX_FEATURES", 10)
    data = FilterData(X, y, random_state=0)
    scores = get_filter(name)(data)
    assert set(np.argsort(-scores)[:2].tolist()) == {3, 7}
    kind = "information_gain" if name == "forest_elimination" else "pearson"
    relevance = get_filter(kind)(data)
    rest = np.argsort(-relevance, kind="stable")[10:]
    assert scores[rest].max() < np.delete(scores, rest).min()
    # Below the candidates, the order is that of the univariate score.
    np.testing.assert_array_equal(
        np.argsort(scores[rest], kind="stable"),
        np.argsort(np.round(relevance[rest], 8), kind="stable"),
    )


@EVERY
@TASKS
def test_many_rows_are_sampled_with_all_classes(name, task, monkeypatch):
    monkeypatch.setattr(elimination, "MAX_ENTRIES", 1_000)
    monkeypatch.setattr(elimination, "MIN_ROWS", 50)
    X, y = make(task, n=2_000)
    if task == "two classes":
        y = np.zeros(len(y), dtype=int)
        y[::200] = 1  # a sample of 83 rows has none of these ten in every second case
        X[y == 1, 7] += 50.0
    first = get_filter(name)(X, y, random_state=0)
    assert first.argmax() == 7
    np.testing.assert_array_equal(first, get_filter(name)(X, y, random_state=0))


@EVERY
def test_missing_values_and_sparse_tables(name):
    X, y = make()
    X[np.abs(X) < 0.2] = 0.0
    X[::7, 3] = np.nan
    dense = get_filter(name)(X, y, random_state=0)
    assert set(np.argsort(-dense)[:2].tolist()) == {3, 7}
    found = get_filter(name)(sparse.csr_array(X), y, random_state=0)
    np.testing.assert_array_equal(found, dense)


@pytest.mark.parametrize("name", ["linear_elimination", "l1_path"])
def test_levels_of_a_category_have_no_order(name):
    rng = np.random.default_rng(0)
    words = rng.choice(["a", "b", "c", "d"], 200)
    y = np.isin(words, ["b", "d"]).astype(int)
    frame = pd.DataFrame(rng.normal(size=(200, 4)), columns=list("wxyz"))
    frame["word"] = words
    renamed = frame.assign(word=frame.word.map({"a": "z", "b": "a", "c": "m", "d": "k"}))
    scores = get_filter(name)(frame, y)
    assert scores.argmax() == 4
    np.testing.assert_array_equal(scores, get_filter(name)(renamed, y))


def test_a_forest_finds_an_interaction_that_no_column_shows_alone():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 20))
    y = X[:, 2] * X[:, 5] > 0
    assert set(np.argsort(-forest_elimination(X, y, random_state=0))[:2].tolist()) == {2, 5}


def test_same_seed_same_order_whatever_n_jobs():
    X, y = make()
    first = forest_elimination(X, y, random_state=3)
    np.testing.assert_array_equal(first, forest_elimination(X, y, random_state=3, n_jobs=2))
    assert (first != forest_elimination(X, y, random_state=4)).any()


def test_a_linear_elimination_sees_what_columns_add_to_each_other():
    # Column 1 alone has no correlation with y; it removes the noise of column 0.
    rng = np.random.default_rng(0)
    noise, y = rng.normal(size=(2, 300))
    X = np.column_stack([y + 3 * noise, noise, rng.normal(size=(300, 6))])
    X[:, 2] += 0.3 * y
    assert set(np.argsort(-linear_elimination(X, y))[:2].tolist()) == {0, 1}


def test_features_are_dropped_in_rounds():
    X, y = make(p=400)
    data = FilterData(X, y, random_state=0)
    seen = []

    def importances(values, target):
        seen.append(values.shape[1])
        return np.arange(values.shape[1], dtype=float)

    candidates = elimination._linear_candidates(data)
    scores = candidates.eliminate(importances)
    assert seen[:4] == [400, 200, 140, 98]
    assert seen[-1] <= elimination.LAST
    # The last candidate is always the most important here, the first the least.
    places = [scores[members[0]] for members in candidates.members]
    assert places == sorted(places)


def test_the_path_is_that_of_lars():
    X, y = make("regression", n=80, p=8)
    unit = (X - X.mean(axis=0)) / X.std(axis=0)
    _, order, _ = lars_path(unit, y - y.mean(), method="lar")
    assert np.argsort(-l1_path(X, y)).tolist() == list(order)


def test_features_off_the_path_follow_the_residual(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_PATH_STEPS", 2)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 5))
    X[:, 4] = X[:, 0] + 0.5 * X[:, 4]  # correlated with y through column 0 alone
    y = 5 * X[:, 0] + 4 * X[:, 1] + X[:, 2] + 0.1 * rng.normal(size=300)
    assert np.argsort(-l1_path(X, y))[:3].tolist() == [0, 1, 2]


def test_each_class_has_a_path():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = rng.normal(size=(240, 12))
    for label in range(4):
        X[y == label, 2 * label] += 3.0
    assert set(np.argsort(-l1_path(X, y))[:4].tolist()) == {0, 2, 4, 6}


@pytest.mark.parametrize("name", NAMES)
def test_a_group_has_the_score_of_its_best_column(name):
    X, y = make()
    ensemble = FilterEnsemble([name], random_state=0)
    groups = [[0, 1], [2, 7], [3], [4, 5, 6]]
    scores = ensemble.fit(X, y, feature_groups=groups).scores_
    alone = FilterEnsemble([name], random_state=0).fit(X, y).scores_
    np.testing.assert_array_equal(scores, [[alone[0, g].max() for g in groups]])
    assert ensemble.ranks_.argmax() == 1


# ---- the order of an estimator ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "task"),
    [
        (LogisticRegression(), "three classes"),
        (make_pipeline(StandardScaler(), SVC(kernel="linear")), "two classes"),
        (ExtraTreesClassifier(20, random_state=0), "two classes"),
        (LinearRegression(), "regression"),
        (TransformedTargetRegressor(), "regression"),  # by default a linear regression
        (GradientBoostingRegressor(n_estimators=10), "regression"),
        (
            TransformedTargetRegressor(make_pipeline(StandardScaler(), LinearRegression())),
            "regression",
        ),
        (spaces.get_learner("ridge", "regression", random_state=0)[0], "regression"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_an_estimator_ranks_by_its_own_importances(estimator, task):
    X, y = make(task)
    name, function = estimator_elimination(estimator)
    assert name == "estimator_elimination"
    ensemble = FilterEnsemble(["auc", (name, function)], random_state=0).fit(X, y)
    assert ensemble.names_ == ["auc", name]
    assert np.argsort(-ensemble.scores_[1])[:2].tolist() == [7, 3]
    assert takes_filter_data(function)
    copy = pickle.loads(pickle.dumps(function))
    np.testing.assert_array_equal(copy(X, y, random_state=0), function(X, y, random_state=0))


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        SVC(),
        make_pipeline(StandardScaler(), SVC()),
        LogisticRegression(penalty="no such penalty"),
        "not an estimator",
    ],
    ids=str,
)
def test_an_estimator_without_importances_gives_no_filter(estimator):
    assert estimator_elimination(estimator) is None


def test_the_estimator_is_not_changed():
    estimator = ExtraTreesClassifier(5, random_state=7)
    _, function = estimator_elimination(estimator)
    X, y = make()
    function(X, y, random_state=0)
    assert estimator.random_state == 7
    assert not hasattr(estimator, "estimators_")
    assert (function(X, y, random_state=0) != function(X, y, random_state=1)).any()


def test_an_estimator_that_raises_leaves_the_univariate_order(monkeypatch):
    messages = []
    monkeypatch.setattr(elimination._logger, "warning", messages.append)
    _, function = estimator_elimination(PoissonRegressor())
    X, y = make("regression")
    assert y.min() < 0
    scores = function(X, y)
    assert len(messages) == 1
    assert messages[0].startswith("estimator_elimination failed: ValueError")
    np.testing.assert_array_equal(
        np.argsort(scores), np.argsort(get_filter("pearson")(X, y), kind="stable")
    )


def test_trees_start_from_features_without_correlation(monkeypatch):
    monkeypatch.setattr(elimination, "MAX_FEATURES", 3)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 12))
    y = (np.abs(X[:, 5]) > 0.7).astype(int)
    for estimator, found in (
        (ExtraTreesClassifier(20, random_state=0), True),
        (LogisticRegression(), False),
    ):
        _, function = estimator_elimination(estimator)
        assert (int(function(X, y, random_state=0).argmax()) == 5) is found
