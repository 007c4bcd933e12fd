"""Objectives and the search estimator on odd tables, spaces and scorers."""

from __future__ import annotations

import math
from typing import Any

import optuna
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs import FeatureSelectionObjective, FeatureSelectionSearchCV, pareto_front
from tests.fuzz.cases import distributions, fuzz, names, result_or_clear_error, tables


def _raise(estimator: Any, X: Any, y: Any) -> float:
    raise RuntimeError("no")


SCORERS = st.sampled_from(
    [None] * 6
    + [
        _raise,
        lambda estimator, X, y: None,
        lambda estimator, X, y: 1e308,
        lambda estimator, X, y: math.nan,
        lambda estimator, X, y: math.inf,
        lambda estimator, X, y: "0.5",
        lambda estimator, X, y: [0.5, 0.5],
        "roc_auc",
        "neg_log_loss",
        "no such scorer",
        7,
    ]
)
SPACES = (
    st.just({})
    | st.just({"min_samples_leaf": [1, 2]})
    | st.dictionaries(names, distributions, max_size=2)
    | st.sampled_from([None, [], [{}], "space", {"max_depth": 3}, {"max_depth": []}])
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "cv": st.sampled_from([2, 2, 3, 1, 0, -1, 10**6, "2", None, 2.5, []]),
        "representation": st.sampled_from(["auto", "mask", None, "no such", "single_filter"]),
        "filters": st.sampled_from([["variance"], [], ["anova_f", "auc"], ["none"], "variance"]),
        "max_features": st.sampled_from([None, 1, 2, 0, -1, 10**9, 1.5]),
        "min_features": st.sampled_from([0, 1, 10**9, -1]),
        "groups": st.sampled_from([None, None, [], [1], [0] * 12, list("abcabcabcabc")]),
        "holdout": st.sampled_from(["auto", None, 0.2, 0.0, 1.0, 10**9, [0], "no"]),
        "fixed_features": st.sampled_from([(), (), ["x"], ["x0"], "x", [0]]),
        "feature_costs": st.sampled_from([None, {}, {"x": 1}, [1.0], [math.nan], {"x0": -1}]),
        "sample_weight": st.sampled_from([None, None, [1.0] * 12, [-1.0] * 12, [0.0] * 12, []]),
        "measures": st.sampled_from([None, "error", [], ["error", "error"], ["no"], [len]]),
    },
)
ESTIMATORS = st.sampled_from(
    [DecisionTreeClassifier(random_state=0)] * 3
    + [DecisionTreeRegressor(random_state=0), GaussianNB(), None, "svm"]
)


def _is_number(value: float) -> bool:
    return isinstance(value, float) and not math.isnan(value)


@fuzz
@given(ESTIMATORS, tables(), SPACES, SCORERS, OPTIONS)
def test_feature_selection_objective(
    estimator: Any, table: Any, space: Any, scoring: Any, options: Any
) -> None:
    options = {"filters": ["variance"], "cv": 2, **options}

    def run() -> None:
        X, y = table
        objective = FeatureSelectionObjective(
            estimator, X, y, space=space, scoring=scoring, **options
        )
        sampler = optuna.samplers.RandomSampler(seed=0)
        study = objective.create_study(sampler=sampler)
        study.optimize(objective, n_trials=2)
        for trial in pareto_front(study):
            assert all(map(_is_number, trial.values))
            model = objective.refit(trial)
            assert len(model.predict(X)) == len(X)

    result_or_clear_error(run)


@fuzz
@given(ESTIMATORS, tables(), SPACES, SCORERS, OPTIONS)
def test_feature_selection_search(
    estimator: Any, table: Any, space: Any, scoring: Any, options: Any
) -> None:
    fit = {name: options.pop(name, None) for name in ("groups", "sample_weight")}
    fit = {name: value for name, value in fit.items() if value is not None}
    options = {"filters": ["variance"], "cv": 2, "random_state": 0, **options}

    def run() -> None:
        X, y = table
        sampler = optuna.samplers.RandomSampler(seed=0)
        search = FeatureSelectionSearchCV(
            estimator, space, scoring=scoring, n_trials=2, sampler=sampler, **options
        )
        search.fit(X, y, **fit)
        assert len(search.predict(X)) == len(X)

    result_or_clear_error(run)
