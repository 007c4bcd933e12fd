"""Objectives and the search estimator on odd tables, spaces and scorers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import optuna
from hypothesis import given
from hypothesis import strategies as st
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs import FeatureSelectionObjective, FeatureSelectionSearchCV, pareto_front
from tests.fuzz.cases import (
    distributions,
    few,
    fuzz,
    names,
    result_or_clear_error,
    tables,
)


def _raise(estimator: Any, X: Any, y: Any) -> float:
    raise RuntimeError("no")


SCORERS = st.sampled_from(
    [
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
GOOD_SPACES = st.sampled_from([None, {"min_samples_leaf": [1, 2]}, {"max_depth": (1, 3)}])
SPACES = (
    st.dictionaries(names, distributions, max_size=2)
    | st.dictionaries(st.sampled_from(["max_depth", "ccp_alpha"]), distributions, min_size=1)
    | st.sampled_from([{}, [], [{}], "space", {"max_depth": 3}, {"max_depth": []}])
)
OPTIONS = few(
    {
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
ESTIMATORS = st.sampled_from([GaussianNB(), None, "svm", DecisionTreeClassifier, MultinomialNB()])


@st.composite
def searches(draw: st.DrawFn) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
    """Return estimator, table, space, scorer and options of a search; at most two are odd."""
    parts = st.sampled_from(["estimator", "table", "table", "space", "scoring", "options"])
    odd = draw(st.lists(parts, max_size=2))
    table = draw(tables() if "table" in odd else tables((0,)))
    is_regression = np.asarray(table[1]).dtype.kind == "f"
    tree = DecisionTreeRegressor if is_regression else DecisionTreeClassifier
    estimator = draw(ESTIMATORS) if "estimator" in odd else tree(random_state=0)
    space = draw(SPACES if "space" in odd else GOOD_SPACES)
    scoring = draw(SCORERS) if "scoring" in odd else None
    options = draw(OPTIONS) if "options" in odd else {}
    return estimator, table, space, scoring, {"filters": ["variance"], "cv": 2, **options}


def _is_number(value: float) -> bool:
    return isinstance(value, float) and not math.isnan(value)


@fuzz
@given(searches())
def test_feature_selection_objective(search: Any) -> None:
    estimator, (X, y), space, scoring, options = search

    def run() -> None:
        objective = FeatureSelectionObjective(
            estimator, X, y, space=space, scoring=scoring, **options
        )
        sampler = optuna.samplers.RandomSampler(seed=0)
        study = objective.create_study(sampler=sampler)
        study.optimize(objective, n_trials=2)
        for trial in pareto_front(study):
            assert all(map(_is_number, trial.values))
            model = objective.refit(trial)
            assert len(model.predict(X)) == np.shape(X)[0]

    result_or_clear_error(run)


@fuzz
@given(searches())
def test_feature_selection_search(search: Any) -> None:
    estimator, (X, y), space, scoring, options = search
    fit = {name: options.pop(name, None) for name in ("groups", "sample_weight")}
    fit = {name: value for name, value in fit.items() if value is not None}

    def run() -> None:
        sampler = optuna.samplers.RandomSampler(seed=0)
        searched = FeatureSelectionSearchCV(
            estimator, space, scoring=scoring, n_trials=2, sampler=sampler, random_state=0,
            **options,
        )  # fmt: skip
        searched.fit(X, y, **fit)
        assert len(searched.predict(X)) == np.shape(X)[0]

    result_or_clear_error(run)
