from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB

from optuna_mofs.spaces import LearnerSpec, _registry, get_learner, learner_names, register_learner


def test_seed_is_left_open_by_default():
    estimator, _ = get_learner("random_forest")
    assert estimator.random_state is None


def test_fixed_value_leaves_the_space():
    estimator, space = get_learner("decision_tree", max_depth=4)
    assert "max_depth" not in space
    assert "ccp_alpha" in space
    assert estimator.max_depth == 4


def test_distribution_replaces_or_extends_the_space():
    weight = CategoricalDistribution((None, "balanced"))
    few = IntDistribution(1, 9)
    _, space = get_learner("random_forest", class_weight=weight, min_samples_leaf=few)
    assert space["class_weight"] == weight
    assert space["min_samples_leaf"] == few
    _, space = get_learner("svm", "regression", epsilon=0.1)
    assert set(space) == {"regressor__svm__C", "regressor__svm__gamma"}


@pytest.mark.parametrize(
    ("arguments", "overrides", "message"),
    [
        (("xgbost",), {}, "Did you mean 'xgboost'"),
        (("forest",), {}, "Did you mean 'random_forest'"),
        (("svm", "ranking"), {}, "'classification', 'regression', got 'ranking'"),
        (("elastic_net",), {}, "for regression only"),
        (("logistic_regression", "regression"), {}, "'ridge'"),
        (("svm",), {"early_stopping": True}, "xgboost"),
        (("svm",), {"gama": 1.0}, "Did you mean 'gamma'"),
    ],
)
def test_errors_name_the_mistake(arguments, overrides, message):
    with pytest.raises(ValueError, match=message):
        get_learner(*arguments, **overrides)


def test_names():
    assert set(learner_names()) == set(learner_names("classification")) | {"elastic_net"}
    assert set(learner_names()) == set(learner_names("regression")) | {
        "logistic_regression",
        "dropout_mlp",
    }
    with pytest.raises(ValueError, match=r"task must be .* got 'both'"):
        learner_names("both")


def test_one_entry_adds_a_learner(monkeypatch):
    monkeypatch.setattr(_registry, "_LEARNERS", dict(_registry._LEARNERS))
    smoothing = FloatDistribution(1e-12, 1.0, log=True)
    spec = LearnerSpec(
        "naive_bayes", {"var_smoothing": smoothing}, classifier=GaussianNB, preprocessing="impute"
    )
    naive_bayes = register_learner(spec)
    assert naive_bayes("nb__") == {"nb__var_smoothing": smoothing}
    assert "naive_bayes" in learner_names("classification")
    assert "naive_bayes" not in learner_names("regression")
    estimator, space = get_learner("naive_bayes")
    assert space == {"naive_bayes__var_smoothing": smoothing}
    assert isinstance(estimator["naive_bayes"], GaussianNB)


def test_a_learner_needs_an_estimator():
    with pytest.raises(ValueError, match="'none' needs a classifier, a regressor or both"):
        LearnerSpec("none", {})


@pytest.mark.parametrize(
    ("name", "task"), [("svm", "regression"), ("logistic_regression", "classification")]
)
def test_texts_and_missing_values_are_encoded(name, task):
    rng = np.random.default_rng(0)
    city = rng.choice(["Rome", "Oslo", "Lima"], 120)
    X = pd.DataFrame({"city": city, "age": rng.normal(size=120)})
    X.loc[:20, "age"] = np.nan
    X.loc[100:, "city"] = None
    y = (city == "Oslo").astype(float)
    estimator, space = get_learner(name, task, one_hot=True)
    assert set(space) <= set(estimator.get_params())
    assert estimator.fit(X[:90], y[:90]).score(X[90:100], y[90:100]) > 0.9
    estimator.predict(X[100:])
    estimator.predict(X[100:].assign(city="Bern"))  # a new category
    # A trial may select no column of texts.
    clone(estimator).fit(X[["age"]], y).predict(X[["age"]])
