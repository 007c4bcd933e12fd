from __future__ import annotations

import warnings

import optuna
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs import spaces

NAMES = sorted(set(spaces.__all__) - {"Space", "learner", "learner_names"})
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


@pytest.mark.parametrize("name", ["xgboost", "lightgbm"])
def test_early_stopping_chooses_the_rounds(name):
    full, stopped = getattr(spaces, name)(), getattr(spaces, name)(early_stopping=True)
    assert set(full) - set(stopped) == {"n_estimators"}
    assert set(stopped) < set(full)


@pytest.mark.parametrize("name", NAMES)
def test_prefix_goes_before_every_name(name):
    make = getattr(spaces, name)
    assert make("a__b__") == {f"a__b__{key}": value for key, value in make().items()}


@pytest.fixture(scope="module")
def storage():
    return optuna.storages.RDBStorage("sqlite:///:memory:")


@pytest.mark.parametrize("name", NAMES)
def test_space_can_be_stored_in_a_database(name, storage):
    space = getattr(spaces, name)()
    study = optuna.create_study(storage=storage)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trial = study.ask(space)
    assert study.trials[0].distributions == space
    assert trial.params == study.trials[0].params


@pytest.mark.parametrize("make", [spaces.svm, spaces.decision_tree])
def test_regression_has_its_own_space(make):
    assert set(make(task="regression")) != set(make())
    with pytest.raises(ValueError, match="'classification' or 'regression'"):
        make(task="ranking")
