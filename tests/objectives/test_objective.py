"""Trials of an objective, and the models of trials."""

from __future__ import annotations

import logging
import pickle

import numpy as np
import optuna
import pandas as pd
import pytest
from lightgbm import LGBMClassifier
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState, create_trial
from sklearn.datasets import load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    Measure,
    MOEADSampler,
    enqueue_features,
    fold_scores,
    generalization,
    pareto_front,
    selected_features,
    selected_mask,
)
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._codec import unpack_attribute
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.study._feature_sets import MASK
from tests.objectives.learners import Breaking, CountingTree
from tests.objectives.wine import DEPTH, P, X, Y, expected_error, objective, run

MODELS_X, MODELS_Y = load_wine(return_X_y=True)
FRAME = pd.DataFrame(MODELS_X, columns=[f"w{j}" for j in range(13)])
SPACE = {"svc__C": FloatDistribution(0.1, 10, log=True)}
ODD = np.arange(len(MODELS_Y)) % 2 == 1


def models_objective(X=MODELS_X, y=MODELS_Y, features="mask", **options):
    options = {"filters": ["anova_f"], "expected_n_features": 4, "cv": 3, **options}
    return FeatureSelectionObjective(
        make_pipeline(StandardScaler(), SVC()),
        X,
        y,
        space=SPACE,
        representation=features,
        **options,
    )


def models_run(objective, trials=5):
    study = objective.create_study(sampler=RandomSampler(seed=3))
    study.optimize(objective, n_trials=trials)
    return study


@pytest.mark.parametrize("data", [MODELS_X, FRAME], ids=["array", "frame"])
@pytest.mark.parametrize(
    "features", [MaskFeatures(form="bits"), MaskFeatures(form="packed"), "filter_ensemble"]
)
def test_refit_equals_a_pipeline_fitted_by_hand(data, features):
    found = models_objective(data[ODD], MODELS_Y[ODD], features)
    study = models_run(found)
    for trial in study.trials:
        columns = np.flatnonzero(selected_mask(study, trial))
        model = found.refit(trial)
        if len(columns) == 0:
            continue
        by_hand = make_pipeline(StandardScaler(), SVC(C=trial.params["svc__C"], random_state=0))
        by_hand.fit(MODELS_X[ODD][:, columns], MODELS_Y[ODD])
        rest = data[~ODD]
        np.testing.assert_array_equal(
            model.predict(rest), by_hand.predict(MODELS_X[~ODD][:, columns])
        )
        assert model.n_features_in_ == 13
        assert list(model[:-1].get_feature_names_out()) == [
            (f"w{j}" if hasattr(data, "iloc") else f"x{j}") for j in columns
        ]


def test_the_estimator_of_a_trial_is_not_fitted():
    found = models_objective()
    trial = models_run(found, 1).trials[0]
    model = found.estimator_for(trial)
    assert isinstance(model, Pipeline)
    with pytest.raises(NotFittedError):
        model.predict(MODELS_X)
    assert model.named_steps["estimator"].get_params()["svc__C"] == trial.params["svc__C"]
    assert found.params_for(trial) == {"svc__C": trial.params["svc__C"]}
    model.fit(MODELS_X, MODELS_Y)
    assert model.predict(MODELS_X).shape == MODELS_Y.shape


def test_the_selected_columns_suffice_for_prediction():
    found = models_objective(FRAME)
    study = models_run(found, 1)
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
def test_reopened_studies_do_not_compute_filters_again(
    features, monkeypatch, tmp_path, open_sqlite
):
    storage = open_sqlite(tmp_path / "a.db")
    first = models_objective(features=features)
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
    second = models_objective(features=features)
    again = optuna.load_study(study_name="a", storage=storage)
    second.attach(again)
    assert [second.mask_for(t).tolist() for t in again.trials] == expected
    second.refit(again.trials[0])
    assert fits == []


def test_the_integer_of_a_trial_added_without_its_mask_is_unknown():
    found = models_objective(features=MaskFeatures(form="packed"))
    study = models_run(found, 1)
    study.add_trial(
        create_trial(
            params={"mask": 77, "svc__C": 1.0},
            distributions=study.trials[0].distributions,
            values=[0.5, 0.5],
        )
    )
    trial = study.trials[-1]
    assert selected_mask(study, trial) is None
    with pytest.raises(ValueError, match="The features of trial 1 are unknown"):
        found.mask_for(trial)


