"""Part of the conformance suite: a sampler takes what comes."""

from __future__ import annotations

import math

import optuna
from optuna.samplers import PartialFixedSampler
from optuna.trial import Trial, TrialState

from optuna_mofs.study._feature_sets import selected_features
from optuna_mofs.study._queue import enqueue_features
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed
from optuna_mofs.testing.proposing import SamplerFactory, distinct, params_of


class Surviving:
    """Threads, trials of every fate, values of every kind, parameters fixed from outside."""

    trials: int

    def test_threads(self, sampler: SamplerFactory) -> None:
        """``n_jobs=2`` finishes every trial, without clones."""
        study = make_study("packed", sampler=sampler(0))
        study.optimize(PROBLEMS["packed"], n_trials=self.trials, n_jobs=2)
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * self.trials
        assert distinct(study.trials) == self.trials

    def test_failed_pruned_nan_and_enqueued(self, sampler: SamplerFactory) -> None:
        """Trials of every fate are survived, and queued ones run as they were asked for."""

        def objective(trial: Trial) -> tuple[float, ...]:
            values = PROBLEMS["bits"](trial)
            if trial.number % 5 == 1:
                raise ValueError("on purpose")
            if trial.number % 5 == 2:
                return math.nan, values[1]
            if trial.number % 5 == 3:
                raise optuna.TrialPruned
            return values

        study = make_study("bits", sampler=sampler(0))
        study.optimize(objective, n_trials=self.trials, catch=(ValueError,))
        enqueue_features(study, ["f3", "f5"], {"C": 7.0})
        number = len(study.trials) - 1
        study.optimize(objective, n_trials=6, catch=(ValueError,))
        assert selected_features(study, study.trials[number]) == ["f3", "f5", "f11"]
        assert study.trials[number].params["C"] == 7.0
        fates = {t.state for t in study.trials}
        assert fates == {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED}

    def test_failing_between_suggestions_forbids_nothing(self, sampler: SamplerFactory) -> None:
        """Trials cut off after their first suggestion do not take half of the space away."""
        failed: list[int] = []

        def objective(trial: Trial) -> tuple[float, ...]:
            kind = trial.suggest_categorical("kind", ["a", "b"])
            if kind == "a" and trial.number >= 3 and len(failed) < 2:
                failed.append(trial.number)
                raise ValueError("on purpose")
            x = trial.suggest_float("x", 0, 1)
            return x + (kind == "b"), 1 - x

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=self.trials, catch=(ValueError,))
        assert "a" in {t.params["kind"] for t in study.trials[failed[-1] + 1 :]}

    def test_infinite_values(self, sampler: SamplerFactory) -> None:
        """Infinite values are legal in Optuna."""
        study = make_study("mixed", sampler=sampler(0))

        def objective(trial: Trial) -> tuple[float, ...]:
            first, second = mixed(trial)
            return (math.inf, second) if trial.number % 3 == 0 else (first, -math.inf)

        study.optimize(objective, n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)

    def test_equal_values(self, sampler: SamplerFactory) -> None:
        """An objective that knows only one answer, with one value and with two."""
        for problem in ("single", "mixed"):
            study = make_study(problem, sampler=sampler(0))
            for _ in range(self.trials):
                trial = study.ask()
                study.tell(trial, [0.0 for _ in PROBLEMS[problem](trial)])
            assert distinct(study.trials) == self.trials

    def test_constraints(self, sampler: SamplerFactory) -> None:
        """Constraints set on trials are survived."""
        study = make_study("mixed", sampler=sampler(0))

        def objective(trial: Trial) -> tuple[float, ...]:
            values = mixed(trial)
            trial.set_constraint("x", trial.params["x"])
            return values

        study.optimize(objective, n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)

    def test_partial_fixed(self, sampler: SamplerFactory) -> None:
        """Parameters fixed from outside stay fixed, the others are searched."""
        inner = sampler(0)
        study = make_study("mixed", sampler=PartialFixedSampler({"x": 0.5, "kind": "b"}, inner))
        study.optimize(mixed, n_trials=self.trials)
        assert {t.params["x"] for t in study.trials} == {0.5}
        assert {t.params["kind"] for t in study.trials} == {"b"}
        assert len({t.params["rate"] for t in study.trials}) == self.trials

    def test_fixed_mask(self, sampler: SamplerFactory) -> None:
        """A mask fixed from outside means the same set in every trial."""
        inner = sampler(0)
        study = make_study("packed", sampler=PartialFixedSampler({"mask": 99}, inner))
        study.optimize(PROBLEMS["packed"], n_trials=8)
        assert len({tuple(selected_features(study, t) or ()) for t in study.trials}) == 1

    def test_features_described_after_the_first_suggestion(self, sampler: SamplerFactory) -> None:
        """Whoever suggests something before the features is served too, from trial 1 in full."""

        def objective(trial: Trial) -> tuple[float, ...]:
            trial.suggest_float("first", 0, 1)
            return PROBLEMS["packed"](trial)

        studies = [make_study("packed", sampler=sampler(0)) for _ in range(2)]
        studies[0].optimize(objective, n_trials=self.trials)
        for _ in range(self.trials):
            studies[1].sampler = sampler(0)
            studies[1].optimize(objective, n_trials=1)
        assert params_of(studies[1]) == params_of(studies[0])
        assert distinct(studies[0].trials) == self.trials

    def test_pruner_with_brackets(self, sampler: SamplerFactory) -> None:
        """Hyperband shows a sampler a part of the study; ours sees all of it."""

        def objective(trial: Trial) -> float:
            value = PROBLEMS["single"](trial)[0]
            for step in range(1, 10):
                trial.report(value / step, step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return value

        studies = []
        for fresh in (False, True):
            study = optuna.create_study(
                study_name="hyperband",  # brackets go by the study's name
                sampler=sampler(0),
                pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9),
            )
            for _ in range(self.trials):
                if fresh:
                    study.sampler = sampler(0)
                study.optimize(objective, n_trials=1)
            studies.append(study)
        assert params_of(studies[0]) == params_of(studies[1])
        assert len({t.state for t in studies[0].trials}) == 2
