"""Fronts of studies of this package's own objective."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from sklearn.datasets import load_wine
from sklearn.metrics import accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, MaskFeatures, fold_scores, selected_mask
from optuna_mofs.fronts import generalization, hypervolume, hypervolume_history, pareto_front

SPACE = {"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)}


HONEST = ("honest", "honest_low", "honest_high")


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True, as_frame=True)
    return train_test_split(X, y, random_state=0, stratify=y)


def run(wine, features, n_trials=12):
    X, _, y, _ = wine
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space=SPACE,
        representation=features,
        cv=3,
        filters=["anova_f"],
        expected_n_features=4,
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=1))
    study.optimize(objective, n_trials=n_trials)
    return objective, study


@pytest.fixture(scope="module", params=["bits", "packed"])
def searched(request, wine):
    return run(wine, MaskFeatures(form=request.param))


def test_table_hides_the_mask_and_shows_the_features(searched):
    _, study = searched
    front = pareto_front(study)
    frame = front.to_frame()
    expected = ["error", "fraction", *HONEST, "n_features", "features", "var_smoothing"]
    assert list(frame.columns) == expected
    for trial in front:
        mask = selected_mask(study, trial)
        assert frame.loc[trial.number, "n_features"] == mask.sum()
        assert frame.loc[trial.number, "fraction"] == pytest.approx(mask.mean())


def test_filter_representations_show_their_parameters(wine):
    _, study = run(wine, "filter_ensemble", n_trials=3)
    frame = pareto_front(study).to_frame()
    shown = {"error", "fraction", *HONEST, "n_features", "features"}
    # The measure "fraction" takes precedence over the parameter of that name.
    params = {"params_fraction" if n == "fraction" else n for n in study.trials[0].params}
    assert "params_fraction" in params
    assert set(frame.columns) == shown | params


def test_the_constant_model_is_the_reference(searched):
    _, study = searched
    front = pareto_front(study)
    constant = front.baselines.constant[0]
    assert 0.55 < constant < 0.65  # the largest of three classes
    assert front.hypervolume() == pytest.approx(hypervolume(front.values, [constant, 1.0]))
    assert hypervolume_history(study).iloc[-1] == pytest.approx(front.hypervolume())


def test_one_standard_error_from_stored_fold_scores(searched):
    _, study = searched
    front = pareto_front(study)
    best = front.best()
    folds = fold_scores(best)["error"]
    spread = np.std(folds, ddof=1) / np.sqrt(len(folds))
    limit = best.values[0] + max(spread, 0.02 * front.baselines.constant[0])
    allowed = [t for t in front if t.values[0] <= limit]
    fewest = min(t.user_attrs["n_features"] for t in allowed)
    assert front.one_standard_error().user_attrs["n_features"] == fewest


def test_best_with_few_features(searched):
    _, study = searched
    front = pareto_front(study)
    cap = int(front.to_frame()["n_features"].min())
    assert front.best(max_features=cap).user_attrs["n_features"] == cap


def test_generalization_is_that_of_the_refitted_models(searched, wine):
    objective, study = searched
    _, X_test, _, y_test = wine
    outcome = generalization(study, objective, X_test, y_test)
    constant = outcome.front.baselines.constant[0]
    assert outcome.reference == {"error": constant, "fraction": 1.0}
    for trial in outcome.front:
        predicted = objective.refit(trial).predict(X_test)
        row = outcome.frame.loc[trial.number]
        assert row["error_test"] == pytest.approx(1 - accuracy_score(y_test, predicted))
        assert row["fraction_test"] == row["fraction"] == trial.values[1]
    tested = outcome.frame[["error_test", "fraction_test"]].to_numpy()
    assert outcome.hypervolume == pytest.approx(hypervolume(tested, [constant, 1.0]))


def test_an_empty_front_has_its_columns(wine):
    X, _, y, _ = wine
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation="mask", cv=3, filters=["anova_f"], expected_n_features=4
    )
    frame = pareto_front(objective.create_study()).to_frame()
    assert frame[["error", "n_features", "features"]].shape == (0, 3)
