"""FeatureSelectionSearchCV: the study behind fit, its arguments, its place in scikit-learn."""

from __future__ import annotations

import copy
import logging
import pickle
import warnings

import joblib
import numpy as np
import optuna
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import FitFailedWarning
from sklearn.feature_selection import SelectorMixin
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    cross_val_predict,
    cross_validate,
)
from sklearn.model_selection._search import BaseSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from optuna_mofs import (
    AllTrialsFailedError,
    FeatureSelectionObjective,
    FeatureSelectionSearchCV,
    FilterEnsembleNSGA2Sampler,
    ParEGOSampler,
    ResampledFronts,
    StagnationCallback,
    pareto_front,
    spaces,
)
from tests.model_selection.searches import SPACE, quick_search
from tests.objectives.learners import Breaking


def values_of(search):
    return [trial.values for trial in search.trials_]


# ---- the study ----------------------------------------------------------------------------------


def test_the_search_is_that_of_the_study_level_api(fitted, wine):
    objective = FeatureSelectionObjective(
        GaussianNB(), *wine, space=SPACE, cv=3, filters=["anova_f"], random_state=0
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=25)
    assert [t.values for t in study.trials] == values_of(fitted)
    front = pareto_front(study, duplicates=False)
    assert fitted.pareto_front_.equals(front.to_frame())
    assert fitted.best_trial_.number == front.pick().number
    model = objective.refit(front.pick())
    np.testing.assert_array_equal(model.predict(wine[0]), fitted.predict(wine[0]))


def test_attributes_describe_the_chosen_trial(fitted, wine):
    X, _ = wine
    assert fitted.support_.tolist() == fitted.objective_.mask_for(fitted.best_trial_).tolist()
    assert (
        fitted.n_features_ == fitted.support_.sum() == fitted.best_trial_.user_attrs["n_features"]
    )
    assert fitted.best_params_ == fitted.objective_.params_for(fitted.best_trial_)
    assert fitted.best_score_ == pytest.approx(1 - fitted.best_trial_.values[0])
    assert fitted.feature_names_in_.tolist() == X.columns.tolist()
    assert (fitted.n_features_in_, fitted.n_splits_, len(fitted.trials_)) == (13, 3, 25)
    assert fitted.refit_time_ > 0
    assert fitted.trials_ == fitted.study_.trials
    assert {"honest", "honest_low", "honest_high"} <= set(fitted.pareto_front_.columns)


def test_the_seed_decides(fitted, wine):
    again = quick_search(n_trials=25).fit(*wine)
    assert values_of(again) == values_of(fitted)
    other = quick_search(n_trials=25, random_state=np.random.RandomState(3)).fit(*wine)
    assert values_of(other) != values_of(fitted)


@pytest.mark.unseeded
def test_without_a_seed_searches_differ(wine):
    search = quick_search(random_state=None)
    assert values_of(search.fit(*wine)) != values_of(clone(search).fit(*wine))


def test_a_stored_study_is_continued(tmp_path, wine):
    options = {"storage": f"sqlite:///{tmp_path / 'a.db'}", "study_name": "wine"}
    first = quick_search(n_trials=5, random_state=None, **options).fit(*wine)
    longer = quick_search(n_trials=9, random_state=None, **options)
    assert len(longer.fit(*wine).trials_) == 9
    assert values_of(longer)[:5] == values_of(first)
    # It has all of its trials: nothing is searched again.
    assert len(longer.fit(*wine).trials_) == 9
    whole = quick_search(n_trials=9).fit(*wine)
    assert values_of(longer) == values_of(whole)
    with pytest.raises(ValueError, match="rows"):
        longer.fit(wine[0][:100], wine[1][:100])


def test_a_study_can_be_given(wine):
    study = optuna.create_study(directions=["minimize", "minimize"], sampler=ParEGOSampler(seed=1))
    search = quick_search(study=study).fit(*wine)
    assert search.study_ is study
    assert len(study.trials) == 8
    with pytest.raises(ValueError, match="study has its own sampler"):
        quick_search(study=study, sampler=ParEGOSampler(seed=1)).fit(*wine)


def test_samplers_are_copied(wine):
    sampler = optuna.samplers.RandomSampler(seed=4)
    search = quick_search(sampler=sampler)
    once = values_of(search.fit(*wine))
    assert search.sampler is sampler
    assert isinstance(search.study_.sampler, optuna.samplers.RandomSampler)
    assert values_of(search.fit(*wine)) == once


def test_callbacks_can_stop_the_search(wine):
    def stop(study, trial):
        if trial.number == 2:
            study.stop()

    assert len(quick_search(callbacks=[stop]).fit(*wine).trials_) == 3


