from __future__ import annotations

import optuna
import pytest
from optuna.distributions import FloatDistribution
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs.features import FeatureTable, FilterEnsembleFeatures, MaskFeatures
from optuna_mofs.measures import Measure, get_measure
from optuna_mofs.objectives._estimator_space import check_space
from optuna_mofs.objectives._settings import check_measures, check_weights

TABLE = FeatureTable(("a", "C", "b"), filters=("auc",))
PIPE = make_pipeline(StandardScaler(), SVC())
UNIT = FloatDistribution(0, 1)
PACKED = MaskFeatures(form="packed")


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
        (lambda trial: None, PACKED, TABLE, "must return a dict of parameter values, .* None"),
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
        check_space(PIPE, space, features, table)


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
    with pytest.raises(ValueError, match=f"{clash}.* names a hyperparameter and a suggestion"):
        check_space(SVC(), space, features, TABLE)
    # Another form, or no features, and there is no clash.
    check_space(SVC(), space, None, TABLE)


def test_good_spaces_pass():
    check_space(PIPE, {"svc__C": UNIT}, PACKED, TABLE)
    check_space(PIPE, None, PACKED, TABLE)
    check_space(PIPE, {"svc__C": UNIT}, None, TABLE)

    def swaps(trial):
        # The step is replaced first, then its parameter is set.
        return {"svc": LogisticRegression(), "svc__l1_ratio": trial.suggest_float("r", 0, 1)}

    check_space(PIPE, swaps, PACKED, TABLE)

    def prunes(trial):
        raise optuna.TrialPruned

    check_space(PIPE, prunes, PACKED, TABLE)

    def looks_at_the_study(trial):
        return {"svc__C": 1.0 + len(trial.study.trials)}

    check_space(PIPE, looks_at_the_study, PACKED, TABLE)


def test_errors_of_the_function_itself_come_out():
    def broken(trial):
        raise KeyError("typo")

    with pytest.raises(KeyError, match="typo"):
        check_space(PIPE, broken, PACKED, TABLE)


@pytest.mark.parametrize(
    ("measures", "classification", "message"),
    [
        ([], True, "measures is empty"),
        (["error", "error"], True, "different names"),
        ([lambda fold: 1, lambda fold: 2], True, "Measure"),
        (["error", "fnr"], False, r"\['fnr'\] need a classifier, but the estimator is Ridge"),
    ],
)
def test_bad_measures_are_refused(measures, classification, message):
    with pytest.raises(ValueError, match=message):
        check_measures([get_measure(m) for m in measures], Ridge(), classification)


def test_own_measures_pass():
    check_measures([get_measure("error"), Measure("own", fold=lambda fold: 1)], Ridge(), False)


def plain_score(estimator, X, y):
    return 0.5


def test_weights_that_nobody_takes_are_refused():
    check_weights(PIPE, check_scoring(PIPE))
    check_weights(Ridge(), get_scorer("r2"))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit does not take it"):
        check_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()), get_scorer("r2"))
    with pytest.raises(ValueError, match="scoring 'max_error' does not take it"):
        check_weights(Ridge(), get_scorer("neg_max_error"))
    with pytest.raises(ValueError, match="'plain_score'"):
        check_weights(Ridge(), plain_score)