@pytest.mark.parametrize("wrong", [3, None, "best"])
def test_only_a_trial_can_be_fitted(wrong):
    with pytest.raises(TypeError, match=f"Expected a trial.*{type(wrong).__name__}"):
        models_objective().refit(wrong)


def test_trials_of_other_studies_are_refused():
    found = models_objective()
    other = optuna.create_study(sampler=RandomSampler(seed=0))
    other.optimize(lambda trial: trial.suggest_float("a", 0, 1), n_trials=1)
    with pytest.raises(ValueError, match=r"The features of trial 0 are unknown: .*\['a'\]"):
        found.mask_for(other.trials[0])
    with pytest.raises(ValueError, match="Trial 0 has no parameter 'svc__C'"):
        found.params_for(other.trials[0])
    with pytest.raises(ValueError, match="The features of trial 0 are unknown"):
        found.refit(other.trials[0])


@pytest.mark.parametrize("data", [MODELS_X, FRAME], ids=["array", "frame"])
def test_values_on_new_data(data):
    found = models_objective(data[ODD], MODELS_Y[ODD], measures=["error", "fraction", "fnr"])
    study = models_run(found)
    for trial in study.trials:
        model = found.refit(trial)
        error, fraction, fnr = found.test_values(model, trial, data[~ODD], MODELS_Y[~ODD].tolist())
        assert error == pytest.approx(1 - model.score(data[~ODD], MODELS_Y[~ODD]))
        assert fraction == trial.values[1]
        predicted = model.predict(data[~ODD])
        assert fnr == pytest.approx(
            np.mean([np.mean(predicted[MODELS_Y[~ODD] == k] != k) for k in range(3)])
        )
    # The test data can hold one class.
    ones = ~ODD & (MODELS_Y == 1)
    found.test_values(model, trial, data[ones], MODELS_Y[ones])
    outcome = generalization(study, found, data[~ODD], MODELS_Y[~ODD])
    assert len(outcome.frame) == len(pareto_front(study))


def test_test_frames_need_the_selected_columns():
    found = models_objective(FRAME)
    trial = models_run(found, 1).trials[0]
    model = found.refit(trial)
    chosen = found.features_for(trial)
    values = found.test_values(model, trial, FRAME[chosen], MODELS_Y)
    assert values == found.test_values(model, trial, FRAME, MODELS_Y)
    with pytest.raises(ValueError, match="lacks 1 of the"):
        found.test_values(model, trial, FRAME.drop(columns=chosen[0]), MODELS_Y)
    with pytest.raises(ValueError, match="X has 178 rows but y has 3"):
        found.test_values(model, trial, FRAME, MODELS_Y[:3])


# ---- empty sets, repeats, failures ------------------------------------------------------------


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_an_empty_set_is_a_valid_trial(form):
    found = objective(CountingTree(max_depth=2), representation=MaskFeatures(form=form))
    study = found.create_study()
    CountingTree.fits.clear()  # what is evaluated once, before any trial
    enqueue_features(study, [])
    study.optimize(found, n_trials=1)
    trial = study.trials[0]
    assert trial.state == TrialState.COMPLETE
    assert CountingTree.fits == []
    wrong = [
        np.mean(Y[test] != np.bincount(Y[train]).argmax())
        for train, test in found.evaluator.splits
    ]
    assert trial.values == pytest.approx([np.mean(wrong), 0.0])
    assert trial.user_attrs["n_features"] == 0
    model = found.refit(trial)
    assert set(model.predict(X)) == {np.bincount(Y).argmax()}


def test_an_empty_set_predicts_the_mean_in_regression():
    y = X[:, 0]
    found = objective(Ridge(), y=y, scoring="neg_mean_absolute_error")
    study = found.create_study()
    enqueue_features(study, [])
    study.optimize(found, n_trials=1)
    expected = np.mean(
        [np.mean(abs(y[test] - y[train].mean())) for train, test in found.evaluator.splits]
    )
    assert study.trials[0].values[0] == pytest.approx(expected)
    np.testing.assert_allclose(found.refit(study.trials[0]).predict(X), y.mean())


