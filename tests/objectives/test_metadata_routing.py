"""Sample weights and groups by scikit-learn's metadata routing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest
import sklearn
from optuna.samplers import RandomSampler
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from optuna_mofs import FeatureSelectionObjective

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
Y = (X[:, 0] > 0).astype(int)
WEIGHT = RNG.integers(1, 5, 60).astype(float)
GROUPS = np.arange(60) // 5


class Recorder(ClassifierMixin, BaseEstimator):
    """Records the metadata of every fit, over all copies."""

    seen: ClassVar[list[dict[str, Any]]] = []

    def fit(self, X, y, sample_weight=None, groups=None):
        Recorder.seen.append({"weight": sample_weight, "groups": groups, "n": len(y)})
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


@pytest.fixture(autouse=True)
def routing():
    Recorder.seen.clear()
    with sklearn.config_context(enable_metadata_routing=True):
        yield


def run(estimator, **options):
    objective = FeatureSelectionObjective(
        estimator, X, Y, filters=[], cv=3, groups=GROUPS, holdout=None, **options
    )
    study = objective.create_study(sampler=RandomSampler(seed=1))
    study.optimize(objective, n_trials=3)
    assert all(trial.values for trial in study.trials)
    return objective, study


def test_estimators_get_what_they_request():
    model = Recorder().set_fit_request(sample_weight=True, groups=True)
    scoring = make_scorer(accuracy_score).set_score_request(sample_weight=True)
    objective, study = run(
        make_pipeline(StandardScaler().set_fit_request(sample_weight=False), model),
        sample_weight=WEIGHT,
        scoring=scoring,
    )
    assert Recorder.seen
    for fit in Recorder.seen:
        assert len(fit["weight"]) == len(fit["groups"]) == fit["n"]
    objective.refit(study.trials[0])
    assert Recorder.seen[-1]["n"] == 60
    assert (Recorder.seen[-1]["weight"] == WEIGHT).all()


def test_what_is_not_requested_is_not_passed():
    model = Recorder().set_fit_request(sample_weight=False)
    scoring = make_scorer(accuracy_score).set_score_request(sample_weight=False)
    run(model, sample_weight=WEIGHT, scoring=scoring)
    assert all(fit["weight"] is None and fit["groups"] is None for fit in Recorder.seen)


def test_scorers_get_what_they_request():
    seen = []

    def metric(y, predicted, sample_weight=None, groups=None):
        seen.append((sample_weight, groups))
        return accuracy_score(y, predicted, sample_weight=sample_weight)

    scoring = make_scorer(metric).set_score_request(sample_weight=True, groups=True)
    run(Recorder().set_fit_request(sample_weight=True), sample_weight=WEIGHT, scoring=scoring)
    assert seen
    assert all(len(weight) == len(groups) == 20 for weight, groups in seen)


def test_a_search_inside_gets_the_groups():
    inner = GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=GroupKFold(2))
    _, study = run(inner)
    assert all(trial.values[0] <= 0.6 for trial in study.trials)


def test_undecided_requests_are_refused_before_any_trial():
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        run(LogisticRegression(), sample_weight=WEIGHT)


@pytest.mark.parametrize("requested", [False, True])
def test_a_step_for_which_weights_are_neither_requested_nor_refused_is_an_error(requested):
    model = LogisticRegression()
    if requested:
        model.set_fit_request(sample_weight=True)
    pipeline = make_pipeline(StandardScaler(), model)
    with pytest.raises(UnsetMetadataPassedError, match="StandardScaler"):
        FeatureSelectionObjective(pipeline, X, Y, sample_weight=WEIGHT)
    pipeline[0].set_fit_request(sample_weight=False)
    pipeline[1].set_fit_request(sample_weight=True)
    scorer = make_scorer(accuracy_score).set_score_request(sample_weight=False)
    FeatureSelectionObjective(pipeline, X, Y, scoring=scorer, sample_weight=WEIGHT)
