"""Scalers and imputers that are fitted once per fold for the columns of all trials."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn import config_context
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.data._dataset import Dataset, draw_splits, take_rows
from optuna_mofs.objectives._evaluator import Evaluator, fit_fold
from optuna_mofs.objectives._shared_steps import SharedSteps

RNG = np.random.default_rng(0)
X = RNG.lognormal(size=(90, 6))
X[RNG.random(X.shape) < 0.1] = np.nan
Y = (np.nan_to_num(X[:, 1]) > 0.9).astype(int)
MODEL = LogisticRegression(max_iter=300)
FRAME = pd.DataFrame(X, columns=list("abcdef"))
COLUMNS = np.array([0, 2, 5])


def shared(X, model, *, columns=COLUMNS):
    data = Dataset(X, Y, classification=True)
    splits = draw_splits(data, 3, 0)
    return data, splits, SharedSteps(data, splits).prepared(model, splits[1], columns)


@pytest.mark.parametrize("table", [X, FRAME, FRAME.round(1).astype({"a": "float64"})])
@pytest.mark.parametrize(
    "steps",
    [
        [StandardScaler(), SimpleImputer(strategy="constant", fill_value=0)],
        [SimpleImputer(strategy="median"), MinMaxScaler()],
        [MaxAbsScaler(), SimpleImputer(), RobustScaler(quantile_range=(10, 90))],
    ],
)
def test_steps_and_rows_are_those_of_a_fit_to_the_columns_of_a_trial(table, steps):
    model = make_pipeline(*steps, MODEL)
    data, splits, found = shared(table, model)
    narrow = data.narrowed(COLUMNS)
    plain = fit_fold(model, narrow, splits[1], None)
    prepared = fit_fold(model, narrow, splits[1], None, found)
    for name, step in plain.estimator.steps[:-1]:
        own = dict(prepared.estimator.steps)[name]
        assert vars(own).keys() == vars(step).keys()
        for attribute, value in vars(step).items():
            np.testing.assert_array_equal(vars(own)[attribute], value)
    train, test = (take_rows(narrow.X, rows) for rows in splits[1])
    np.testing.assert_array_equal(found.X_train, plain.estimator[:-1].transform(train))
    np.testing.assert_array_equal(prepared.estimator[-1].coef_, plain.estimator[-1].coef_)
    np.testing.assert_array_equal(prepared.prediction, plain.prediction)
    np.testing.assert_array_equal(prepared.estimator.predict(test), plain.prediction)


@pytest.mark.parametrize(
    "model",
    [
        MODEL,
        make_pipeline(VarianceThreshold(), MODEL),
        make_pipeline(OneHotEncoder(handle_unknown="ignore"), MODEL),
        make_pipeline(SimpleImputer(add_indicator=True), MODEL),
        make_pipeline(StandardScaler().set_output(transform="pandas"), MODEL),
        Pipeline([("scaler", StandardScaler()), ("model", MODEL)], memory="folder"),
    ],
)
def test_other_models_fit_all_their_steps(model):
    assert shared(X, model)[2] is None


@pytest.mark.parametrize(
    "table",
    [
        FRAME.assign(a=FRAME["a"].astype("float32")),
        FRAME.assign(a="text"),
        FRAME.assign(a=FRAME["a"] > 1),
        FRAME.assign(a=np.nan),
        FRAME.assign(a=np.inf),
    ],
)
def test_tables_of_several_types_or_with_unusable_columns_are_not_shared(table):
    assert shared(table, make_pipeline(SimpleImputer(), StandardScaler(), MODEL))[2] is None


def test_nothing_is_shared_of_large_tables_single_columns_and_other_folds(monkeypatch):
    model = make_pipeline(StandardScaler(), MODEL)
    data, splits, found = shared(np.nan_to_num(X), model)
    assert found is not None
    assert shared(np.nan_to_num(X), model, columns=COLUMNS[:1])[2] is None
    steps = SharedSteps(data, splits)
    assert steps.prepared(model, tuple(splits[0]), COLUMNS) is not None
    assert steps.prepared(model, (splits[0][0], splits[0][1]), COLUMNS) is None
    with config_context(enable_metadata_routing=True):
        assert steps.prepared(model, splits[0], COLUMNS) is None
    with config_context(transform_output="pandas"):
        assert shared(X, model)[2] is None
    monkeypatch.setattr("optuna_mofs.objectives._shared_steps.MAX_CELLS", 3 * 90 * 6 - 1)
    assert shared(X, model)[2] is None


def test_parameters_of_the_steps_can_be_searched():
    steps = SharedSteps(*shared(X, MODEL)[:2])
    model = make_pipeline(StandardScaler(), SimpleImputer(), MODEL)
    first = steps.prepared(model, steps._splits[0], COLUMNS)
    model.set_params(standardscaler__with_mean=False)
    second = steps.prepared(model, steps._splits[0], COLUMNS)
    assert first.X_train.mean() == pytest.approx(0, abs=0.2)
    assert second.X_train.mean() > 0.5


def test_a_copy_in_another_process_knows_its_folds():
    data = Dataset(X, Y, classification=True)
    objective = FeatureSelectionObjective(
        make_pipeline(StandardScaler(), SimpleImputer(), MODEL), X, Y, cv=3
    )
    evaluator: Evaluator = pickle.loads(pickle.dumps(objective.evaluator))
    model = objective.estimator_space.estimators[0]
    found = evaluator._steps.prepared(model, evaluator.splits[0], COLUMNS)
    assert found is not None
    assert found.X_train.shape == (len(evaluator.splits[0][0]), 3)
    assert data.shape == (90, 6)


def test_the_measure_of_time_gets_a_fit_of_all_steps():
    model = make_pipeline(StandardScaler(), SimpleImputer(), MODEL)
    mask = np.isin(np.arange(6), COLUMNS)
    for measures, n_shared in ((["error"], 1), (["error", "fit_time"], 0)):
        objective = FeatureSelectionObjective(model, X, Y, cv=3, measures=measures)
        objective.evaluator(model, mask, [mask] * 3)
        assert len(objective.evaluator._steps._by_steps) == n_shared