@pytest.mark.parametrize("features", [MaskFeatures(form="bits"), MaskFeatures(form="packed")])
def test_a_duplicate_takes_the_values_of_the_earlier_trial(features):
    found = objective(CountingTree(), space=DEPTH, representation=features)
    study = found.create_study(sampler=RandomSampler(seed=0))
    CountingTree.fits.clear()  # what is evaluated once, before any trial
    for depth in (2, 3, 2):
        enqueue_features(study, ["x0", "x6"], {"max_depth": depth})
    study.optimize(found, n_trials=3)
    assert len(CountingTree.fits) == 6
    first, second, third = study.trials
    assert third.values == first.values
    assert third.user_attrs["duplicate_of"] == 0
    assert fold_scores(third) == fold_scores(first)
    assert third.user_attrs["fold_std"] == first.user_attrs["fold_std"]
    assert third.user_attrs["n_features"] == 2
    assert "duplicate_of" not in second.user_attrs
    assert selected_features(study, third) == ["x0", "x6"]


def test_duplicates_of_enqueued_parameters_of_a_filter_ensemble():
    found = objective(CountingTree(), representation="filter_ensemble")
    study = found.create_study()
    CountingTree.fits.clear()  # what is evaluated once, before any trial
    for _ in range(2):
        study.enqueue_trial({"fraction": 0.3, "weight_anova_f": 0.5})
    study.optimize(found, n_trials=2)
    assert len(CountingTree.fits) == 3
    assert study.trials[1].user_attrs["duplicate_of"] == 0


@pytest.mark.filterwarnings("ignore:Choices for a categorical")
@pytest.mark.parametrize("sampler", [RandomSampler, FilterEnsembleNSGA2Sampler, MOEADSampler])
def test_choices_that_a_storage_changes_do_not_stop_the_study(sampler, tmp_path, open_sqlite):
    shapes = {"hidden": CategoricalDistribution(((2,), (3, 3)))}

    class Layers(CountingTree):
        def __init__(self, hidden=(2,)):
            super().__init__(max_depth=1)
            self.hidden = hidden

        def fit(self, X, y, sample_weight=None, check_input=True):
            assert isinstance(self.hidden, tuple)
            return super().fit(X, y, sample_weight=sample_weight)

    found = objective(Layers(), representation=None, space=shapes)
    storage = open_sqlite(tmp_path / "a.db")
    study = found.create_study(sampler=sampler(seed=0), storage=storage)
    study.optimize(found, n_trials=4)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    assert isinstance(study.trials[0].params["hidden"], list)
    assert isinstance(found.params_for(study.trials[0])["hidden"], tuple)
    assert any("duplicate_of" in t.user_attrs for t in study.trials)


def test_a_failing_estimator_fails_its_trial_and_the_study_continues():
    found = objective(Breaking(most=3), expected_n_features=2)
    study = found.create_study(sampler=RandomSampler(seed=0))
    enqueue_features(study, ["x1", "x2", "x3", "x4"])
    enqueue_features(study, ["x1"])
    messages = []
    handler = logging.Handler()
    handler.emit = lambda record: messages.append(record.getMessage())
    logger = logging.getLogger("optuna")
    logger.addHandler(handler)
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    optuna.logging.disable_default_handler()
    try:
        study.optimize(found, n_trials=2)
    finally:
        optuna.logging.enable_default_handler()
        logger.removeHandler(handler)
    failed, fine = study.trials
    assert failed.state == TrialState.FAIL
    assert failed.user_attrs["failure_reason"] == "RuntimeError: cannot take 4 columns"
    assert failed.user_attrs["features"] == "x1, x2, x3, x4"
    assert any("Trial 0 failed: RuntimeError: cannot take 4 columns" in m for m in messages)
    assert fine.state == TrialState.COMPLETE
    assert "failure_reason" not in fine.user_attrs


def test_the_search_stops_if_all_trials_fail():
    found = objective(Breaking(most=0), expected_n_features=2)
    study = found.create_study(sampler=RandomSampler(seed=0))
    enqueue_features(study, [])  # the empty set has no model that could fail
    with pytest.raises(RuntimeError, match=r"10 trials failed .* cannot take \d+ columns"):
        study.optimize(found, n_trials=50)
    states = [trial.state for trial in study.trials]
    assert states == [TrialState.COMPLETE, *[TrialState.FAIL] * 10]
    # After one success, failures do not stop the search.
    partly = objective(Breaking(most=1), expected_n_features=2)
    study = partly.create_study(sampler=RandomSampler(seed=0))
    enqueue_features(study, ["x1"])
    for _ in range(12):
        enqueue_features(study, ["x1", "x2"])
    study.optimize(partly, n_trials=13)
    assert [t.state for t in study.trials].count(TrialState.FAIL) == 12