def test_time_can_end_the_search(wine):
    with pytest.raises(ValueError, match="No trial was completed"):
        quick_search(n_trials=None, timeout=1e-9).fit(*wine)
    assert len(quick_search(n_trials=2, timeout=1e9).fit(*wine).trials_) == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be an integer"),
        ({"n_trials": None}, "both None"),
        ({"storage": "sqlite://"}, "storage needs a study_name"),
        ({"random_state": -1}, "random_state must be an integer"),
        ({"param_distributions": {"smoothing": [1, 2]}}, "not a parameter of GaussianNB"),
        ({"representation": "masks"}, "mask"),
    ],
)
def test_bad_arguments_are_refused(wine, options, message):
    with pytest.raises(ValueError, match=message):
        quick_search(**options).fit(*wine)


# ---- messages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("verbose", "bar", "lines"), [(0, 0, 0), (1, 1, 0), (2, 1, 3)])
def test_verbosity(wine, capsys, caplog, verbose, bar, lines):
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(logging.INFO)
    try:
        quick_search(n_trials=3, verbose=verbose).fit(*wine)
        assert optuna.logging.get_verbosity() == logging.INFO
    finally:
        optuna.logging.set_verbosity(before)
    assert ("100%" in capsys.readouterr().err) == bool(bar)
    assert caplog.text.count("finished with values") == lines


# ---- errors of the estimator --------------------------------------------------------------------


def test_failed_trials_are_left_out(wine):
    search = quick_search(estimator=Breaking(), param_distributions=None, n_trials=20)
    with pytest.warns(FitFailedWarning, match="of 20 trials failed"):
        search.fit(*wine)
    failed = [t for t in search.trials_ if t.state.name == "FAIL"]
    assert len(search.cv_results_["params"]) == 20 - len(failed) < 20
    with pytest.warns(FitFailedWarning):
        search.set_params(error_score=-1.0).fit(*wine)
    rows = np.isin(search.cv_results_["number"], [t.number for t in failed])
    assert len(rows) == 20
    assert (search.cv_results_["mean_test_score"][rows] == -1.0).all()
    assert (search.cv_results_["rank_test_score"][rows] > 1).all()
    assert np.isnan(search.cv_results_["error"][rows]).all()


def test_errors_can_be_raised(wine):
    search = quick_search(estimator=Breaking(), param_distributions=None, n_trials=20)
    with pytest.raises(RuntimeError, match="cannot take"):
        search.set_params(error_score="raise").fit(*wine)


def test_searches_without_any_model_say_so(wine):
    class Never(GaussianNB):
        def fit(self, X, y):
            raise RuntimeError("never")

    search = quick_search(estimator=Never(), param_distributions=None, n_trials=5)
    with pytest.raises(AllTrialsFailedError, match="RuntimeError: never"):
        search.fit(*wine)


# ---- the objective ------------------------------------------------------------------------------


def test_arguments_of_the_objective(wine):
    X, y = wine
    search = quick_search(
        fixed_features=["hue"],
        feature_costs={"alcohol": 5.0},
        feature_groups={"phenols": ["total_phenols", "flavanoids", "nonflavanoid_phenols"]},
        n_trials=12,
    ).fit(X, y)
    assert search.study_.metric_names == ["error", "cost"]
    hue = X.columns.get_loc("hue")
    phenols = [X.columns.get_loc(name) for name in search.feature_groups["phenols"]]
    for support in search.cv_results_["support"]:
        assert support[hue]
        assert len({bool(support[j]) for j in phenols}) == 1
    # A group is one feature of several columns.
    largest = int(search.cv_results_["n_features"].argmax())
    assert (
        search.cv_results_["support"][largest].sum() >= search.cv_results_["n_features"][largest]
    )


def test_tuning_without_selection(wine):
    search = quick_search(representation=None).fit(*wine)
    assert search.n_features_ == 13
    assert (search.cv_results_["n_features"] == 13).all()


@pytest.mark.parametrize(
    ("holdout", "n_rows"), [(None, 0), (False, 0), (0.25, 44), (np.arange(30), 30)]
)
def test_rows_can_be_held_out(wine, holdout, n_rows):
    search = quick_search(holdout=holdout).fit(*wine)
    held_out = search.objective_.holdout_rows
    assert (0 if held_out is None else len(held_out)) == n_rows


def test_masks_hold_rows_out_by_default(wine):
    search = quick_search(representation="mask").fit(*wine)
    assert len(search.objective_.holdout_rows) == 36
    assert np.isfinite(search.honest_score_.value)
    without = quick_search(representation="mask", holdout=False).fit(*wine)
    assert np.isnan(without.honest_score_.value)


