"""Fits in a process of their own, with a time limit."""

from __future__ import annotations

import copy
import faulthandler
import os
import pickle
import signal
import sys
import time
import warnings
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import CategoricalDistribution
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.objectives import _fits
from optuna_mofs.objectives._fits import FitProcessError, TrialTimeoutError

#: What fits have leaked in this process.
LEAKED: list[Any] = []
MOODS = (
    *("good", "hangs", "crashes", "raises", "SIGKILL", "SIGSEGV", "sys.exit", "leaks", "talks"),
)


class Moody(ClassifierMixin, BaseEstimator):
    """A classifier that hangs, crashes, raises, or fits."""

    def __init__(self, mood: str = "good") -> None:
        self.mood = mood

    def fit(self, X: Any, y: Any) -> Moody:
        if self.mood == "hangs":
            time.sleep(3600)
        if self.mood == "crashes":
            os._exit(3)
        if self.mood in ("SIGKILL", "SIGSEGV"):
            faulthandler.disable()  # of loky, which would print a page
            os.kill(os.getpid(), getattr(signal, self.mood))
        if self.mood == "sys.exit":
            sys.exit("no license")
        if self.mood == "leaks":
            LEAKED.append(np.ones(5_000_000))
        if self.mood == "talks":
            for i in range(100_000):
                print("line", i)
                warnings.warn(f"warning {i}", UserWarning, stacklevel=1)
        if self.mood == "raises":
            raise TimeoutError("the license server is slow")
        self.model_ = GaussianNB().fit(X, y)
        self.classes_ = self.model_.classes_
        return self

    def predict(self, X: Any) -> Any:
        return self.model_.predict(X)

    def predict_proba(self, X: Any) -> Any:
        return self.model_.predict_proba(X)


def make(timeout: float | None, **options: Any) -> FeatureSelectionObjective:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = (X[:, 0] > 0).astype(int)
    return FeatureSelectionObjective(
        Moody(),
        X,
        y,
        space={"mood": CategoricalDistribution(MOODS)},
        cv=2,
        filters=[],
        trial_timeout=timeout,
        **options,
    )


def test_a_fit_that_hangs_or_crashes_fails_its_trial_and_the_study_goes_on() -> None:
    objective = make(3.0)
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for mood in ("good", "hangs", "good", "crashes", "raises", "good"):
        study.enqueue_trial(
            {"mood": mood, "x0": True, "x1": False, "x2": False, "x3": mood[0] > "g"}
        )
    study.enqueue_trial({"mood": "good", "x0": True, "x1": True, "x2": True, "x3": True})
    study.optimize(objective, n_trials=7)
    states = [trial.state.name for trial in study.trials]
    assert states == ["COMPLETE", "FAIL", "COMPLETE", "FAIL", "FAIL", "COMPLETE", "COMPLETE"]
    reasons = [trial.user_attrs.get("failure_reason", "") for trial in study.trials]
    assert "longer than trial_timeout=3 seconds" in reasons[1]
    assert "the process of the fits ended (EXIT(3))" in reasons[3]
    assert "license server" in reasons[4]


def test_values_are_those_of_fits_in_this_process() -> None:
    values = []
    for timeout in (None, 60.0):
        objective = make(timeout)
        assert objective.holdout_rows is not None  # these are fitted in the process too
        study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
        study.enqueue_trial({"mood": "good"})
        study.optimize(objective, n_trials=1)
        values.append((study.trials[0].values, study.trials[0].system_attrs))
    assert values[0] == values[1]


def test_the_limit_holds_for_each_call() -> None:
    objective = pickle.loads(pickle.dumps(copy.copy(make(1.5))))
    mask = np.ones(4, dtype=bool)
    with pytest.raises(TrialTimeoutError, match=r"trial_timeout=1\.5"):
        objective._fits.evaluate(Moody("hangs"), mask, [mask, mask])
    assert objective._fits.evaluate(Moody(), mask, [mask, mask]).values[0] < 0.5


@pytest.mark.parametrize("timeout", [0, -1, "5", True])
def test_a_limit_must_be_a_positive_number(timeout: Any) -> None:
    with pytest.raises(ValueError, match="trial_timeout must be a number above 0"):
        make(timeout)


class Unreadable:
    """An object that ends the process that reads it."""

    def __reduce__(self) -> Any:
        return os._exit, (3,)


def test_a_process_that_dies_while_it_starts_is_an_error() -> None:
    objective = make(60.0)
    fits = objective._fits
    # More than a pipe holds: its writer would wait for the dead process.
    fits.all_data = (Unreadable(), np.zeros(100_000))  # type: ignore[assignment]
    with pytest.raises(FitProcessError, match=r"ended \(EXIT\(3\)\)"):
        fits.evaluate(GaussianNB(), np.ones(4, dtype=bool), [np.ones(4, dtype=bool)] * 2)


def _run(objective: FeatureSelectionObjective, *moods: str) -> list[optuna.trial.FrozenTrial]:
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for mood in moods:
        study.enqueue_trial({"mood": mood, "x0": True, "x1": True, "x2": True, "x3": False})
    study.optimize(objective, n_trials=len(moods))
    return study.trials


def test_an_estimator_that_ends_its_process_fails_its_trial_in_one_line() -> None:
    trials = _run(make(60.0), "SIGKILL", "SIGSEGV", "sys.exit", "good")
    assert [trial.state.name for trial in trials] == ["FAIL", "FAIL", "FAIL", "COMPLETE"]
    reasons = [trial.user_attrs.get("failure_reason", "") for trial in trials]
    assert "the process of the fits ended (SIGKILL(-9)): the estimator crashed" in reasons[0]
    assert "SIGSEGV(-11)" in reasons[1]
    assert "the estimator called sys.exit('no license')" in reasons[2]
    assert not any("\n" in reason for reason in reasons)


def test_a_process_that_leaks_memory_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    objective = make(60.0)
    _run(objective, "good")
    first = objective._fits._idle[0]
    assert _run(objective, "leaks")[0].state.name == "COMPLETE"
    assert objective._fits._idle == [first]  # 80 MB are no leak
    assert not LEAKED
    # How much memory a process keeps depends on the system: any growth is too much here.
    monkeypatch.setattr(_fits, "MAX_GROWTH", -1)
    assert _run(objective, "leaks")[0].state.name == "COMPLETE"
    assert first not in objective._fits._idle


def test_growth_is_measured_from_the_start_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_fits, "_KEPT", [None, None, 1_000])
    monkeypatch.setattr(_fits, "_peak_memory", lambda: 5_000)
    monkeypatch.setattr(_fits, "_call", lambda evaluator, data, name, args: name)
    assert _fits._call_in_process("evaluate", ()) == ("evaluate", 4_000)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_an_estimator_that_prints_and_warns_a_lot_has_the_same_values(
    capsys: pytest.CaptureFixture[str],
) -> None:
    quiet, loud = _run(make(None), "good")[0], _run(make(None), "talks")[0]
    assert loud.values == quiet.values
    assert capsys.readouterr().out.count("line") >= 200_000  # nothing of the user's is hidden
