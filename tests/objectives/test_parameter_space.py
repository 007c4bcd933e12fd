"""Spaces in the forms that scikit-learn, SciPy and Optuna accept."""

from __future__ import annotations

import json

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FixedTrial
from scipy import stats
from sklearn.datasets import load_wine
from sklearn.feature_selection import f_classif, mutual_info_classif
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.objectives._estimator_space import (
    SUBSPACE,
    EstimatorSpace,
    SubspaceChoice,
    estimator_space,
    replay,
)
from optuna_mofs.objectives._parameter_space import parameter_space


def converted(given):
    return parameter_space({"a": given}).distributions["a"]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (FloatDistribution(0, 1), FloatDistribution(0, 1)),
        (stats.uniform(2, 3), FloatDistribution(2, 5)),
        (stats.uniform, FloatDistribution(0, 1)),
        (stats.uniform(1, 1000), FloatDistribution(1, 1001)),
        (stats.loguniform(0.1, 10), FloatDistribution(0.1, 10, log=True)),
        (stats.loguniform(2, 4), FloatDistribution(2, 4, log=True)),
        (stats.randint(1, 9), IntDistribution(1, 8)),
        (stats.randint(0, 500), IntDistribution(0, 499)),
        (range(2, 11, 2), IntDistribution(2, 10, step=2)),
        (np.arange(1, 6), IntDistribution(1, 5)),
        ([3, 1, 2], IntDistribution(1, 3)),
        ([1, 2], CategoricalDistribution((1, 2))),
        ([1, 2, 4], CategoricalDistribution((1, 2, 4))),
        (np.array([0.5, 2.0]), CategoricalDistribution((0.5, 2.0))),
        (pd.Series([0.5, 2.0]), CategoricalDistribution((0.5, 2.0))),
        (("rbf", "linear", "rbf"), CategoricalDistribution(("rbf", "linear"))),
        ([None, True, 0.5], CategoricalDistribution((None, True, 0.5))),
        ([True, False, True], CategoricalDistribution((True, False))),
    ],
)
def test_forms_of_a_distribution(given, expected):
    assert converted(given) == expected


@pytest.mark.parametrize(
    "given", [stats.expon(scale=100), stats.norm(3, 2), stats.gamma(4), stats.poisson(5)]
)
def test_other_distributions_of_scipy_give_their_range(given):
    found = converted(given)
    draws = given.rvs(500, random_state=0)
    assert np.mean((found.low <= draws) & (draws <= found.high)) > 0.97
    assert isinstance(found, IntDistribution) == (given.dist.name == "poisson")
    # A positive range over orders of magnitude is searched on a logarithmic scale.
    assert found.log == (given.dist.name == "expon")


@pytest.mark.parametrize("given", [stats.gamma, stats.multivariate_normal([0, 0]), 3, "rbf", {}])
def test_what_is_no_distribution_is_refused(given):
    with pytest.raises(ValueError, match=r"space\['a'\] must be"):
        converted(given)


def test_empty_lists_are_refused():
    with pytest.raises(ValueError, match=r"space\['a'\] is an empty list"):
        converted([])


def test_objects_are_stored_by_name():
    scalers = [StandardScaler(), MinMaxScaler(), "passthrough"]
    space = parameter_space(
        {"scaler": scalers, "score": [f_classif, mutual_info_classif], "layers": [(5,), (5, 2)]}
    )
    for distribution in space.distributions.values():
        json.dumps(distribution.choices)
        assert all(isinstance(choice, str) for choice in distribution.choices)
    assert space.distributions["scaler"].choices[2] == "passthrough"
    for name, given in (("scaler", scalers), ("layers", [(5,), (5, 2)])):
        choices = space.distributions[name].choices
        assert [space.decode(name, choice) for choice in choices] == given
    assert space.label("scaler", StandardScaler()) == space.distributions["scaler"].choices[0]


def test_objects_that_look_the_same_stay_apart():
    class Plain:
        def __repr__(self):
            return "plain"

    first, second = Plain(), Plain()
    space = parameter_space({"a": [first, second]})
    one, two = space.distributions["a"].choices
    assert (space.decode("a", one), space.decode("a", two)) == (first, second)


# ---- with an estimator --------------------------------------------------------------------------

PIPE = Pipeline([("scale", StandardScaler()), ("model", GaussianNB())])


