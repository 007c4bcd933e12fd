from __future__ import annotations

import inspect
from dataclasses import fields

import numpy as np
import pytest
from sklearn.linear_model import Ridge
from sklearn.metrics import check_scoring, get_scorer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import FeatureSelectionObjective, ModelTypeObjective
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.measures import Measure
from optuna_mofs.objectives._settings import ObjectiveSettings, check_weights

PIPE = make_pipeline(StandardScaler(), SVC())
SCORER = get_scorer("r2")


def rows(classification: bool) -> Dataset:
    return Dataset(np.eye(4), np.array([0, 1, 0, 1]), classification=classification)


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
        ObjectiveSettings(measures=measures).get_measures(SCORER, [Ridge()], rows(classification))


def test_measures_of_all_kinds_are_accepted():
    own = Measure("own", fold=lambda fold: 1)
    for given, names in [
        (["error", own], ["error", "own"]),
        (own, ["own"]),
        ("error", ["error"]),
        (None, ["error", "fraction"]),
    ]:
        found = ObjectiveSettings(measures=given).get_measures(SCORER, [Ridge()], rows(False))
        assert [m.name for m in found] == names
    priced = ObjectiveSettings(feature_costs=[1, 2]).get_measures(SCORER, [Ridge()], rows(False))
    assert [m.name for m in priced] == ["error", "cost"]


def plain_score(estimator, X, y):
    return 0.5


def test_weights_that_are_not_accepted_are_refused():
    check_weights(PIPE, check_scoring(PIPE))
    check_weights(Ridge(), get_scorer("r2"))
    with pytest.raises(ValueError, match=r"KNeighborsClassifier.fit does not accept it"):
        check_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()), get_scorer("r2"))
    with pytest.raises(ValueError, match="scoring 'max_error' does not accept it"):
        check_weights(Ridge(), get_scorer("neg_max_error"))
    with pytest.raises(ValueError, match="'plain_score'"):
        check_weights(Ridge(), plain_score)
    # Weights that do not count in scores need no scorer that accepts them.
    check_weights(Ridge(), None)
    settings = ObjectiveSettings(
        scoring=plain_score, sample_weight=[1.0, 2.0], weighted_scoring=False
    )
    assert settings.get_scorer([Ridge()]) is plain_score


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
    assert (found.cv, found.scoring, found.representation) == (7, "r2", "auto")


def test_every_setting_is_an_argument_of_both_objectives():
    names = {field.name for field in fields(ObjectiveSettings)}
    for kind, rest in [
        (FeatureSelectionObjective, set()),
        (ModelTypeObjective, {"redraw_folds"}),
    ]:
        parameters = inspect.signature(kind).parameters
        assert names - set(parameters) == rest