def test_a_measure_that_is_nan_fails_the_trial_with_its_name():
    bad = Measure("bad", fold=lambda fold: float("nan"))
    study = run(objective(measures=["error", bad]), trials=2)
    for trial in study.trials:
        assert trial.state == TrialState.FAIL
        assert trial.user_attrs["failure_reason"] == "NaN in bad"


def test_a_failed_configuration_is_evaluated_again():
    found = objective(Breaking(most=1))
    study = found.create_study()
    for _ in range(2):
        enqueue_features(study, ["x1", "x2"])
    study.optimize(found, n_trials=2)
    assert [t.state for t in study.trials] == [TrialState.FAIL] * 2
    assert "duplicate_of" not in study.trials[1].user_attrs


def test_pruning_by_a_measure_is_pruning():
    def prune(fold):
        raise optuna.TrialPruned

    study = run(objective(measures=[prune]), trials=1)
    assert study.trials[0].state == TrialState.PRUNED


# ---- repeatability ----------------------------------------------------------------------------


def test_two_jobs_and_a_second_run_return_the_same_values():
    forest = make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=5))
    options = {"space": {"randomforestclassifier__max_depth": IntDistribution(1, 4)}}
    first = run(objective(forest, **options), trials=3)
    again = run(objective(forest, **options), trials=3)
    both = run(objective(forest, n_jobs=2, **options), trials=3)
    values = [t.values for t in first.trials]
    assert [t.values for t in again.trials] == values
    assert [t.values for t in both.trials] == values
    other = run(objective(forest, random_state=1, **options), trials=3)
    assert [t.values for t in other.trials] != values


def test_only_unset_random_states_are_set():
    forest = RandomForestClassifier(random_state=7)
    assert objective(forest).estimator.random_state == 7
    found = objective(make_pipeline(StandardScaler(), RandomForestClassifier()), random_state=5)
    assert found.estimator.named_steps["randomforestclassifier"].random_state == 5
    # The user's own object is not changed.
    assert forest.get_params()["random_state"] == 7


def test_inputs_are_not_changed(frame):
    data, y = frame
    copied, target = data.copy(), y.copy()
    tree = LGBMClassifier(n_estimators=2, verbose=-1, n_jobs=1)
    before = tree.get_params()
    run(objective(tree, data, y, filters=["auc"]), trials=2)
    pd.testing.assert_frame_equal(data, copied)
    assert (y == target).all()
    assert tree.get_params() == before


def test_an_objective_can_be_pickled_while_it_runs():
    found = objective(space=DEPTH, measures=["error", "training_error", "fraction", "cost"])
    study = run(found, trials=2)
    copied = pickle.loads(pickle.dumps(found))
    again = run(copied, trials=2)
    assert [t.values for t in again.trials] == [t.values for t in study.trials]
    generated = objective(cv=((train, test) for train, test in found.evaluator.splits))
    assert len(pickle.loads(pickle.dumps(generated)).evaluator.splits) == 3


def test_parallel_threads_of_optuna():
    found = objective(space={"max_depth": IntDistribution(1, 5)})
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=8, n_jobs=3)
    assert all(t.state == TrialState.COMPLETE for t in study.trials)
    for trial in study.trials:
        assert trial.values[0] == pytest.approx(expected_error(found, study, trial).mean())


# ---- what a trial shows -----------------------------------------------------------------------


def test_user_attributes_are_readable():
    wide = np.random.default_rng(0).normal(size=(60, 300))
    y = (wide[:, 0] > 0).astype(int)
    names = [f"a_rather_long_feature_name_{j}" for j in range(300)]
    found = objective(GaussianNB(), wide, y, feature_names=names, expected_n_features=100)
    study = run(found, trials=4)
    for trial in study.trials:
        assert set(trial.user_attrs) == {"n_features", "features", "fold_std"}
        assert len(trial.user_attrs["features"]) < 55
        assert trial.user_attrs["n_features"] == selected_mask(study, trial).sum()
    longest = max(study.trials, key=lambda t: t.user_attrs["n_features"])
    assert longest.user_attrs["features"].endswith("more")