def test_steps_of_a_pipeline_can_be_searched_with_their_parameters():
    space = {"model": [SVC()], "model__C": stats.loguniform(0.1, 10), "scale": ["passthrough"]}
    one = EstimatorSpace(PIPE, space, 3)
    assert one.parameter_names() == set(space)
    params = one.suggest(FixedTrial({"model": "SVC()", "model__C": 2.0, "scale": "passthrough"}))
    model = one.configure(params)
    assert isinstance(model.named_steps["model"], SVC)
    assert (model.named_steps["model"].C, model.named_steps["model"].random_state) == (2.0, 3)
    # The user's object is not changed.
    assert space["model"][0].C == 1.0


def test_unknown_parameters_of_steps_are_refused():
    with pytest.raises(ValueError, match="'other__C', which is not a parameter"):
        EstimatorSpace(PIPE, {"model": [SVC()], "other__C": [1.0, 2.0]}).parameter_names()


def test_the_estimators_own_values_are_found_among_objects():
    space = EstimatorSpace(PIPE, {"scale": [MinMaxScaler(), StandardScaler()]})
    assert space.defaults == {"scale": "StandardScaler()"}


SPACES = [
    {"model": [SVC()], "model__C": stats.loguniform(0.1, 10), "model__kernel": ["rbf", "linear"]},
    {"model": [DecisionTreeClassifier()], "model__max_depth": range(1, 9)},
    {"model": [SVC()], "model__C": stats.loguniform(10, 100)},
]


def test_each_dict_of_a_list_is_a_space_of_its_own():
    several = estimator_space(PIPE, SPACES, 0)
    assert isinstance(several, SubspaceChoice)
    trial = FixedTrial(
        {SUBSPACE: 1, "subspace1__model": "DecisionTreeClassifier()", "model__max_depth": 4}
    )
    params = several.suggest(trial)
    assert set(params) == {"model", "model__max_depth"}
    model = several.configure(params).named_steps["model"]
    assert (type(model), model.max_depth) == (DecisionTreeClassifier, 4)
    assert set(trial.distributions) == {SUBSPACE, "subspace1__model", "model__max_depth"}


def test_parameters_depend_on_the_chosen_dict():
    several = estimator_space(PIPE, SPACES, 0)
    assert several.active_if["subspace0__model__C"] == (SUBSPACE, [0])
    assert several.active_if["subspace2__model__C"] == (SUBSPACE, [2])
    assert several.active_if["model__max_depth"] == (SUBSPACE, [1])
    shared = estimator_space(SVC(), [{"C": [1, 3, 9]}, {"C": [1, 3, 9], "gamma": [1.0, 2.0]}])
    assert shared.active_if == {"gamma": (SUBSPACE, [1])}
    assert shared.parameter_names() == {SUBSPACE, "C", "gamma"}


def test_a_list_of_one_dict_is_that_dict():
    assert estimator_space(SVC(), [{"C": [1.0, 2.0]}]).distributions.keys() == {"C"}


@pytest.mark.parametrize("space", [[], [{"C": [1.0, 2.0]}, 3]])
def test_bad_lists_are_refused(space):
    with pytest.raises(ValueError, match="must hold dicts"):
        estimator_space(SVC(), space)


def test_a_wrong_name_in_any_dict_is_refused():
    with pytest.raises(ValueError, match=r"'c', which is not a parameter of SVC"):
        estimator_space(SVC(), [{"C": [1.0, 2.0]}, {"c": [1.0, 2.0]}]).parameter_names()


def test_a_study_on_a_list_of_dicts_is_repeatable():
    X, y = load_wine(return_X_y=True)
    objective = FeatureSelectionObjective(
        make_pipeline(StandardScaler(), SVC()),
        X,
        y,
        space=[
            {"svc__kernel": ["linear"], "svc__C": stats.loguniform(0.1, 10)},
            {"standardscaler": [MinMaxScaler(), "passthrough"], "svc__gamma": [0.1, 1.0]},
        ],
        filters=["anova_f"],
        cv=2,
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=8)
    assert {trial.state.name for trial in study.trials} == {"COMPLETE"}
    assert {trial.params[SUBSPACE] for trial in study.trials} == {0, 1}
    for trial in study.trials:
        model = objective.estimator_for(trial).named_steps["estimator"]
        if trial.user_attrs["n_features"]:
            kernel = "linear" if trial.params[SUBSPACE] == 0 else "rbf"
            assert model.named_steps["svc"].kernel == kernel
        assert objective.estimator_space.suggest(replay(trial)).keys() == (
            {"svc__kernel", "svc__C"}
            if trial.params[SUBSPACE] == 0
            else {"standardscaler", "svc__gamma"}
        )
