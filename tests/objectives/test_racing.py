"""Racing: stopped trials, what is compared, and what samplers learn from it."""

from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from joblib import parallel_config
from optuna.distributions import FloatDistribution
from optuna.pruners import MedianPruner, WilcoxonPruner
from optuna.samplers import RandomSampler, TPESampler
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from optuna.study import Study
from optuna.trial import TrialState
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FeatureSelectionSearchCV,
    FilterEnsembleNSGA2Sampler,
    Measure,
    fold_scores,
    pareto_front,
)
from optuna_mofs.history import History
from optuna_mofs.objectives._racing import weighted_estimate
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._losses import read_losses
from optuna_mofs.study._partial import measured_values, partial_estimate

SPACE = {"var_smoothing": FloatDistribution(1e-9, 1e3, log=True)}


def cancer() -> tuple[Any, Any]:
    X, y = load_breast_cancer(return_X_y=True)
    return X[:200, :15], y[:200]


def make(**options: Any) -> FeatureSelectionObjective:
    arguments = {"space": SPACE, "racing": True, "filters": ["anova_f"], **options}
    return FeatureSelectionObjective(GaussianNB(), *cancer(), **arguments)


def run(objective: FeatureSelectionObjective, n: int = 40, **options: Any) -> Study:
    study = objective.create_study(**{"sampler": RandomSampler(seed=0), **options})
    study.optimize(objective, n_trials=n)
    return study


@pytest.fixture(scope="module")
def raced() -> Study:
    return run(make())


def stopped(study: Study) -> list[Any]:
    return study.get_trials(states=(TrialState.PRUNED,))


@pytest.fixture(scope="module")
def plain() -> Study:
    return run(make(racing=False))


def test_stopped_trials_say_what_they_were_compared_with(plain: Study, raced: Study) -> None:
    study = raced
    assert len(study.trials) == len(plain.trials)
    assert len(stopped(study)) >= 10
    for trial in stopped(study):
        estimate = partial_estimate(trial)
        assert estimate.bound > 0
        rival = study.trials[estimate.rival]
        assert rival.state == TrialState.COMPLETE
        assert np.less_equal(rival.values, estimate.values).all()
        assert trial.user_attrs["stopped_by"] == rival.number
        assert trial.user_attrs["n_folds"] == len(estimate.folds) < 5
        scores = fold_scores(trial)["error"]
        assert len(scores) == len(estimate.folds)
        # The same folds of the search without races, and the same sets.
        same = plain.trials[trial.number]
        assert [fold_scores(same)["error"][i] for i in estimate.folds] == scores
        assert trial.params == same.params
        assert read_losses(trial) is None


def test_completed_trials_have_the_values_of_a_search_without_races(
    plain: Study, raced: Study
) -> None:
    study = raced
    for trial in study.get_trials(states=(TrialState.COMPLETE,)):
        assert trial.values == plain.trials[trial.number].values


def test_the_front_is_nearly_that_of_all_folds_and_has_no_stopped_trial(
    plain: Study, raced: Study
) -> None:
    study = raced
    front = pareto_front(study)
    assert all(trial.state == TrialState.COMPLETE for trial in front)
    lost = pareto_front(plain).hypervolume() - front.hypervolume()
    assert 0 <= lost < 0.005


def test_the_order_of_folds_does_not_favor_any(raced: Study) -> None:
    alone = [partial_estimate(t).folds for t in stopped(raced)]
    assert len({folds for folds in alone if len(folds) == 1}) >= 3


def test_a_duplicate_is_not_raced() -> None:
    objective = make()
    study = run(objective)
    best = study.best_trials[0]
    study.enqueue_trial(best.params)
    study.optimize(objective, n_trials=1)
    assert study.trials[-1].user_attrs["duplicate_of"] == best.number


@pytest.mark.parametrize("make_sampler", [FilterEnsembleNSGA2Sampler, TPESampler])
def test_samplers_run_with_stopped_trials(make_sampler: Any) -> None:
    study = run(make(), 35, sampler=make_sampler(seed=0))
    assert stopped(study)
    assert {t.state for t in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}


def test_the_history_has_the_estimates_of_stopped_trials(raced: Study) -> None:
    study = raced
    history = History(StudyDescription.require(study))
    history.update(study)
    assert len(history) == len(study.trials)
    for i, trial in enumerate(study.trials):
        assert history.values[i].tolist() == list(measured_values(trial)[0])
    is_stopped = np.array([t.state == TrialState.PRUNED for t in study.trials])
    for values in history.values[is_stopped]:
        completed = history.values[~is_stopped]
        assert ((completed <= values).all(axis=1) & (completed < values).any(axis=1)).any()
    # The error of a stopped trial is uncertain, its fraction of features is not.
    assert (history.variances[is_stopped, 0] > 0).all()
    assert not history.variances[is_stopped, 1].any()
    assert not history.variances[~is_stopped].any()


