from __future__ import annotations

import itertools
import pickle
import time
from functools import partial

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import _safe_indexing

from optuna_mofs import FeatureSelectionObjective, fold_scores
from optuna_mofs.features import FeatureTable
from optuna_mofs.features._stability import selection_instability
from optuna_mofs.measures import Evaluation, Fold, get_measure, prediction_time
from optuna_mofs.measures._complexity import n_fitted_parameters, n_operations


def evaluation(mask, *, costs=None, fold_masks=None, columns=None, X=None):
    mask = np.asarray(mask, dtype=bool)
    table = FeatureTable(tuple(f"x{j}" for j in range(len(mask))), columns=columns, costs=costs)
    return Evaluation(
        table,
        mask,
        fold_masks or [mask] * 3,
        None,
        partial(_safe_indexing, X, axis=1),
        np.arange(4),
    )


def test_fraction_count_and_cost():
    found = evaluation([True, False, True, False], costs=[1, 2, 4, 8])
    assert get_measure("fraction").whole(found) == 0.5
    assert get_measure("n_features").whole(found) == 2.0
    assert get_measure("cost").whole(found) == 5.0
    without = evaluation([True, False, True, True])
    assert get_measure("cost").whole(without) == 3.0


def test_worst_values_are_those_of_all_features():
    table = FeatureTable(("a", "b", "c"), costs=[1, 2, 4])
    assert get_measure("fraction").worst_of(table) == 1.0
    assert get_measure("n_features").worst_of(table) == 3.0
    assert get_measure("cost").worst_of(table) == 7.0
    assert get_measure("instability").worst_of(table) == 1.0


def test_the_selected_columns_are_taken_when_asked_for():
    frame = pd.DataFrame(np.arange(16).reshape(4, 4), columns=list("abcd"))
    found = evaluation([False, True], columns=((0, 3), (1, 2)), X=frame)
    assert list(found.X.columns) == ["b", "c"]


def nogueira(masks):
    """Stability as printed: 1 - mean of s_f^2 over (k/p)(1 - k/p), feature by feature."""
    m, p = len(masks), len(masks[0])
    total = 0.0
    for f in range(p):
        share = sum(mask[f] for mask in masks) / m
        total += m / (m - 1) * share * (1 - share)
    expected_n_features = sum(sum(mask) for mask in masks) / m
    return 1 - (total / p) / (expected_n_features / p * (1 - expected_n_features / p))


def test_instability_by_hand():
    masks = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    # Shares 1, 2/3, 1/3, 0: unbiased variances 0, 1/3, 1/3, 0 of mean 1/6; chance gives 1/4.
    assert selection_instability(masks) == pytest.approx((1 / 6) / (1 / 4))
    assert selection_instability(masks) == pytest.approx(1 - nogueira(masks.tolist()))


@settings(max_examples=100)
@given(st.integers(2, 6), st.integers(1, 30), st.integers(0, 2**32))
def test_instability_against_the_printed_formula(m, p, seed):
    masks = np.random.default_rng(seed).random((m, p)) < 0.4
    found = selection_instability(masks)
    assert 0 <= found <= m / (m - 1) + 1e-9
    if 0 < masks.sum() < masks.size:
        assert found == pytest.approx(1 - nogueira(masks.tolist()))
    # The order of folds and features does not matter.
    assert selection_instability(masks[::-1, ::-1]) == pytest.approx(found)


@pytest.mark.parametrize("row", [[0, 0, 0], [1, 0, 1], [1, 1, 1]])
def test_equal_sets_are_perfectly_stable(row):
    assert selection_instability(np.array([row] * 4, dtype=bool)) == 0.0
    assert get_measure("instability").whole(evaluation(row)) == 0.0


def test_a_single_fold_cannot_be_unstable():
    assert selection_instability(np.array([[True, False]])) == 0.0


def test_random_sets_are_about_one_and_sets_that_avoid_each_other_more():
    rng = np.random.default_rng(0)
    random = [selection_instability(rng.random((5, 200)) < 0.1) for _ in range(50)]
    assert np.mean(random) == pytest.approx(1, abs=0.03)
    assert selection_instability(np.array([[True, False], [False, True]])) == pytest.approx(2)


def test_all_pairs_of_sets_of_two_features():
    for first, second in itertools.product([(0, 0), (0, 1), (1, 0), (1, 1)], repeat=2):
        value = selection_instability(np.array([first, second], dtype=bool))
        assert (value == 0) == (first == second)


X = np.random.default_rng(0).normal(size=(60, 3))
y = (X[:, 0] > 0).astype(int)


def fold(model):
    return Fold(model.fit(X, y), X, y, X, y, scorer=None)