def test_measures_of_models_and_sets_together():
    measures = [
        "error",
        "training_error",
        "fnr",
        "fpr",
        "fraction",
        "n_features",
        "cost",
        "instability",
    ]
    found = objective(y=(Y > 0).astype(int), measures=measures)
    study = run(found, trials=3)
    assert study.metric_names == measures
    for trial in study.trials:
        values = dict(zip(measures, trial.values))
        assert values["n_features"] == values["cost"] == selected_mask(study, trial).sum()
        assert values["instability"] == 0
        assert values["training_error"] <= values["error"] + 0.2
        assert set(fold_scores(trial)) == {"error", "training_error", "fnr", "fpr"}


def test_filter_trials_store_the_mask_of_all_data():
    found = objective(
        GaussianNB(), representation="single_filter", filters=["anova_f", "variance"]
    )
    study = run(found, trials=4)
    ensemble = FilterEnsemble(["anova_f", "variance"], random_state=0).fit(X, Y)
    for trial in study.trials:
        row = ensemble.names_.index(trial.params["filter"])
        count = int(np.ceil(P * trial.params["fraction"]))
        expected = np.argsort(-ensemble.ranks_[row], kind="stable")[:count]
        mask = unpack_attribute(frozen_attr(trial, MASK), P)
        assert sorted(expected) == np.flatnonzero(mask).tolist()
        np.testing.assert_array_equal(selected_mask(study, trial), mask)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble"])
@pytest.mark.parametrize("redraw_folds", [False, True])
def test_the_folds_of_a_trial_can_be_fitted_again(features, redraw_folds):
    objective = models_objective(
        features=features, holdout=None, redraw_folds=redraw_folds, filters=("anova_f",)
    )
    trial = models_run(objective).trials[-1]
    folds = objective.tested_folds(trial)
    errors = [1.0 - fold.score() for fold in folds]
    assert errors == pytest.approx(fold_scores(trial)["error"])
    rows = np.sort(np.concatenate([fold.test_rows for fold in folds]))
    assert rows.tolist() == list(range(len(objective.data.y)))
    masks = objective.fold_masks_for(trial)
    assert [mask.sum() for mask in masks] == [fold.X_test.shape[1] for fold in folds]
    if features == "mask":
        assert all((mask == objective.mask_for(trial)).all() for mask in masks)


def test_the_only_fold_of_a_trial_with_held_out_rows_has_these_rows():
    objective = models_objective(holdout=0.25)
    trial = models_run(objective).trials[-1]
    (fold,) = objective.tested_folds(trial)
    assert fold.test_rows.tolist() == objective.holdout_rows.tolist()
    assert len(fold.y_train) == len(objective.search_rows)


# ---- recorded measures, errors ------------------------------------------------------------------


def test_recorded_measures_are_stored_but_not_optimized():
    found = objective(recorded_measures=["training_error"])
    assert found.metric_names == ["error", "fraction"]
    for trial in run(found).trials:
        assert set(fold_scores(trial)) == {"error", "training_error"}


def test_errors_that_are_not_caught_stop_the_study():
    with pytest.raises(RuntimeError, match="cannot take"):
        run(objective(Breaking(1), catch=(ValueError,)), trials=20)
    study = run(objective(Breaking(6), catch=(ValueError, RuntimeError)), trials=20)
    assert {trial.state.name for trial in study.trials} == {"COMPLETE", "FAIL"}


def test_values_have_no_floating_point_noise():
    # 1 - 0.7 is 0.30000000000000004, and 3 / 7 has as many digits.
    y = np.tile([0, 0, 0, 0, 0, 0, 0, 1, 1, 1], 4)
    rows = np.arange(40)
    folds = [(np.r_[: 10 * i, 10 * i + 10 : 40], np.r_[10 * i : 10 * i + 10]) for i in range(4)]
    X = np.column_stack([rows] * 7)
    found = FeatureSelectionObjective(DummyClassifier(), X, y, cv=folds, holdout=None)
    study = found.create_study()
    study.enqueue_trial({f"x{j}": j < 3 for j in range(7)})
    study.optimize(found, n_trials=1)
    (trial,) = study.trials
    assert trial.values == [0.3, 0.428571428571]
    assert fold_scores(trial) == {"error": [0.3] * 4}
    assert "fold_scores" not in trial.user_attrs  # a list makes rows of the dashboard tall
