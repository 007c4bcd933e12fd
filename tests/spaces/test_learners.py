from __future__ import annotations

import pickle
import warnings

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.model_selection import cross_val_score

from optuna_mofs import spaces
from optuna_mofs.spaces import get_learner, learner_names

TASKS = ("classification", "regression")
PAIRS = [(name, task) for task in TASKS for name in learner_names(task)]
EVERY = [(*pair, False) for pair in PAIRS] + [
    (name, task, True) for name in ("xgboost", "lightgbm", "catboost") for task in TASKS
]
WIDE = FloatDistribution(2**-10, 2**10, log=True)


def test_svm_is_that_of_the_paper():
    assert spaces.svm() == {"C": WIDE, "gamma": WIDE}


def test_kernel_knn_is_that_of_the_paper():
    assert spaces.kernel_knn() == {
        "n_neighbors": IntDistribution(1, 50),
        "distance": FloatDistribution(1, 100),
        "kernel": CategoricalDistribution(("rectangular", "optimal", "triangular", "biweight")),
    }


def test_xgboost_is_that_of_the_paper():
    half = FloatDistribution(0.5, 1)
    assert spaces.xgboost() == {
        "n_estimators": IntDistribution(1, 2000),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "gamma": FloatDistribution(2**-7, 2**6, log=True),
        "max_depth": IntDistribution(3, 20),
        "colsample_bytree": half,
        "colsample_bylevel": half,
        "subsample": half,
        "reg_lambda": WIDE,
        "reg_alpha": WIDE,
    }


@pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost"])
def test_early_stopping_chooses_the_rounds(name):
    full, stopped = getattr(spaces, name)(), getattr(spaces, name)(early_stopping=True)
    assert set(full) - set(stopped) == {"n_estimators"}
    assert set(stopped) < set(full)


@pytest.mark.parametrize("name", learner_names())
def test_prefix_goes_before_every_name(name):
    make = getattr(spaces, name)
    assert make("a__b__") == {f"a__b__{key}": value for key, value in make().items()}


@pytest.fixture(scope="module")
def storage():
    return optuna.storages.RDBStorage("sqlite:///:memory:")


@pytest.mark.parametrize("name", learner_names())
def test_space_can_be_stored_in_a_database(name, storage):
    space = getattr(spaces, name)()
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(storage=storage, sampler=sampler)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = study.ask(space)
    assert study.trials[0].distributions == space
    assert trial.params == study.trials[0].params


@pytest.mark.parametrize("make", [spaces.svm, spaces.decision_tree])
def test_regression_has_its_own_space(make):
    assert set(make(task="regression")) != set(make())
    with pytest.raises(ValueError, match="'classification', 'regression', got 'ranking'"):
        make(task="ranking")


def ready(name, task, early_stopping=False, **overrides):
    if name in ("xgboost", "lightgbm", "catboost"):
        pytest.importorskip(name)
        if not early_stopping:
            overrides.setdefault("n_estimators", IntDistribution(1, 30))
    if name in ("random_forest", "extra_trees"):
        overrides.setdefault("n_estimators", 15)
    return get_learner(name, task, 0, early_stopping=early_stopping, **overrides)


@pytest.fixture(scope="module")
def data():
    X, y = make_classification(
        90, 5, n_informative=4, n_redundant=0, n_classes=3, class_sep=1.5, random_state=0
    )
    X = pd.DataFrame(X, columns=["a", "b [cm]", "c<1>", 'd"{}', "e, f"])
    return X, {"classification": np.array(["x", "y", "z"])[y], "regression": 1e4 * X["a"] ** 2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "task", "early_stopping"), EVERY)
def test_sampled_values_are_valid_for_any_columns(name, task, early_stopping, data):
    X, targets = data
    y = targets[task]
    estimator, space = ready(name, task, early_stopping)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    for columns in ([0], [1, 3], [0, 1, 2, 3, 4], [2]):
        trial = study.ask(space)
        model = clone(estimator).set_params(**trial.params).fit(X.iloc[:, columns], y)
        predicted = model.predict(X.iloc[:, columns])
        assert predicted.shape == (90,)
        if task == "classification":
            assert set(predicted) <= {"x", "y", "z"}
        else:
            assert np.isfinite(predicted).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "task", "early_stopping"), EVERY)
def test_ends_of_the_ranges_are_valid(name, task, early_stopping):
    estimator, space = ready(name, task, early_stopping)
    X, y = make_classification(80, 4, random_state=0)
    for end in ("low", "high"):
        values = {
            key: d.choices[0] if isinstance(d, CategoricalDistribution) else getattr(d, end)
            for key, d in space.items()
        }
        slow = {key: 3 for key in estimator.get_params() if key.endswith("__max_iter")}
        model = clone(estimator).set_params(**values, **slow).fit(X, y)
        assert len(model.predict(X)) == 80


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_defaults_learn_despite_missing_values_and_unequal_scales(name, task):
    load = load_breast_cancer if task == "classification" else load_diabetes
    X, y = load(return_X_y=True)
    X = X[:300] * np.geomspace(1e-3, 1e3, X.shape[1])
    X[::9, 2] = np.nan
    y = y[:300] if task == "classification" else 1e3 * y[:300]
    few = {"n_estimators": 30} if name in ("xgboost", "lightgbm", "catboost") else {}
    estimator, _ = ready(name, task, **few)
    score = cross_val_score(estimator, X, y, cv=3).mean()
    assert score > (0.88 if task == "classification" else 0.0 if name == "decision_tree" else 0.2)
    assert is_classifier(estimator) == (task == "classification")
    assert is_regressor(estimator) == (task == "regression")


@pytest.mark.parametrize(("name", "task"), PAIRS)
def test_one_thread_seeded_and_picklable(name, task):
    estimator, space = ready(name, task)
    parameters = estimator.get_params()
    assert set(space) <= set(parameters)
    for key, value in parameters.items():
        if key.endswith("n_jobs"):
            assert value in (None, 1)
        if key.endswith("random_state"):
            assert value == 0
    again = pickle.loads(pickle.dumps(clone(estimator))).get_params()
    assert set(again) == set(parameters)


def test_early_stopping_as_in_the_paper():
    pytest.importorskip("xgboost")
    estimator, space = get_learner("xgboost", early_stopping=True, validation_fraction=0.2)
    assert estimator.patience == 10
    assert estimator.booster.n_estimators == 2000
    assert estimator.validation_fraction == 0.2
    assert "booster__n_estimators" not in space
    assert "booster__learning_rate" in space
    assert get_learner("xgboost")[0].patience is None


def test_lightgbm_uses_its_subsample():
    pytest.importorskip("lightgbm")
    X, y = load_diabetes(return_X_y=True)
    estimator, _ = get_learner("lightgbm", "regression", 0, n_estimators=5)
    first = estimator.fit(X, y).predict(X)
    assert not np.allclose(
        first, estimator.set_params(booster__subsample=0.5).fit(X, y).predict(X)
    )


def test_dropout_mlp_is_that_of_table_3():
    found = spaces.dropout_mlp()
    assert found["epochs"] == IntDistribution(1, 20)
    assert found["n_layers"] == IntDistribution(1, 3)
    for k in (1, 2, 3):
        assert (found[f"n_units_{k}"].low, found[f"n_units_{k}"].high) == (4, 128)
        assert found[f"dropout_{k}"] == FloatDistribution(0.2, 0.5)
        assert found[f"learning_rate_{k}"] == FloatDistribution(1e-5, 1e-1, log=True)