def test_splitters(wine):
    search = quick_search(cv=StratifiedKFold(4, shuffle=True, random_state=1)).fit(*wine)
    assert search.n_splits_ == 4
    assert quick_search(cv=None, n_trials=2).fit(*wine).n_splits_ == 5


def test_folds_can_be_fitted_in_parallel(fitted, wine):
    with joblib.parallel_config(backend="threading"):
        search = quick_search(n_trials=3, n_jobs=2).fit(*wine)
    assert values_of(search) == values_of(fitted)[:3]


def test_learners_with_their_spaces(wine):
    estimator, space = spaces.get_learner("svm")
    search = quick_search(estimator=estimator, param_distributions=space, n_trials=3).fit(*wine)
    assert set(search.best_params_) == set(space)


def test_functions_of_the_trial_as_spaces(wine):
    def space(trial):
        return {"var_smoothing": 10.0 ** -trial.suggest_int("digits", 1, 9)}

    search = quick_search(param_distributions=space).fit(*wine)
    assert set(search.best_params_) == {"var_smoothing"}


def test_arrays_lists_and_sparse_matrices(fitted, wine):
    X, y = wine
    for table in (X.to_numpy(), X.to_numpy().tolist()):
        search = quick_search(n_trials=25).fit(table, y)
        assert values_of(search) == values_of(fitted)
        assert not hasattr(search, "feature_names_in_")
        assert search.get_feature_names_out().tolist() == [
            f"x{j}" for j in np.flatnonzero(fitted.support_)
        ]
    logistic = LogisticRegression(max_iter=20)
    search = quick_search(estimator=logistic, param_distributions=None, scoring="roc_auc_ovr")
    search.fit(sparse.csr_array(X.to_numpy()), y)
    assert sparse.issparse(search.transform(sparse.csr_array(X.to_numpy())))


def test_input_is_not_changed(wine):
    X, y = wine[0].copy(), wine[1].copy()
    search = quick_search()
    before = copy.copy(search.get_params())
    search.fit(X, y)
    pd.testing.assert_frame_equal(X, wine[0])
    pd.testing.assert_series_equal(y, wine[1])
    after = search.get_params()
    assert all(after[name] is value for name, value in before.items())
    assert not hasattr(search.estimator, "classes_")


# ---- limits, tables and pipelines ---------------------------------------------------------------


@pytest.mark.parametrize("representation", ["auto", "mask"])
def test_numbers_of_features_are_limited(wine, representation):
    search = quick_search(
        min_features=2, max_features=4, representation=representation, n_trials=15
    ).fit(*wine)
    sizes = search.cv_results_["n_features"]
    assert (sizes.min(), sizes.max()) == (2, 4)
    assert 2 <= search.n_features_ <= 4


def test_the_time_of_a_trial_is_limited(wine):
    search = quick_search(n_trials=1, trial_timeout=600).fit(*wine)
    assert search.objective_._fits.timeout == 600


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_tables_of_other_libraries(fitted, wine, library):
    module = pytest.importorskip(library)
    X, y = wine
    table = module.DataFrame(dict(X.items())) if library == "polars" else module.table(dict(X))
    search = quick_search(n_trials=25).fit(table, y)
    assert values_of(search) == values_of(fitted)
    assert search.feature_names_in_.tolist() == X.columns.tolist()
    np.testing.assert_array_equal(search.predict(table), fitted.predict(X))
    assert search.score(table, y) == fitted.score(X, y)
    np.testing.assert_array_equal(search.transform(table), fitted.transform(X))
    if library == "polars":
        narrow = search.set_output(transform="polars").transform(table)
        assert narrow.columns == search.get_feature_names_out().tolist()
        assert narrow.equals(table.select(narrow.columns))


def test_pipelines_that_name_columns(wine):
    X, y = wine
    X = X.assign(origin=np.where(X["hue"] > 1, "hill", "plain"))
    encode = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["origin"]), remainder="passthrough"
    )
    search = quick_search(estimator=make_pipeline(encode, GaussianNB()), param_distributions=None)
    search.set_params(n_trials=20, error_score="raise").fit(X, y)
    assert {trial.state.name for trial in search.trials_} == {"COMPLETE"}
    assert search.score(X, y) > 0.8


# ---- in scikit-learn ----------------------------------------------------------------------------


def test_it_is_a_search_and_a_selector():
    assert issubclass(FeatureSelectionSearchCV, BaseSearchCV)
    assert issubclass(FeatureSelectionSearchCV, SelectorMixin)


