"""From trials to models."""

from __future__ import annotations

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import FloatDistribution
from optuna.samplers import RandomSampler
from optuna.trial import create_trial
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    MaskFeatures,
    enqueue_features,
    generalisation,
    pareto_front,
    selected_mask,
)
from optuna_mofs.filters import FilterEnsemble

X, Y = load_wine(return_X_y=True)
FRAME = pd.DataFrame(X, columns=[f"w{j}" for j in range(13)])
SPACE = {"svc__C": FloatDistribution(0.1, 10, log=True)}
ODD = np.arange(len(Y)) % 2 == 1


def objective(X=X, y=Y, features="mask", **options):
    options = {"filters": ["anova_f"], "mean_size": 4, "cv": 3, **options}
    return FeatureSelectionObjective(
        make_pipeline(StandardScaler(), SVC()), X, y, space=SPACE, features=features, **options
    )


def run(objective, trials=5):
    study = objective.create_study(sampler=RandomSampler(seed=3))
    study.optimize(objective, n_trials=trials)
    return study


@pytest.mark.parametrize("data", [X, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize(
    "features", [MaskFeatures(form="bits"), MaskFeatures(form="packed"), "filter_ensemble"]
)
def test_refit_takes_the_full_data_and_equals_a_pipeline_made_by_hand(data, features):
    found = objective(data[ODD], Y[ODD], features)
    study = run(found)
    for trial in study.trials:
        columns = np.flatnonzero(selected_mask(study, trial))
        model = found.refit(trial)
        if len(columns) == 0:
            continue
        by_hand = make_pipeline(StandardScaler(), SVC(C=trial.params["svc__C"], random_state=0))
        by_hand.fit(X[ODD][:, columns], Y[ODD])
        rest = data[~ODD]
        np.testing.assert_array_equal(model.predict(rest), by_hand.predict(X[~ODD][:, columns]))
        assert model.n_features_in_ == 13
        assert list(model[:-1].get_feature_names_out()) == [
            (f"w{j}" if hasattr(data, "iloc") else f"x{j}") for j in columns
        ]


def test_the_estimator_of_a_trial_is_not_fitted():
    found = objective()
    trial = run(found, 1).trials[0]
    model = found.estimator_for(trial)
    assert isinstance(model, Pipeline)
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert model.named_steps["estimator"].get_params()["svc__C"] == trial.params["svc__C"]
    assert found.params_for(trial) == {"svc__C": trial.params["svc__C"]}
    model.fit(X, Y)
    assert model.predict(X).shape == Y.shape


def test_the_chosen_columns_are_enough_for_the_model():
    found = objective(FRAME)
    study = run(found, 1)
    enqueue_features(study, ["w1", "w6", "w9"])
    study.optimize(found, n_trials=1)
    model = found.refit(study.trials[-1])
    expected = model.predict(FRAME)
    for frame in (FRAME[["w1", "w6", "w9"]], FRAME[FRAME.columns[::-1]], FRAME.assign(id=0)):
        np.testing.assert_array_equal(model.predict(frame), expected)
    with pytest.raises(ValueError, match="lacks 1 of the 3 columns of the model: 'w6'"):
        model.predict(FRAME[["w1", "w9"]])
    with pytest.raises(ValueError, match="X has 3 features, but ColumnSelector is expecting 13"):
        model.predict(FRAME[["w1", "w6", "w9"]].to_numpy())


@pytest.mark.parametrize(
    "features", [MaskFeatures(form="bits"), MaskFeatures(form="packed"), FilterEnsembleFeatures()]
)
def test_reopened_studies_do_not_wait_for_filters(features, monkeypatch, tmp_path, open_sqlite):
    storage = open_sqlite(tmp_path / "a.db")
    first = objective(features=features)
    study = optuna.create_study(
        directions=first.directions, storage=storage, study_name="a", sampler=RandomSampler(seed=0)
    )
    study.optimize(first, n_trials=2)
    expected = [first.mask_for(t).tolist() for t in study.trials]
    fits = []
    original = FilterEnsemble.fit
    monkeypatch.setattr(
        FilterEnsemble, "fit", lambda self, *a, **k: (fits.append(1), original(self, *a, **k))[1]
    )
    second = objective(features=features)
    again = optuna.load_study(study_name="a", storage=storage)
    second.attach(again)
    assert [second.mask_for(t).tolist() for t in again.trials] == expected
    second.refit(again.trials[0])
    assert fits == []


def test_a_trial_added_by_hand_means_what_the_study_says():
    found = objective(features=MaskFeatures(form="packed"))
    study = run(found, 1)
    study.add_trial(
        create_trial(
            params={"mask": 77, "svc__C": 1.0},
            distributions=study.trials[0].distributions,
            values=[0.5, 0.5],
        )
    )
    trial = study.trials[-1]
    np.testing.assert_array_equal(found.mask_for(trial), selected_mask(study, trial))


@pytest.mark.parametrize("wrong", [3, None, "best"])
def test_only_a_trial_can_be_fitted(wrong):
    with pytest.raises(TypeError, match=f"A trial is needed.*{type(wrong).__name__}"):
        objective().refit(wrong)


def test_trials_of_other_studies_are_refused():
    found = objective()
    other = optuna.create_study()
    other.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=1)
    with pytest.raises(ValueError, match=r"Trial 0 says nothing of its features: .*\['a'\]"):
        found.mask_for(other.trials[0])
    with pytest.raises(ValueError, match="Trial 0 has no parameter 'svc__C'"):
        found.params_for(other.trials[0])
    with pytest.raises(ValueError, match="says nothing of its features"):
        found.refit(other.trials[0])


@pytest.mark.parametrize("data", [X, FRAME], ids=["array", "frame"])
def test_values_on_new_data(data):
    found = objective(data[ODD], Y[ODD], measures=["error", "fraction", "fnr"])
    study = run(found)
    for trial in study.trials:
        model = found.refit(trial)
        error, fraction, fnr = found.test_values(model, trial, data[~ODD], Y[~ODD].tolist())
        assert error == pytest.approx(1 - model.score(data[~ODD], Y[~ODD]))
        assert fraction == trial.values[1]
        said = model.predict(data[~ODD])
        assert fnr == pytest.approx(np.mean([np.mean(said[Y[~ODD] == k] != k) for k in range(3)]))
    # One class is enough for a test.
    ones = ~ODD & (Y == 1)
    found.test_values(model, trial, data[ones], Y[ones])
    outcome = generalisation(study, found, data[~ODD], Y[~ODD])
    assert len(outcome.frame) == len(pareto_front(study))


def test_test_frames_need_the_chosen_columns():
    found = objective(FRAME)
    trial = run(found, 1).trials[0]
    model = found.refit(trial)
    chosen = found.features_for(trial)
    values = found.test_values(model, trial, FRAME[chosen], Y)
    assert values == found.test_values(model, trial, FRAME, Y)
    with pytest.raises(ValueError, match="lacks 1 of the"):
        found.test_values(model, trial, FRAME.drop(columns=chosen[0]), Y)
    with pytest.raises(ValueError, match="X has 178 rows but y has 3"):
        found.test_values(model, trial, FRAME, Y[:3])