def test_n_fitted_parameters():
    assert n_fitted_parameters(LogisticRegression().fit(X, y)) == 4
    network = MLPClassifier((5,), max_iter=500, tol=0.1).fit(X, y)
    assert n_fitted_parameters(network) == (3 * 5 + 5) + (5 + 1)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    assert n_fitted_parameters(tree) == tree.tree_.node_count
    forest = RandomForestClassifier(4).fit(X, y)
    assert n_fitted_parameters(forest) == sum(t.tree_.node_count for t in forest.estimators_)
    machine = SVC().fit(X, y)
    assert n_fitted_parameters(machine) == len(machine.support_) * (3 + 1)
    assert (
        n_fitted_parameters(make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)) == 4
    )
    assert n_fitted_parameters(DummyClassifier().fit(X, y)) == 1
    assert n_fitted_parameters(GaussianNB().fit(X, y)) is None
    assert n_fitted_parameters(KNeighborsClassifier().fit(X, y)) is None


def test_parameter_count_says_when_it_cannot_count():
    assert get_measure("parameter_count").fold(fold(LogisticRegression())) == 4
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.*'model_size'"):
        get_measure("parameter_count").fold(fold(KNeighborsClassifier()))


def test_model_size_grows_with_the_model():
    small, large = (fold(RandomForestClassifier(n, random_state=0)) for n in (2, 40))
    size = get_measure("model_size").fold
    assert size(large) > 5 * size(small)
    assert size(small) == len(pickle.dumps(small.estimator, protocol=5)) / 1000


class SlowModel:
    """Takes 20, 1 and 20 milliseconds by the clock that it sets."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        self.durations = iter([0.02, 0.001, 0.02])
        monkeypatch.setattr("time.thread_time", lambda: self.now)

    def predict(self, X):
        self.now += next(self.durations)


def test_prediction_time_is_the_shortest_per_row(monkeypatch):
    made = Fold(SlowModel(monkeypatch), X, y, X, y, scorer=None)
    microseconds = prediction_time(repeats=3).fold(made)
    assert microseconds == pytest.approx(1000 / 60)
    assert pickle.loads(pickle.dumps(prediction_time())).name == "prediction_time"


def test_times_are_medians_over_folds():
    for name in ("fit_time", "prediction_time"):
        assert get_measure(name).of_folds([1.0, 2.0, 90.0]) == 2.0
    assert get_measure("model_size").of_folds([1.0, 2.0, 90.0]) == 31.0


def test_the_time_of_a_fit_is_that_of_its_thread():
    class Waiting(GaussianNB):
        def fit(self, X, y):
            until = time.thread_time() + 0.02
            while time.thread_time() < until:
                pass
            time.sleep(0.3)
            return super().fit(X, y)

    objective = FeatureSelectionObjective(
        Waiting(), X, y, measures=["error", "fit_time"], filters=["anova_f"], cv=2
    )
    study = objective.create_study(sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    for trial in study.trials:
        assert 0.02 <= min(fold_scores(trial)["fit_time"]) < 0.15
    # A model that was fitted elsewhere keeps the measured value.
    again = objective.test_values(objective.refit(trial), trial, X, y)
    assert again[1] == trial.values[1]


@pytest.mark.parametrize("repeats", [0, 1.5])
def test_bad_repeats_raise(repeats):
    with pytest.raises(ValueError, match=f"repeats.*{repeats}"):
        prediction_time(repeats=repeats)


def test_operations_of_a_network_are_those_of_its_layers():
    X, y = np.random.default_rng(0).random((30, 4)), np.arange(30) % 3
    network = MLPClassifier((5, 6), max_iter=1)
    with pytest.warns(UserWarning, match="iterations"):
        model = make_pipeline(StandardScaler(), network).fit(X, y)
    expected = 2 * (4 * 5 + 5 * 6 + 6 * 3) + 5 + 6 + 3
    assert n_operations(model) == expected
    fold = Fold(model, X, y, X, y, None)
    assert get_measure("flops").fold(fold) == expected
    assert n_operations(LogisticRegression().fit(X, y)) == 2 * 12 + 3
    assert n_operations(DummyClassifier().fit(X, y)) == 0


def test_operations_of_other_models_are_unknown():
    X, y = np.random.default_rng(0).random((30, 4)), np.arange(30) % 2
    for model in (DecisionTreeClassifier(), SVC(), GaussianNB()):
        fold = Fold(model.fit(X, y), X, y, X, y, None)
        with pytest.raises(
            ValueError, match=r"number of operations .* is unknown: expected a net"
        ):
            get_measure("flops").fold(fold)
