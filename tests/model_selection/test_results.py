"""cv_results_: the columns of scikit-learn's searches, and those of a front."""

from __future__ import annotations

import time

import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.trial import TrialState
from sklearn.exceptions import FitFailedWarning
from sklearn.linear_model import Ridge
from sklearn.metrics import get_scorer
from sklearn.model_selection import RandomizedSearchCV, cross_val_score
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import MaskFeatures
from optuna_mofs.model_selection._results import ScoredMeasures, reported_trials
from tests.model_selection.searches import SPACE, quick_search


def test_columns_are_those_of_scikit_learn_and_more(fitted, wine):
    X, y = wine
    other = RandomizedSearchCV(GaussianNB(), SPACE, n_iter=2, cv=3, random_state=0).fit(X, y)
    own = {"n_features", "support", "on_front", "number", "error", "fraction"}
    assert set(fitted.cv_results_) == set(other.cv_results_) | own
    frame = pd.DataFrame(fitted.cv_results_)
    assert len(frame) == 25
    assert frame["number"].tolist() == list(range(25))


def test_scores_are_those_of_the_models(wine):
    X, y = wine
    search = quick_search(representation=MaskFeatures(), holdout=False, return_train_score=True)
    search.fit(X, y)
    results, splits = search.cv_results_, search.objective_.evaluator.splits
    row = int(np.argmax(results["n_features"]))
    columns = X.columns[results["support"][row]]
    model = GaussianNB(**results["params"][row])
    scores = cross_val_score(model, X[columns], y, cv=splits)
    found = [results[f"split{k}_test_score"][row] for k in range(3)]
    np.testing.assert_allclose(found, scores)
    np.testing.assert_allclose(results["mean_test_score"][row], scores.mean())
    np.testing.assert_allclose(results["std_test_score"][row], scores.std())
    train = [model.fit(X.loc[r, columns], y[r]).score(X.loc[r, columns], y[r]) for r, _ in splits]
    np.testing.assert_allclose(results["mean_train_score"][row], np.mean(train))


def test_times_are_those_of_the_folds(wine):
    class Slow(GaussianNB):
        def fit(self, X, y):
            end = time.thread_time() + 0.02
            while time.thread_time() < end:
                pass
            return super().fit(X, y)

    results = quick_search(estimator=Slow(), n_trials=4, min_features=1).fit(*wine).cv_results_
    assert (results["mean_fit_time"] >= 0.02).all()
    assert (results["std_fit_time"] < results["mean_fit_time"]).all()
    assert (results["mean_score_time"] > 0).all()
    assert (results["mean_score_time"] < 0.02).all()
    assert (results["std_score_time"] >= 0).all()
    failed = quick_search(estimator=Slow(), param_distributions={"var_smoothing": [1e-9, -1.0]})
    with pytest.warns(FitFailedWarning):
        failed.set_params(error_score=0.0, min_features=1).fit(*wine)
    has_failed = failed.cv_results_["param_var_smoothing"] == -1.0
    assert np.isnan(failed.cv_results_["mean_fit_time"][has_failed]).all()
    assert not np.isnan(failed.cv_results_["mean_fit_time"][~has_failed]).any()


def test_ranks_put_the_highest_score_first(fitted):
    scores, ranks = (fitted.cv_results_[f"{k}_test_score"] for k in ("mean", "rank"))
    assert ranks[scores.argmax()] == 1
    assert (np.diff(scores[np.argsort(ranks, kind="stable")]) <= 0).all()


def test_the_front_is_marked(fitted):
    members = fitted.cv_results_["number"][fitted.cv_results_["on_front"]]
    assert sorted(members) == sorted(trial.number for trial in fitted.front_)


def test_losses_have_the_sign_of_their_scorer():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 5))
    search = quick_search(scoring="neg_mean_squared_error", param_distributions=None)
    search.set_params(estimator=Ridge(), filters=["pearson"]).fit(X, X[:, 0])
    assert (search.cv_results_["mean_test_score"] <= 0).all()
    assert search.cv_results_["error"] == pytest.approx(-search.cv_results_["mean_test_score"])
    assert search.best_score_ <= 0
    assert search.honest_score_.low <= search.honest_score_.value <= search.honest_score_.high <= 0


def test_several_scorers_have_columns_of_their_own(wine):
    search = quick_search(scoring={"hits": "accuracy", "auc": "roc_auc_ovr"}).fit(*wine)
    results = search.cv_results_
    for name in ("hits", "auc"):
        assert results[f"error_{name}"] == pytest.approx(1 - results[f"mean_test_{name}"])
        assert results[f"rank_test_{name}"].min() == 1
    assert search.study_.metric_names == ["error_hits", "error_auc", "fraction"]


def test_errors_that_are_not_optimized_are_recorded(wine):
    search = quick_search(measures=["fnr", "n_features"]).fit(*wine)
    assert search.study_.metric_names == ["fnr", "n_features"]
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert search.best_score_ == search.cv_results_["mean_test_score"][search.best_index_]


def test_parameters_that_a_trial_lacks_are_masked(wine):
    spaces = [{"var_smoothing": [1e-9, 1e-3]}, {"priors": [None, (0.2, 0.3, 0.5)]}]
    results = quick_search(param_distributions=spaces, n_trials=12).fit(*wine).cv_results_
    smoothing, priors = results["param_var_smoothing"], results["param_priors"]
    assert (smoothing.mask != priors.mask).all()
    assert smoothing.dtype == float
    assert set(priors.compressed()) == {None, (0.2, 0.3, 0.5)}
    for row, params in enumerate(results["params"]):
        assert ("priors" in params) == (not priors.mask[row])


def test_measures_of_scorers():
    scored = ScoredMeasures({"auc": get_scorer("roc_auc")}, train=True)
    expanded = scored.expand(["error", "fraction"])
    assert [getattr(m, "name", m) for m in expanded] == ["error_auc", "fraction"]
    recorded = [getattr(m, "name", m) for m in scored.recorded(expanded)]
    assert recorded == ["training_error_auc", "fit_time", "score_time"]
    assert scored.of_measure("error_auc") == "auc"
    assert scored.of_measure("fraction") is None
    # A single scorer is the objective's own.
    assert ScoredMeasures({"score": get_scorer("roc_auc")}).expand(["error"]) == ["error"]


def test_failed_trials_are_reported_if_they_have_a_score():
    trials = [
        optuna.trial.create_trial(values=[0.0]),
        optuna.trial.create_trial(state=TrialState.FAIL, user_attrs={"failure_reason": "x"}),
        optuna.trial.create_trial(state=TrialState.FAIL),
        optuna.trial.create_trial(state=TrialState.RUNNING),
    ]
    assert reported_trials(trials, np.nan) == trials[:1]
    assert reported_trials(trials, "raise") == trials[:1]
    assert reported_trials(trials, 0.0) == trials[:2]
