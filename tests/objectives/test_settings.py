from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective, ModelTypeObjective
from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.measures import Measure
from optuna_mofs.objectives._estimator_space import EstimatorChoice, EstimatorSpace
from optuna_mofs.objectives._settings import ObjectiveSettings, check_weights

TABLE = FeatureTable(("a", "C", "b"), filters=("auc",))
PIPE = make_pipeline(StandardScaler(), SVC())
UNIT = FloatDistribution(0, 1)
SCORER = get_scorer("r2")
PACKED = MaskFeatures(form="packed")


def check_space(space, representation, table):
    EstimatorSpace(PIPE, space).check(representation, table)


@pytest.mark.parametrize(
    ("space", "features", "table", "message"),
    [
        (None, None, TABLE, "nothing to search"),
        (None, PACKED, FeatureTable(("a",), fixed=(0,)), "nothing to search"),
        ({"svc__C": UNIT}, PACKED, FeatureTable(("a",), fixed=(0,)), "All 1 features are fixed"),
        ({}, PACKED, TABLE, "space is empty. Pass space=None"),
        ({"svc__c": UNIT}, PACKED, TABLE, "'svc__c', which is no parameter of Pipeline. Did you"),
        ({"svc__C": (0, 1)}, PACKED, TABLE, r"space\['svc__C'\] must be an Optuna distribution"),
        ([("svc__C", UNIT)], PACKED, TABLE, "space must be a dict"),
        (None, FilterEnsembleFeatures(), FeatureTable(("a",)), "there are none"),
        (lambda trial: None, PACKED, TABLE, "must return a dict of parameter values, got None"),
        (
            lambda trial: {"svc__c": trial.suggest_float("c", 0, 1)},
            PACKED,
            TABLE,
            "do not fit: Invalid parameter 'c'",
        ),
    ],
)
def test_bad_spaces_are_refused(space, features, table, message):
    with pytest.raises(ValueError, match=message):
        check_space(space, features, table)


@pytest.mark.parametrize(
    ("space", "features", "clash"),
    [
        ({"C": UNIT}, MaskFeatures(), "C"),
        (lambda trial: {"C": trial.suggest_float("C", 0, 1)}, MaskFeatures(), "C"),
        (lambda trial: {"C": trial.suggest_float("mask", 0, 1)}, PACKED, "mask"),
        (lambda trial: {"C": trial.suggest_float("fraction", 0, 1)}, FilterEnsembleFeatures(), ""),
    ],
)
def test_a_name_may_not_mean_two_things(space, features, clash):
    with pytest.raises(
        ValueError,
        match=f"{clash}.* is used for a hyperparameter and for",
    ):
        EstimatorSpace(SVC(), space).check(features, TABLE)
    # Another form, or no features, and there is no clash.
    EstimatorSpace(SVC(), space).check(None, TABLE)


def test_good_spaces_pass():
    check_space({"svc__C": UNIT}, PACKED, TABLE)
    check_space(None, PACKED, TABLE)
    check_space({"svc__C": UNIT}, None, TABLE)

    def swaps(trial):
        # The step is replaced first, then its parameter is set.
        return {"svc": LogisticRegression(), "svc__l1_ratio": trial.suggest_float("r", 0, 1)}

    check_space(swaps, PACKED, TABLE)

    def prunes(trial):
        raise optuna.TrialPruned

    check_space(prunes, PACKED, TABLE)

    def looks_at_the_study(trial):
        return {"svc__C": 1.0 + len(trial.study.trials)}

    check_space(looks_at_the_study, PACKED, TABLE)


def test_errors_of_the_function_itself_come_out():
    def broken(trial):
        raise KeyError("typo")

    with pytest.raises(KeyError, match="typo"):
        check_space(broken, PACKED, TABLE)


@pytest.mark.parametrize(
    ("measures", "classification", "message"),
    [
        ([], True, "measures is empty"),
        (["error", "error"], True, "different names"),
        ([lambda fold: 1, lambda fold: 2], True, "Measure"),
        (["error", "fnr"], False, r"\['fnr'\] need a classifier, got Ridge"),
    ],
)
def test_bad_measures_are_refused(measures, classification, message):
    with pytest.raises(ValueError, match=message):
        ObjectiveSettings(measures=measures).get_measures(SCORER, Ridge(), classification)


def test_own_measures_pass():
    own = Measure("own", fold=lambda fold: 1)
    for given, names in [
        (["error", own], ["error", "own"]),
        (own, ["own"]),
        ("error", ["error"]),
        (None, ["error", "fraction"]),
    ]:
        found = ObjectiveSettings(measures=given).get_measures(SCORER, Ridge(), False)
        assert [m.name for m in found] == names
    priced = ObjectiveSettings(feature_costs=[1, 2]).get_measures(SCORER, Ridge(), False)
    assert [m.name for m in priced] == ["error", "cost"]


def plain_score(estimator, X, y):
    return 0.5


def test_weights_that_nobody_takes_are_refused():
    check_weights(PIPE, check_scoring(PIPE))
    check_weights(Ridge(), get_scorer("r2"))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit does not accept it"):
        check_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()), get_scorer("r2"))
    with pytest.raises(ValueError, match="scoring 'max_error' does not accept it"):
        check_weights(Ridge(), get_scorer("neg_max_error"))
    with pytest.raises(ValueError, match="'plain_score'"):
        check_weights(Ridge(), plain_score)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"random_state": -1}, "random_state must be an integer of at least 0, got -1"),
        ({"random_state": None}, "random_state must be an integer of at least 0, got None"),
        ({"n_jobs": 0}, "n_jobs must be an integer other than 0, or None, got 0"),
        ({"n_jobs": 2.0}, "n_jobs must be an integer other than 0, or None, got 2.0"),
        ({"scoring": ["accuracy"]}, "scoring must be one scorer or its name"),
        ({"redraw_folds": True, "cv": [([0], [1])]}, "redraw_folds needs cv to be a number"),
    ],
)
def test_bad_settings_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        ObjectiveSettings(**options)


def test_integers_of_numpy_become_plain_integers():
    found = ObjectiveSettings(random_state=np.int64(3), n_jobs=np.int64(2))
    assert (type(found.random_state), found.random_state) == (int, 3)
    assert (type(found.n_jobs), found.n_jobs) == (int, 2)


def test_settings_are_collected_from_the_arguments_of_a_constructor():
    found = ObjectiveSettings.collect({"self": None, "cv": 7, "X": 1, "scoring": "r2"})
    assert (found.cv, found.scoring, found.representation) == (7, "r2", "mask")


def test_every_setting_is_an_argument_of_both_objectives():
    names = {field.name for field in fields(ObjectiveSettings)}
    for kind, rest in [
        (FeatureSelectionObjective, set()),
        (ModelTypeObjective, {"redraw_folds"}),
    ]:
        parameters = inspect.signature(kind).parameters
        assert names - set(parameters) == rest


def test_parameters_of_learners_may_not_be_named_like_features():
    def space(trial):
        return {"C": trial.suggest_float("a", 0, 1)}

    for learners, name in [
        ({"svm": (SVC(), space)}, "'a'"),
        ({"svm": (SVC(), {"C": UNIT})}, "'svm__C'"),
    ]:
        table = FeatureTable(("a", "svm__C"))
        with pytest.raises(ValueError, match=f"The name {name} is used for a hyperparameter"):
            EstimatorChoice(learners).check(MaskFeatures(), table)
