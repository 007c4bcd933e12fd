from __future__ import annotations

import datetime
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import RandomSampler
from optuna.storages import RetryHeartbeatStaleTrialCallback
from optuna.study import Study
from optuna.trial import TrialState

from optuna_mofs.study._feature_sets import selected_features, suggest_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted

SPACE = {"x": FloatDistribution(0, 1), "n": IntDistribution(1, 5)}


def _states(study: Study) -> list[str]:
    return [t.state.name for t in study.trials]


def test_a_study_without_interrupted_trials_is_unchanged() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=2)
    study.enqueue_trial({"x": 0.5})
    assert retry_interrupted(study) == []
    assert _states(study) == ["COMPLETE", "COMPLETE", "WAITING"]


def test_the_same_configuration_runs_again() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    cut_off = study.ask(SPACE)
    cut_off.set_user_attr("origin", "me")
    assert retry_interrupted(study) == [0]
    again = study.ask(SPACE)
    assert again.number == 1
    assert again.params == cut_off.params
    assert again.user_attrs == {"origin": "me"}
    study.tell(again, 1.0)
    assert _states(study) == ["FAIL", "COMPLETE"]


def test_only_old_trials_are_repeated() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.ask(SPACE)
    assert retry_interrupted(study, older_than=60) == []
    assert _states(study) == ["RUNNING"]
    began = datetime.datetime.now() - datetime.timedelta(seconds=90)
    study._storage._get_trial(0).datetime_start = began  # type: ignore[attr-defined]
    study.ask(SPACE)
    assert retry_interrupted(study, older_than=60) == [0]
    assert _states(study) == ["FAIL", "RUNNING", "WAITING"]


def test_only_trials_with_given_numbers_are_repeated() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for _ in range(3):
        study.ask(SPACE)
    study.tell(2, state=TrialState.FAIL)
    assert retry_interrupted(study, numbers={1, 2, 7}) == [1, 2]
    assert _states(study) == ["RUNNING", "FAIL", "FAIL", "WAITING", "WAITING"]


def test_a_trial_that_is_interrupted_twice_runs_again() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    first = study.ask(SPACE)
    assert retry_interrupted(study) == [0]
    study.ask(SPACE)
    assert retry_interrupted(study) == [1]
    last = study.ask(SPACE)
    assert last.params == first.params
    frozen = study.trials[2]
    assert RetryHeartbeatStaleTrialCallback.retried_trial_number(frozen) == 0
    assert RetryHeartbeatStaleTrialCallback.retry_history(frozen) == [0, 1]
    assert "retry_history" not in study.trials[0].system_attrs


def test_a_trial_interrupted_between_suggestions_keeps_its_parameters() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    trial = study.ask()
    x = trial.suggest_float("x", 0, 1)
    retry_interrupted(study)
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_int("n", 1, 5), n_trials=1)
    assert study.trials[1].params["x"] == x
    assert "n" in study.trials[1].params
    assert _states(study) == ["FAIL", "COMPLETE"]


def test_a_trial_interrupted_before_the_first_suggestion_runs_again() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.ask()
    assert retry_interrupted(study) == [0]
    study.optimize(lambda t: t.suggest_float("x", 0, 1), n_trials=1)
    assert _states(study) == ["FAIL", "COMPLETE"]


def test_an_enqueued_feature_set_is_not_lost() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))

    def objective(trial: optuna.Trial) -> float:
        return float(suggest_features(trial, 40).sum() + trial.suggest_float("x", 0, 1))

    study.optimize(objective, n_trials=1)
    enqueue_features(study, ["x3", "x39"], {"x": 0.25})
    trial = study.ask()  # dies before its first suggestion
    assert retry_interrupted(study) == [trial.number]
    study.optimize(objective, n_trials=1)
    assert selected_features(study, study.trials[2]) == ["x3", "x39"]
    assert study.trials[2].params["x"] == 0.25


def test_a_slow_trial_can_still_be_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    trial = study.ask(SPACE)
    add = study.add_trial

    def told_meanwhile(again: optuna.trial.FrozenTrial) -> None:
        add(again)
        study._storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [1.0])

    monkeypatch.setattr(study, "add_trial", told_meanwhile)
    retry_interrupted(study)
    assert study.trials[0].state == TrialState.COMPLETE


def test_a_trial_that_completes_at_the_same_moment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    study.ask(SPACE)

    def ended(*args: object, **options: object) -> None:
        raise optuna.exceptions.UpdateFinishedTrialError

    monkeypatch.setattr(study, "tell", ended)
    assert retry_interrupted(study) == [0]
    assert study.trials[1].state == TrialState.WAITING


def test_a_retry_that_was_interrupted_itself_repeats_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.ask()

    def killed(*args: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(study, "tell", killed)  # after the trial is enqueued
        with pytest.raises(KeyboardInterrupt):
            retry_interrupted(study)
    assert retry_interrupted(study) == [0]
    assert [trial.state.name for trial in study.trials] == ["FAIL", "WAITING"]


@pytest.mark.parametrize("older_than", [float("nan"), -1, "60"])
def test_the_age_must_be_a_number_of_at_least_0(older_than: Any) -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    with pytest.raises(ValueError, match="older_than must be a number of at least 0"):
        retry_interrupted(study, older_than=older_than)