def test_regressors():
    X, y = load_diabetes(return_X_y=True)
    search = quick_search(estimator=Ridge(), param_distributions=None, filters=["pearson"])
    search.fit(X, y)
    assert search.score(X, y) == search.best_estimator_.score(X, y) > 0.2
    assert not hasattr(search, "classes_")


def test_nested_cross_validation(wine):
    found = cross_validate(quick_search(), *wine, cv=2, return_estimator=True)
    assert (found["test_score"] > 0.7).all()
    assert len({id(search.study_) for search in found["estimator"]}) == 2
    assert cross_val_predict(quick_search(), *wine, cv=2).shape == (178,)


def test_step_of_a_pipeline(wine):
    X, y = wine
    pipe = make_pipeline(quick_search(), StandardScaler(), LogisticRegression()).fit(X, y)
    assert pipe[-1].coef_.shape[1] == pipe[0].n_features_
    assert pipe.score(X, y) > 0.8
    last = make_pipeline(StandardScaler().set_output(transform="pandas"), quick_search())
    assert last.fit(X, y).predict(X).shape == (178,)


def test_search_in_a_search(wine):
    grid = GridSearchCV(quick_search(n_trials=3), {"refit": ["best", "knee"]}, cv=2).fit(*wine)
    assert grid.best_estimator_.refit in ("best", "knee")


def test_copies_predict_the_same(tmp_path, fitted, wine):
    X, _ = wine
    joblib.dump(fitted, tmp_path / "search.joblib")
    for other in (pickle.loads(pickle.dumps(fitted)), joblib.load(tmp_path / "search.joblib")):
        np.testing.assert_array_equal(other.predict(X), fitted.predict(X))
        assert other.pareto_front_.equals(fitted.pareto_front_)
        assert other.select(refit="best").best_trial_.number == fitted.front_.best().number
    unfitted = clone(fitted)
    assert not hasattr(unfitted, "study_")
    assert unfitted.n_trials == 25


def test_callbacks_stop_a_search() -> None:
    X, y = load_wine(return_X_y=True)
    stop = StagnationCallback(horizon=1, risk=0.4)
    search = quick_search(n_trials=40, callbacks=[stop]).fit(X, y)
    assert 2 <= len(search.trials_) < 20
    again = clone(search).fit(X, y)
    assert len(again.trials_) == len(search.trials_)


def test_a_timeout_accounts_for_the_length_of_a_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr("optuna_mofs.callbacks.trial_seconds", lambda study, quantile: 90.0)
    assert len(quick_search(n_trials=3, timeout=60.0).fit(X, y).trials_) == 1
    assert len(quick_search(n_trials=3, timeout=3600.0).fit(X, y).trials_) == 3


def test_the_stability_of_a_search() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    search = quick_search(n_trials=5, stability=2).fit(X, y)
    assert search.stability_.n_resamples == 2
    assert search.stability_.n_trials == 5
    assert set(search.stability_.selection_frequency().index) == set(X.columns)
    assert ResampledFronts.read(search.study_) is not None
    again = quick_search(n_trials=5).fit(X, y)
    assert not hasattr(again, "stability_")
    assert again.resample(2).frame.equals(search.stability_.frame)
    assert again.resample(2, n_trials=3, method="bootstrap").n_trials == 3
    assert not hasattr(again.fit(X, y), "stability_")
    with pytest.raises(ValueError, match="stability must be an integer of at least 0, got -1"):
        quick_search(stability=-1).fit(X, y)


def test_a_search_starts_from_another_one() -> None:
    X, y = load_wine(return_X_y=True, as_frame=True)
    first = quick_search(representation="mask", n_trials=6).fit(X[::2], y[::2])
    second = quick_search(
        representation="mask", n_trials=4, warm_start_from=first.study_, random_state=1
    ).fit(X, y)
    trial = second.trials_[0]
    number = first.front_.pick().number
    assert trial.user_attrs["warm_start"].endswith(f"#{number}")
    assert second.objective_.features_for(trial) == first.objective_.features_for(
        first.trials_[number]
    )
    assert len(second.trials_) == 4


def test_a_front_of_noise_warns() -> None:
    X, y = np.random.default_rng(0).normal(size=(40, 30)), np.arange(40) % 2
    search = FeatureSelectionSearchCV(GaussianNB(), n_trials=12, filters=["auc"], random_state=0)
    with pytest.warns(UserWarning, match="Not clearly better than chance.*constant model"):
        search.fit(X, y)
    X, y = load_wine(return_X_y=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        search.fit(X, y)
