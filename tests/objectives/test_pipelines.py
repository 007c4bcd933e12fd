"""Pipelines that name columns: no failures, and the columns of an encoding by hand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from optuna.distributions import FloatDistribution, IntDistribution
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import (
    TransformedTargetRegressor,
    make_column_selector,
    make_column_transformer,
)
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    ModelTypeObjective,
    pareto_front,
    spaces,
)
from optuna_mofs.learners import EarlyStoppingClassifier

RNG = np.random.default_rng(0)
N = 120
X = pd.DataFrame(
    {
        "pay": RNG.standard_normal(N),
        "city": pd.Categorical(RNG.choice(["A11", "A12", "A14"], N)),
        "age": RNG.standard_normal(N),
        "job": pd.Categorical(RNG.choice(["cook", "nurse"], N)),
        "noise": RNG.standard_normal(N),
    }
)
Y = ((X["city"] == "A14") ^ (X["pay"] + 0.2 * RNG.standard_normal(N) > 0.8)).astype(int)
WORDS = ["city", "job"]


def search(estimator, X=X, y=Y, n_trials=50, cls=FeatureSelectionObjective, **options):
    options = {"cv": 2, "filters": [], "representation": "mask", "holdout": None} | options
    objective = cls(estimator, X, y, **options)
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=n_trials)
    failed = [trial.user_attrs["failure_reason"] for trial in study.trials if not trial.values]
    assert failed == []
    return objective, study


def one_hot(columns):
    return make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), columns),
        (StandardScaler(), ["pay", "age"]),
        remainder="passthrough",
    )


@pytest.mark.parametrize(
    "columns", [WORDS, [1, 3], make_column_selector(dtype_include="category"), lambda X: WORDS]
)
def test_column_transformers(columns):
    model = make_pipeline(one_hot(columns), LogisticRegression(max_iter=200))
    objective, study = search(model)
    for trial in study.trials[::10]:
        chosen = objective.features_for(trial)
        if not chosen:
            continue
        by_hand = pd.get_dummies(X[chosen], columns=[c for c in chosen if c in WORDS], dtype=float)
        expected = cross_val_score(
            make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)),
            by_hand,
            Y,
            cv=objective.evaluator.splits,
        )
        # Scaling of the encoded columns hardly changes the model; the columns are the same.
        assert trial.values[0] == pytest.approx(1 - expected.mean(), abs=0.06)
        fitted = objective.refit(trial).named_steps["estimator"][:-1]
        n_columns = fitted.transform(X[chosen]).shape[1]
        assert n_columns == by_hand.shape[1]
    best = pareto_front(study).pick()
    assert "city" in objective.features_for(best)
    assert objective.refit(best).predict(X).shape == (N,)


def test_unused_columns_are_no_failure():
    encode = make_column_transformer((OneHotEncoder(), ["city"]))  # drops the others
    _, study = search(make_pipeline(encode, LogisticRegression()), n_trials=20)
    constant = min(Y.mean(), 1 - Y.mean())
    without = [t.values[0] for t in study.trials if not t.params["city"]]
    assert without == pytest.approx([constant] * len(without), abs=0.01)


def codes(X):
    return X.assign(**{c: X[c].cat.codes for c in WORDS})


@pytest.mark.parametrize("given", [WORDS, [1, 3], [False, True, False, True, False], "from_dtype"])
def test_categorical_features(given):
    table = X if given == "from_dtype" else codes(X)
    boosting = HistGradientBoostingClassifier(
        categorical_features=given, max_iter=3, min_samples_leaf=5
    )
    objective, study = search(boosting, table)
    reference = HistGradientBoostingClassifier(
        categorical_features="from_dtype", max_iter=3, min_samples_leaf=5, random_state=0
    )
    for trial in study.trials[::10]:
        chosen = objective.features_for(trial)
        if chosen:
            scores = cross_val_score(reference, X[chosen], Y, cv=objective.evaluator.splits)
            assert trial.values[0] == pytest.approx(1 - scores.mean())


@pytest.mark.parametrize("early_stopping", [True, False])
def test_categories_with_our_lightgbm(early_stopping):
    overrides = {} if early_stopping else {"n_estimators": 5}
    model, space = spaces.get_learner(
        "lightgbm", random_state=0, early_stopping=early_stopping, **overrides
    )
    model.set_params(**({"patience": 2} if early_stopping else {}))
    objective, study = search(model, space=space, n_trials=12)
    fitted = objective.refit(pareto_front(study).best(max_features=5))
    unknown = X.assign(city=pd.Categorical(["A99"] * N))
    assert fitted.predict(unknown).shape == (N,)


def test_early_stopping_takes_categories_of_any_table():
    booster = LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1, min_child_samples=5)
    model = EarlyStoppingClassifier(booster, random_state=0).fit(X, Y)
    expected = model.predict_proba(X)
    as_text = X.astype({"city": object, "job": object})
    for table in (pl.from_pandas(X), pa.Table.from_pandas(X), as_text):
        same = EarlyStoppingClassifier(booster, random_state=0).fit(table, Y)
        assert np.array_equal(same.predict_proba(table), expected)
    assert (model.predict(X) == Y).mean() > 0.8


@pytest.mark.parametrize("given", [WORDS, [1, 3]])
def test_catboost_with_a_dict_space(given):
    model = CatBoostClassifier(
        iterations=3, cat_features=given, verbose=False, allow_writing_files=False, thread_count=1
    )
    objective, study = search(
        model,
        X.astype({"city": str, "job": str}),
        space={"depth": IntDistribution(1, 3)},
        n_trials=15,
    )
    assert {trial.params["depth"] for trial in study.trials} == {1, 2, 3}
    best = objective.refit(pareto_front(study).best(max_features=5))
    assert len(best.predict(X.astype({"city": str, "job": str}))) == N


def test_meta_estimators():
    calibrated = CalibratedClassifierCV(make_pipeline(one_hot(WORDS), GaussianNB()), cv=2)
    search(calibrated, n_trials=15)
    target = X["pay"] * 3 + X["age"]
    encode = make_column_transformer(
        (FrozenEstimator(OneHotEncoder().fit(X[["city"]])), ["city"]),
        (OneHotEncoder(), ["job"]),
        remainder="passthrough",
    )
    regressor = TransformedTargetRegressor(
        make_pipeline(encode, Ridge()), transformer=StandardScaler()
    )
    objective, study = search(regressor, y=target, n_trials=15)
    assert pareto_front(study).best().values[0] < 0.1
    assert objective.refit(pareto_front(study).best()).predict(X).shape == (N,)


def test_a_choice_of_pipelines():
    learners = {
        "nb": (make_pipeline(one_hot(WORDS), GaussianNB()), None),
        "boosting": (
            HistGradientBoostingClassifier(categorical_features=WORDS, max_iter=2),
            {"learning_rate": FloatDistribution(0.01, 1.0)},
        ),
    }
    search(
        learners,
        codes(X),
        cls=ModelTypeObjective,
        measures=["error", "n_features"],
        n_trials=20,
    )


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas])
def test_the_same_front_of_a_pipeline_for_every_library(make):
    model = make_pipeline(one_hot(WORDS), LogisticRegression())
    values = [
        [t.values for t in search(model, table, n_trials=15)[1].trials] for table in (X, make(X))
    ]
    assert values[0] == values[1]


def test_a_finished_trial_is_evaluated_again():
    model = make_pipeline(one_hot(WORDS), LogisticRegression(max_iter=200))
    space = {"logisticregression__C": FloatDistribution(0.01, 10, log=True)}
    for representation, filters in (
        ("mask", []),
        ("filter_ensemble", ["anova_f", "mutual_information"]),
    ):
        objective, study = search(
            model, space=space, representation=representation, filters=filters, n_trials=5
        )
        before = len(study.trials)
        for trial in study.trials:
            assert objective(trial) == pytest.approx(tuple(trial.values))
        assert len(study.trials) == before
    best = search(model, space=space, measures=["error"], n_trials=5)
    assert best[0](best[1].best_trial) == pytest.approx((best[1].best_value,))


def test_neighbors_fit_the_rows():
    model, space = spaces.get_learner("knn")
    rows = slice(0, 48)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        objective, study = search(
            model, X[["pay", "age", "noise"]][rows], Y[rows], space=space, n_trials=20
        )
    smallest = min(len(train) for train, _ in objective.evaluator.splits)
    high = objective.estimator_space.distributions["knn__n_neighbors"].high
    assert high == smallest < 50
    assert max(trial.params["knn__n_neighbors"] for trial in study.trials) <= smallest