def test_a_reopened_study_continues_bit_for_bit(tmp_path: Any) -> None:
    def trials(study: Study) -> list[Any]:
        return [(t.state, t.params, t.values, t.user_attrs, t.system_attrs) for t in study.trials]

    def sampler() -> FilterEnsembleNSGA2Sampler:
        return FilterEnsembleNSGA2Sampler(seed=3)

    whole = run(make(), 36, sampler=sampler())
    for n in (29, 7):
        backend = JournalFileBackend(str(tmp_path / "race.journal"))
        study = make().create_study(
            study_name="race",
            storage=JournalStorage(backend),
            load_if_exists=True,
            sampler=sampler(),
        )
        study.optimize(make(), n_trials=n)
    assert stopped(study)
    assert trials(study) == trials(whole)


def test_two_workers(tmp_path: Any) -> None:
    objective = make()
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=40, n_jobs=2)
    for trial in stopped(study):
        assert study.trials[partial_estimate(trial).rival].state == TrialState.COMPLETE
    assert stopped(study)


def test_folds_in_parallel_are_stages() -> None:
    with parallel_config("threading"):
        study = run(make(n_jobs=2), 25)
    assert {t.user_attrs["n_folds"] for t in stopped(study)} <= {2, 4}


@pytest.mark.parametrize(
    "options",
    [
        {"store_losses": False, "holdout": None},
        {"groups": np.arange(200) // 2},
        {"sample_weight": np.linspace(0.5, 1.5, 200)},
        {"scoring": "roc_auc"},
        {"measures": ["error", "fnr", "fraction"]},
        {"measures": ["error"]},
        {"trial_timeout": 60.0},
    ],
    ids=["no_losses", "groups", "weights", "auc", "three", "single", "timeout"],
)
def test_settings_that_change_the_comparison(options: Any) -> None:
    n_trials = 10 if "trial_timeout" in options else 25
    study = run(make(**options), n_trials)
    assert {t.state for t in study.trials} == {TrialState.COMPLETE, TrialState.PRUNED}
    for trial in stopped(study):
        estimate = partial_estimate(trial)
        assert np.less_equal(study.trials[estimate.rival].values, estimate.values).all()


class Clocked(ClassifierMixin, BaseEstimator):
    """Counts its fits."""

    n_fits = 0

    def __init__(self, shift: float = 0.0) -> None:
        self.shift = shift

    def fit(self, X: Any, y: Any) -> Clocked:
        Clocked.n_fits += 1
        self.classes_ = np.unique(y)
        self.majority_ = np.bincount(y).argmax()
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.majority_ if self.shift < 0.5 else 1 - self.majority_)


def test_folds_that_are_left_out_are_not_fitted() -> None:
    objective = FeatureSelectionObjective(
        Clocked(),
        np.zeros((200, 2)),
        (np.arange(200) < 150).astype(int),
        space={"shift": FloatDistribution(0, 1)},
        representation=None,
        measures=["error"],
        racing=True,
    )
    study = objective.create_study(sampler=RandomSampler(seed=0))
    study.enqueue_trial({"shift": 0.1})
    study.enqueue_trial({"shift": 0.9})
    study.optimize(objective, n_trials=1)
    before = Clocked.n_fits
    study.optimize(objective, n_trials=1)
    assert study.trials[1].state == TrialState.PRUNED
    assert Clocked.n_fits - before == study.trials[1].user_attrs["n_folds"] < 5


def test_stopped_trials_of_one_value_have_intermediate_values() -> None:
    study = run(make(measures=["error"]), 25, sampler=TPESampler(seed=0))
    assert stopped(study)
    for trial in stopped(study):
        scores = fold_scores(trial)["error"]
        means = [float(np.mean(scores[: i + 1])) for i in range(len(scores))]
        assert list(trial.intermediate_values.values()) == means


@pytest.mark.parametrize("pruner", [MedianPruner(n_startup_trials=3), WilcoxonPruner()])
def test_pruners_of_optuna(pruner: Any) -> None:
    objective = make(measures=["error"], racing="pruner")
    study = run(objective, 30, pruner=pruner)
    assert stopped(study)
    for trial in stopped(study):
        estimate = partial_estimate(trial)
        assert len(trial.intermediate_values) == len(estimate.folds)
        assert estimate.values == (np.mean(fold_scores(trial)["error"]),)
    if isinstance(pruner, WilcoxonPruner):
        scores = fold_scores(trial)["error"]
        assert list(trial.intermediate_values.values()) == scores


