"""What refit can be, and the score to expect of the chosen trial."""

from __future__ import annotations

import copy

import numpy as np
import polars as pl
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline

from optuna_mofs import LexicographicPreference
from optuna_mofs.model_selection._choice import choose
from tests.model_selection.searches import quick_search


def chosen(search, refit):
    return copy.copy(search).select(refit=refit)


def fewest_within_one_standard_deviation(cv_results):
    """Choose as scikit-learn's example of a refit function does: by columns of cv_results_."""
    scores, spread = cv_results["mean_test_score"], cv_results["std_test_score"]
    best = int(np.argmax(scores))
    candidates = np.flatnonzero(scores >= scores[best] - spread[best])
    return candidates[cv_results["param_var_smoothing"][candidates].argmin()]


@pytest.mark.parametrize(
    ("refit", "rule"),
    [
        (True, "pick"),
        (False, "pick"),
        ("best", "best"),
        ("knee", "knee"),
        ("one_standard_error", "one_standard_error"),
    ],
)
def test_rules_are_those_of_the_front(fitted, refit, rule):
    search = chosen(fitted, refit)
    assert search.best_trial_ == getattr(fitted.front_, rule)()
    estimate = fitted.front_.honest().picks[rule]
    found = search.honest_score_
    assert (found.value, found.low, found.high) == pytest.approx(
        (1 - estimate.value, 1 - estimate.high, 1 - estimate.low)
    )


def test_a_measure_chooses_its_best_trial(fitted):
    assert chosen(fitted, "fraction").n_features_ == 0
    assert chosen(fitted, "error").best_trial_ == fitted.front_.best()
    assert chosen(fitted, "score").best_trial_ == fitted.front_.best()


def test_a_preference_chooses_by_its_order(fitted):
    preference = LexicographicPreference(goals={"error": 0.1})
    search = chosen(fitted, preference)
    assert search.best_trial_ == preference.best(fitted.study_)
    assert search.best_trial_.values[0] <= 0.1


def test_a_function_chooses_a_row(fitted):
    search = chosen(fitted, fewest_within_one_standard_deviation)
    assert search.best_index_ == fewest_within_one_standard_deviation(fitted.cv_results_)
    assert search.best_trial_.number == fitted.cv_results_["number"][search.best_index_]
    assert search.best_params_ == fitted.cv_results_["params"][search.best_index_]
    assert search.predict(np.zeros((1, 13))).shape == (1,)


def test_failed_trials_do_not_disturb_a_function(wine):
    # Trials with fewer features than components fail; NaN would be the largest score.
    def fewest_components(cv_results):
        best = np.argmax(cv_results["mean_test_score"])
        limit = cv_results["mean_test_score"][best] - cv_results["std_test_score"][best]
        rows = np.flatnonzero(cv_results["mean_test_score"] >= limit)
        return rows[cv_results["param_pca__n_components"][rows].argmin()]

    search = quick_search(
        estimator=make_pipeline(PCA(), GaussianNB()),
        param_distributions={"pca__n_components": [2, 4, 6]},
        n_trials=25,
        refit=fewest_components,
    )
    with pytest.warns(FitFailedWarning, match="trials failed. The last error was: ValueError"):
        search.fit(*wine)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert len(search.cv_results_["params"]) < len(search.trials_) == 25
    assert search.best_estimator_.predict(wine[0]).shape == (178,)


def test_results_fit_into_a_table_as_those_of_scikit_learn(wine):
    search = quick_search(
        estimator=make_pipeline(PCA(), GaussianNB()),
        param_distributions={"pca__n_components": [1, 2]},
        cv=ShuffleSplit(n_splits=4, random_state=0),
        refit=lambda results: int(np.argmin(results["rank_test_score"])),
        scoring="accuracy",
        min_features=2,
        return_train_score=True,
    ).fit(*wine)
    results = search.cv_results_
    columns = ["mean_test_score", "std_test_score", "mean_train_score", "std_train_score"]
    columns += ["mean_fit_time", "rank_test_score", "param_pca__n_components"]
    table = pl.DataFrame({name: results[name] for name in columns}).sort("mean_test_score")
    assert set(table["param_pca__n_components"]) == {1, 2}
    assert table["mean_fit_time"].min() > 0
    assert table["rank_test_score"][-1] == 1
    assert sum(k.startswith("split") and k.endswith("test_score") for k in results) == 4
    components = results["param_pca__n_components"][search.best_index_]
    assert search.best_params_ == {"pca__n_components": components}


@pytest.mark.parametrize(
    ("refit", "error", "message"),
    [
        (lambda results: 0.5, TypeError, "must return an integer"),
        (lambda results: 25, IndexError, "returned 25, but there are 25 rows"),
        (lambda results: -1, IndexError, "returned -1"),
        ("errors", ValueError, "Did you mean 'error'"),
        (3.5, ValueError, "refit must be False, True"),
        (None, ValueError, "refit must be False, True"),
    ],
)
def test_bad_choices_are_refused(fitted, refit, error, message):
    with pytest.raises(error, match=message):
        chosen(fitted, refit)


@pytest.mark.parametrize("refit", ["errors", None, LexicographicPreference(["size"])])
def test_a_bad_choice_is_refused_before_the_search(wine, refit):
    def fail(study, trial):
        raise AssertionError("The search has begun.")

    search = quick_search(refit=refit, callbacks=[fail])
    with pytest.raises(ValueError, match=r"refit must be|size"):
        search.fit(*wine)


def test_a_trial_can_be_chosen(fitted):
    trial = fitted.front_.best(max_features=2)
    search = chosen(fitted, trial)
    assert search.n_features_ <= 2
    member = [t.number for t in fitted.front_].index(trial.number)
    expected = fitted.front_.honest().members[member]
    assert search.honest_score_.value == pytest.approx(1 - expected.value)


def test_a_trial_behind_the_front_has_no_honest_score(fitted):
    row = int(np.flatnonzero(~fitted.cv_results_["on_front"])[0])
    search = chosen(fitted, lambda results: row)
    assert np.isnan(search.honest_score_.value)
    assert np.isfinite(search.best_score_)


def test_scorers_choose_by_name(wine):
    search = quick_search(scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss").fit(*wine)
    losses = search.cv_results_["mean_test_neg_log_loss"]
    assert search.best_score_ == losses[search.cv_results_["on_front"]].max()
    assert search.best_index_ == int(np.argmax(losses))
    # Honest values are those of the first scorer.
    assert np.isnan(search.honest_score_.value)
    assert np.isfinite(search.select(refit="accuracy").honest_score_.value)


def test_choose_returns_the_scorer_that_matters(fitted):
    choice = choose(
        "error",
        fitted.front_,
        trials=fitted.trials_,
        results=fitted.cv_results_,
        scored=fitted._scored,
    )
    assert (choice.scorer, choice.trial) == ("score", fitted.front_.best())
