"""Fifty trials on tables with categories: none fails, and the columns are those found by hand."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from catboost import CatBoostClassifier
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from optuna_mofs import FeatureSelectionSearchCV, spaces

CATEGORIES = ["city", "job", "street"]
#: Two of age, city and job decide; each is needed.
WANTED = {"age", "city", "job"}
ENCODER = OneHotEncoder(handle_unknown="ignore")
RIDGE = RidgeClassifier()


@cache
def people() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    n = 120
    is_old, is_a14, is_pilot = rng.random((3, n)) > 0.5
    table = pd.DataFrame(
        {
            "age": 40.0 + 20 * is_old + rng.normal(size=n),
            "city": np.where(is_a14, "A14", rng.choice(["Ulm", "Bonn"], n)),
            "größe in cm": rng.normal(170, 10, size=n),
            "job": np.where(is_pilot, "pilot", "baker"),
            "street": rng.choice(["a", "b", "c"], n),
        }
    )
    votes = is_old.astype(int) + is_a14 + is_pilot
    return table, (votes >= 2).astype(int)


def search(estimator: Any, X: Any, **options: Any) -> FeatureSelectionSearchCV:
    """Return a fitted search of 50 trials of which none failed."""
    settings = {"cv": 2, "random_state": 0, "filters": ["information_gain"], "holdout": False}
    settings |= {"error_score": "raise", "n_trials": 50, **options}
    found = FeatureSelectionSearchCV(estimator, **settings).fit(X, people()[1])
    assert len(found.trials_) == 50
    assert {trial.state.name for trial in found.trials_} == {"COMPLETE"}
    return found


def chosen(found: FeatureSelectionSearchCV) -> set[Any]:
    return set(found.objective_.features_for(found.best_trial_))


def encoded() -> pd.DataFrame:
    """Return the table with a number per category."""
    X = people()[0].copy()
    X[CATEGORIES] = OrdinalEncoder().fit_transform(X[CATEGORIES])
    return X


def test_indicators_by_hand():
    X = pd.get_dummies(people()[0], columns=CATEGORIES, dtype=float)
    groups = {c: [k for k in X if k.startswith(f"{c}_")] for c in CATEGORIES}
    assert chosen(search(RIDGE, X, feature_groups=groups)) == WANTED


@pytest.mark.parametrize(
    "columns",
    [CATEGORIES, [1, -2, -1], make_column_selector(dtype_exclude=np.number)],
    ids=["names", "positions", "selector"],
)
def test_column_transformers(columns):
    encode = make_column_transformer((ENCODER, columns), remainder="passthrough")
    found = search(make_pipeline(encode, RIDGE), people()[0])
    assert chosen(found) == WANTED
    assert found.predict(people()[0]).shape == (120,)


def test_column_transformers_inside_of_pipelines():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), ENCODER)
    parts = [("numbers", numbers, ["age", "größe in cm"]), ("words", words, CATEGORIES)]
    model = Pipeline([("first", Pipeline([("parts", ColumnTransformer(parts))])), ("m", RIDGE)])
    assert chosen(search(model, people()[0])) == WANTED


MASK = [False, True, False, True, True]


@pytest.mark.parametrize("columns", [CATEGORIES, MASK, "from_dtype"], ids=str)
def test_categories_of_boosting(columns):
    X = encoded()  # by hand
    if columns == "from_dtype":
        X[CATEGORIES] = people()[0][CATEGORIES].astype("category")
    options = {"max_iter": 8, "min_samples_leaf": 3, "learning_rate": 0.5, "random_state": 0}
    model = HistGradientBoostingClassifier(categorical_features=columns, **options)
    assert chosen(search(model, X)) == WANTED


QUICK = {
    "lightgbm": {"n_estimators": 8, "learning_rate": 0.5, "min_child_samples": 3},
    "xgboost": {"n_estimators": 8, "learning_rate": 0.5},
    # Without statistics of the target, which are noise for so few rows.
    "catboost": {"n_estimators": 8, "learning_rate": 0.5, "depth": 3, "one_hot_max_size": 9},
}


@pytest.mark.parametrize("learner", QUICK)
def test_pandas_categories_and_ready_boosting_with_early_stopping(learner):
    pytest.importorskip(learner)
    X = people()[0].copy()
    X[CATEGORIES] = X[CATEGORIES].astype("category")
    estimator, _ = spaces.get_learner(learner, early_stopping=True)
    estimator.set_params(**{f"booster__{name}": value for name, value in QUICK[learner].items()})
    found = search(estimator, X)
    # CatBoost permutes the rows at random, which lets noise in.
    assert chosen(found) == WANTED or (learner == "catboost" and chosen(found) > WANTED)
    assert found.predict(X).shape == (120,)


def test_categories_of_catboost():
    quick = {**QUICK["catboost"], "thread_count": 1, "verbose": False}
    model = CatBoostClassifier(cat_features=CATEGORIES, allow_writing_files=False, **quick)
    found = search(model, people()[0], param_distributions={"l2_leaf_reg": [1.0, 3.0]})
    assert chosen(found) >= WANTED


@cache
def of_pandas() -> FeatureSelectionSearchCV:
    return search(GaussianNB(), encoded())


@pytest.mark.parametrize(
    "convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"]
)
def test_tables_of_other_libraries(convert):
    found = search(GaussianNB(), convert(encoded()))
    assert chosen(found) == chosen(of_pandas())
    assert found.pareto_front_.equals(of_pandas().pareto_front_)
    assert found.feature_names_in_.tolist() == list(encoded().columns)


def test_integers_as_names():
    X = encoded()
    X.columns = pd.Index([10, 20, 30, 40, 50])
    found = search(GaussianNB(), X)
    renamed = dict(zip(encoded(), X))
    assert chosen(found) == {renamed[name] for name in chosen(of_pandas())}
    np.testing.assert_array_equal(found.predict(X), of_pandas().predict(encoded()))