def test_intermediate_values_would_stop_tpe_with_several_values() -> None:
    """Why stopped trials of several values have none."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=TPESampler(seed=0))
    for i in range(12):
        trial = study.ask({"x": FloatDistribution(0, 1)})
        study.tell(trial, [trial.params["x"], i])
    study.add_trial(
        optuna.trial.create_trial(
            state=TrialState.PRUNED,
            params={"x": 0.5},
            distributions={"x": FloatDistribution(0, 1)},
            intermediate_values={0: 0.5},
        )
    )
    with pytest.raises(RuntimeError, match="single direction"):
        study.ask({"x": FloatDistribution(0, 1)})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"racing": "pruner"}, "works for one value"),
        ({"racing": "no"}, "racing must be True, False, 'pruner' or the error rate"),
        ({"racing": 0.9}, "racing must be a number"),
        ({"redraw_folds": True}, "redraw_folds=True draws others"),
        ({"cv": [(np.arange(100), np.arange(100, 200))]}, "cv has 1"),
        ({"measures": ["n_features"]}, "need no fit"),
    ],
)
def test_races_that_cannot_be(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(**options)


def test_the_estimator_races() -> None:
    search = FeatureSelectionSearchCV(
        KNeighborsClassifier(),
        {"n_neighbors": range(1, 30)},
        n_trials=30,
        racing=True,
        filters=["anova_f"],
        random_state=0,
    ).fit(*cancer())
    states = [t.state for t in search.trials_]
    assert TrialState.PRUNED in states
    assert len(search.cv_results_["params"]) == states.count(TrialState.COMPLETE)
    assert search.best_trial_.state == TrialState.COMPLETE


def test_the_estimate_follows_similar_trials() -> None:
    value, variance = weighted_estimate(np.array([0.3, 0.1]), np.array([1e-4, 1e-2]), 1, 5)
    assert value == pytest.approx(0.3, abs=1e-3)
    assert variance == pytest.approx(1e-4 * 4 / 5, rel=0.05)
    # Of equal trials each says as much, and half of the variance of a difference is their own.
    value, variance = weighted_estimate(np.array([0.3, 0.1] * 50), np.full(100, 0.01), 2, 5)
    assert value == pytest.approx(0.2)
    assert variance == pytest.approx(0.01 / 2 * 3 / 10, rel=0.05)
    assert weighted_estimate(np.array([0.1, 0.2]), np.zeros(2), 1, 5)[0] == pytest.approx(0.15)


def test_the_variance_of_the_estimate() -> None:
    """Trials whose folds differ by the fold, by the trial, and by chance."""
    rng = np.random.default_rng(0)
    scores = []
    for _ in range(400):
        folds = rng.standard_normal((31, 5)) * 0.1
        folds += rng.standard_normal((31, 1)) * 0.05 + rng.standard_normal(5) * 0.5
        ends = folds[1:].mean(axis=1) + folds[0, 1] - folds[1:, 1]
        value, variance = weighted_estimate(ends, np.full(30, 0.02), 1, 5)
        scores.append((value - folds[0].mean()) / np.sqrt(variance))
    assert np.mean(np.square(scores)) == pytest.approx(1, abs=0.2)
    assert abs(np.mean(scores)) < 0.15


def test_equal_predictions_of_a_fold_do_not_make_an_estimate_exact() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(200) % 2
    X = rng.standard_normal((200, 8))
    X[:, 0] += 5 * y  # errors are rare
    objective = FeatureSelectionObjective(
        KNeighborsClassifier(), X, y, racing=0.5, filters=["anova_f"], fixed_features=["x0"]
    )
    found = [partial_estimate(trial) for trial in stopped(run(objective))]
    assert len(found) >= 5
    assert min(estimate.variances[0] for estimate in found) > 1e-8
    assert min(estimate.bound for estimate in found) > 1e-8, "no rounding error decides"


def test_measures_that_are_maximized() -> None:
    accuracy = Measure("accuracy", fold=lambda fold: fold.score(), direction="maximize")
    study = run(make(measures=[accuracy, "n_features"]), 40)
    assert stopped(study)
    for trial in stopped(study):
        estimate = partial_estimate(trial)
        rival = study.trials[estimate.rival]
        assert rival.values[0] > estimate.values[0]
        assert rival.values[1] <= estimate.values[1]
