"""A conformance suite for samplers whose proposals depend on the history of a study.

.. code-block:: python

    class TestMySampler(SamplerConformance):
        @pytest.fixture
        def sampler(self):
            return lambda seed: MySampler(n_startup_trials=5, seed=seed)
"""

from __future__ import annotations

import copy
import math
import pickle
import random
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from optuna_mofs._optuna import read_study_attr
from optuna_mofs.features._codec import LARGEST_ID
from optuna_mofs.study._feature_sets import selected_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted
from optuna_mofs.study._trial_note import trial_note
from optuna_mofs.testing._workers import Job, open_storage, run_workers, skip_fsync
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

SamplerFactory = Callable[[int | None], BaseSampler]


class SamplerConformance:
    """Tests of a sampler. Subclasses define a fixture ``sampler``, a function of the seed.

    The seed may be None. The sampler must leave its startup phase well before :attr:`n_trials`.
    """

    #: Number of trials after which most proposals are no longer those of the startup phase.
    n_trials = 30

    @pytest.fixture(autouse=True)
    def _quick_and_quiet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        monkeypatch.setattr("os.fsync", skip_fsync)

    # ---- proposals ----------------------------------------------------------------------------

    @pytest.mark.parametrize("problem", sorted(PROBLEMS))
    @pytest.mark.parametrize("maximize", [False, True])
    def test_every_problem_runs_and_proposals_are_explained(
        self, sampler: SamplerFactory, problem: str, maximize: bool
    ) -> None:
        """Every trial completes, with a note of the operator and of earlier trials as parents."""
        study = make_study(problem, maximize=maximize, sampler=sampler(0))
        study.optimize(PROBLEMS[problem], n_trials=self.n_trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)
        for trial in study.trials[1:]:
            note = trial_note(trial)
            assert note is not None
            assert note.operator
            assert all(0 <= parent < trial.number for parent in note.parents)

    def test_maximizing_the_negative_proposes_the_same(self, sampler: SamplerFactory) -> None:
        """Directions only change the sign."""
        minimized = make_study("mixed", sampler=sampler(3))
        minimized.optimize(mixed, n_trials=self.n_trials)
        maximized = make_study("mixed", maximize=True, sampler=sampler(3))
        maximized.optimize(lambda t: tuple(-v for v in mixed(t)), n_trials=self.n_trials)
        assert all_params(maximized) == all_params(minimized)

    def test_the_seed_decides(self, sampler: SamplerFactory) -> None:
        """The same seed repeats a run, another seed gives another run."""
        runs = []
        for seed in (0, 0, 1):
            study = make_study("packed", sampler=sampler(seed))
            study.optimize(PROBLEMS["packed"], n_trials=12)
            runs.append(all_params(study))
        assert runs[0] == runs[1]
        assert all(a != b for a, b in zip(runs[0], runs[2]))

    def test_a_drawn_seed_is_kept_in_the_study(self, sampler: SamplerFactory) -> None:
        """A run without a seed can be repeated with the seed that the study holds."""
        study = make_study("mixed", sampler=sampler(None))
        study.optimize(mixed, n_trials=12)
        repeated = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
        repeated.optimize(mixed, n_trials=12)
        assert all_params(repeated) == all_params(study)

    def test_no_duplicates_until_the_space_is_exhausted(self, sampler: SamplerFactory) -> None:
        """The 12 configurations of a space take 12 trials; after that, duplicates are allowed."""

        def objective(trial: Trial) -> tuple[float, ...]:
            trial.suggest_float("constant", 1, 1)
            flag = trial.suggest_categorical("flag", [False, True])
            return float(flag), float(trial.suggest_int("n", 1, 6, log=True))

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=14)
        assert n_configurations(study.trials[:12]) == 12
        assert len(study.trials) == 14

    # ---- interrupted, copied and parallel studies -----------------------------------------------

    def test_a_reopened_study_continues_exactly(
        self, sampler: SamplerFactory, tmp_path: Path
    ) -> None:
        """Stop after any trial, reopen in a new process: the same trials, bit for bit."""
        jobs: list[Job] = []
        uninterrupted: dict[str, Study] = {}
        for problem in ("mixed", "conditional", "bits", "packed", "three"):
            uninterrupted[problem] = make_study(problem, sampler=sampler(5))
            uninterrupted[problem].optimize(PROBLEMS[problem], n_trials=self.n_trials)
            stops = [1, 2, self.n_trials // 2, self.n_trials - 1]
            jobs += self._stopped_copies(sampler(5), problem, stops, tmp_path / f"{problem}.log")
        # Journals are enough for most: SQLite takes five times the CPU time.
        half = [self.n_trials // 2]
        jobs += self._stopped_copies(sampler(5), "packed", half, tmp_path / "packed.db")
        assert run_workers(lambda: sampler(5), jobs) == [0]
        for job in jobs:
            resumed = optuna.load_study(study_name="s", storage=open_storage(job.storage))
            expected = uninterrupted[job.problem]
            assert all_params(resumed) == all_params(expected), job.storage
            values = [t.values for t in resumed.trials]
            assert values == [t.values for t in expected.trials], job.storage

    def _stopped_copies(
        self, sampler: BaseSampler, problem: str, stops: list[int], file: Path
    ) -> list[Job]:
        """Run a study in a file, copy the file at each stop, return jobs that complete them."""
        scheme = "sqlite:///" if file.suffix == ".db" else ""
        storage = open_storage(f"{scheme}{file}")
        study = make_study(problem, sampler=sampler, storage=storage, study_name="s")
        jobs = []
        for done, stop in zip([0, *stops], stops):
            study.optimize(PROBLEMS[problem], n_trials=stop - done)
            copied = file.with_stem(f"{problem}{stop}")
            shutil.copy(file, copied)
            jobs.append(Job(f"{scheme}{copied}", "s", problem, n_completed=self.n_trials))
        return jobs

    def test_a_trial_killed_by_a_signal_is_repeated(
        self, sampler: SamplerFactory, tmp_path: Path
    ) -> None:
        """SIGKILL: the interrupted configuration is evaluated again, and nothing is lost."""
        where = f"sqlite:///{tmp_path}/kill.db"
        storage = open_storage(where)
        study = make_study("packed", storage=storage, study_name="s", sampler=sampler(1))
        at = self.n_trials // 2
        job = Job(where, "s", "packed", n_trials=self.n_trials, kill_at=at)
        assert run_workers(lambda: sampler(1), [job]) == [-9]
        assert study.trials[at].state == TrialState.RUNNING
        before = all_params(study)
        assert retry_interrupted(study) == [at]
        study.optimize(PROBLEMS["packed"], n_trials=self.n_trials - at)
        trials = study.trials
        completed = [t for t in trials if t.state == TrialState.COMPLETE]
        assert len(completed) == self.n_trials
        assert [t.params for t in trials[: at + 1]] == before
        repeated = [t for t in completed if t.params == before[at]]
        assert len(repeated) == 1
        assert selected_features(study, repeated[0]) == selected_features(study, trials[at])
        assert n_configurations(completed) == self.n_trials

    def test_a_trial_interrupted_between_two_suggestions_is_completed(
        self, sampler: SamplerFactory
    ) -> None:
        """Parameters that were not suggested yet get the values that they would have had."""
        objective = PROBLEMS["packed"]
        uninterrupted, study = (make_study("packed", sampler=sampler(5)) for _ in range(2))
        uninterrupted.optimize(objective, n_trials=self.n_trials + 1)
        study.optimize(objective, n_trials=self.n_trials)
        study.ask().suggest_int("mask", 0, LARGEST_ID)
        retry_interrupted(study)
        study.optimize(objective, n_trials=1)
        assert study.trials[-1].params == uninterrupted.trials[-1].params

    def test_four_processes_lose_and_repeat_nothing(
        self, sampler: SamplerFactory, tmp_path: Path
    ) -> None:
        """Four workers share one SQLite file, then one journal file."""
        storages = [f"sqlite:///{tmp_path}/four.db", f"{tmp_path}/four.log"]
        studies = [
            make_study("packed", storage=open_storage(where), study_name="s", sampler=sampler(2))
            for where in storages
        ]
        jobs = [Job(where, "s", "packed", n_trials=8) for where in storages]
        assert run_workers(lambda: sampler(2), jobs, n_workers=4) == [0, 0, 0, 0]
        for study in studies:
            assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 32
            assert n_configurations(study.trials) == 32

    def test_two_threads(self, sampler: SamplerFactory) -> None:
        """``n_jobs=2`` completes every trial, without duplicates."""
        study = make_study("packed", sampler=sampler(0))
        study.optimize(PROBLEMS["packed"], n_trials=self.n_trials, n_jobs=2)
        assert [t.state for t in study.trials] == [TrialState.COMPLETE] * self.n_trials
        assert n_configurations(study.trials) == self.n_trials

    @pytest.mark.parametrize("problem", ["branches", "bits", "packed", "single"])
    def test_trials_complete_in_any_order(self, sampler: SamplerFactory, problem: str) -> None:
        """Late, failed and abandoned trials: proposals depend on nothing but the storage."""
        rng = random.Random(problem)
        study = make_study(problem, sampler=_MemorylessCheck(sampler(7)))
        running: list[tuple[Trial, tuple[float, ...]]] = []
        for _ in range(self.n_trials):
            trial = study.ask()
            values = PROBLEMS[problem](trial)
            if trial.number == 3:
                continue  # abandoned, as if its process had died
            running.append((trial, values))
            while len(running) > rng.randrange(5):
                late, values = running.pop(rng.randrange(len(running)))
                if late.number % 7 == 5:
                    study.tell(late, state=TrialState.FAIL)
                else:
                    study.tell(late, values)

    def test_later_extremes_do_not_change_what_was_learned(self, sampler: SamplerFactory) -> None:
        """Proposals do not depend on when a new worst value or a wider range was seen."""
        study = make_study("rough", sampler=_MemorylessCheck(sampler(1)))
        study.optimize(PROBLEMS["rough"], n_trials=75)
        assert {t.state for t in study.trials} == {TrialState.COMPLETE}

    def test_one_sampler_serves_two_studies(self, sampler: SamplerFactory) -> None:
        """One sampler object on two studies in turn, as if each had its own."""
        shared = sampler(None)
        studies = [make_study("mixed", sampler=shared) for _ in range(2)]
        names = ["x", "y", "z"]
        for _ in range(self.n_trials // 2):
            trials = [study.ask() for study in studies]
            for name in names:
                for trial in trials:
                    trial.suggest_float(name, 0, 1)
            for study, trial in zip(studies, trials):
                study.tell(trial, (trial.params["x"], trial.params["y"] - trial.params["z"]))

        def objective(trial: Trial) -> tuple[float, float]:
            x, y, z = (trial.suggest_float(name, 0, 1) for name in names)
            return x, y - z

        for study in studies:
            alone = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
            alone.optimize(objective, n_trials=self.n_trials // 2)
            assert all_params(alone) == all_params(study)

    def test_pickled_and_copied_samplers_continue(self, sampler: SamplerFactory) -> None:
        """A copy proposes what the original would have proposed."""
        whole = make_study("bits", sampler=sampler(4))
        whole.optimize(PROBLEMS["bits"], n_trials=20)
        study = make_study("bits", sampler=sampler(4))
        study.optimize(PROBLEMS["bits"], n_trials=6)
        study.sampler = copy.deepcopy(study.sampler)
        study.optimize(PROBLEMS["bits"], n_trials=7)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(PROBLEMS["bits"], n_trials=7)
        assert all_params(study) == all_params(whole)

    def test_a_copied_study_continues(self, sampler: SamplerFactory) -> None:
        """Proposals do not depend on trial ids, which differ in a copy."""
        storage = optuna.storages.InMemoryStorage()
        # Its trial shifts the ids of the others against their numbers.
        make_study("mixed", storage=storage, study_name="other").ask()
        study = make_study("packed", storage=storage, study_name="from", sampler=sampler(6))
        study.optimize(PROBLEMS["packed"], n_trials=12)
        optuna.copy_study(
            from_study_name="from", from_storage=storage, to_storage=storage, to_study_name="to"
        )
        study.optimize(PROBLEMS["packed"], n_trials=8)
        copied = optuna.load_study(study_name="to", storage=storage, sampler=sampler(6))
        copied.optimize(PROBLEMS["packed"], n_trials=8)
        assert all_params(copied) == all_params(study)

    # ---- unusual trials, values and parameters --------------------------------------------------

    def test_failed_pruned_nan_and_enqueued_trials(self, sampler: SamplerFactory) -> None:
        """The study continues after each, and enqueued trials run with the given features."""

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
        study.optimize(objective, n_trials=self.n_trials, catch=(ValueError,))
        enqueue_features(study, ["f3", "f5"], {"C": 7.0})
        enqueued = len(study.trials) - 1
        study.optimize(objective, n_trials=6, catch=(ValueError,))
        # f11 is fixed: it is in every set.
        assert selected_features(study, study.trials[enqueued]) == ["f3", "f5", "f11"]
        assert study.trials[enqueued].params["C"] == 7.0
        states = {t.state for t in study.trials}
        assert states == {TrialState.COMPLETE, TrialState.FAIL, TrialState.PRUNED}

    def test_a_failed_first_suggestion_excludes_nothing(self, sampler: SamplerFactory) -> None:
        """Trials that fail after their first suggestion do not rule out half of the space."""
        failed: list[int] = []

        def objective(trial: Trial) -> tuple[float, ...]:
            kind = trial.suggest_categorical("kind", ["a", "b"])
            if kind == "a" and trial.number >= 3 and len(failed) < 2:
                failed.append(trial.number)
                raise ValueError("on purpose")
            x = trial.suggest_float("x", 0, 1)
            return x + (kind == "b"), 1 - x

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=self.n_trials, catch=(ValueError,))
        assert "a" in {t.params["kind"] for t in study.trials[failed[-1] + 1 :]}

    def test_infinite_values(self, sampler: SamplerFactory) -> None:
        """Optuna allows infinite values."""
        study = make_study("mixed", sampler=sampler(0))

        def objective(trial: Trial) -> tuple[float, ...]:
            first, second = mixed(trial)
            return (math.inf, second) if trial.number % 3 == 0 else (first, -math.inf)

        study.optimize(objective, n_trials=self.n_trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)

    @pytest.mark.parametrize("problem", ["single", "mixed"])
    def test_constant_values(self, sampler: SamplerFactory, problem: str) -> None:
        """An objective that always returns the same still gets new configurations."""
        study = make_study(problem, sampler=sampler(0))
        for _ in range(self.n_trials):
            trial = study.ask()
            study.tell(trial, [0.0 for _ in PROBLEMS[problem](trial)])
        assert n_configurations(study.trials) == self.n_trials

    def test_partially_fixed_parameters(self, sampler: SamplerFactory) -> None:
        """Fixed parameters stay fixed, and the others are searched."""
        fixed = PartialFixedSampler({"x": 0.5, "kind": "b"}, sampler(0))
        study = make_study("mixed", sampler=fixed)
        study.optimize(mixed, n_trials=self.n_trials)
        assert {t.params["x"] for t in study.trials} == {0.5}
        assert {t.params["kind"] for t in study.trials} == {"b"}
        # Two proposals that differ only in the fixed parameters give the same configuration.
        assert n_configurations(study.trials) > self.n_trials / 2

    def test_a_fixed_mask(self, sampler: SamplerFactory) -> None:
        """A mask that is fixed to that of a trial is the same feature set in later trials."""
        study = make_study("packed", sampler=sampler(0))
        study.optimize(PROBLEMS["packed"], n_trials=1)
        fixed = {"mask": study.trials[0].params["mask"]}
        study.sampler = PartialFixedSampler(fixed, sampler(0))
        study.optimize(PROBLEMS["packed"], n_trials=8)
        assert len({tuple(selected_features(study, t) or ()) for t in study.trials}) == 1

    def test_features_after_another_suggestion(self, sampler: SamplerFactory) -> None:
        """An objective may suggest a parameter before the study has a description."""

        def objective(trial: Trial) -> tuple[float, ...]:
            trial.suggest_float("first", 0, 1)
            return PROBLEMS["packed"](trial)

        studies = [make_study("packed", sampler=sampler(0)) for _ in range(2)]
        studies[0].optimize(objective, n_trials=self.n_trials)
        for _ in range(self.n_trials):
            studies[1].sampler = sampler(0)
            studies[1].optimize(objective, n_trials=1)
        assert all_params(studies[1]) == all_params(studies[0])
        assert n_configurations(studies[0].trials) == self.n_trials

    def test_a_pruner_with_brackets(self, sampler: SamplerFactory) -> None:
        """Proposals use all trials, although Hyperband passes on a part of the study."""

        def objective(trial: Trial) -> float:
            value = PROBLEMS["single"](trial)[0]
            for step in range(1, 10):
                trial.report(value / step, step)
                if trial.should_prune():
                    raise optuna.TrialPruned
            return value

        studies = []
        for is_renewed in (False, True):
            study = optuna.create_study(
                study_name="hyperband",  # brackets depend on the name of the study
                sampler=sampler(0),
                pruner=optuna.pruners.HyperbandPruner(min_resource=1, max_resource=9),
            )
            for _ in range(self.n_trials):
                if is_renewed:
                    study.sampler = sampler(0)
                study.optimize(objective, n_trials=1)
            studies.append(study)
        assert all_params(studies[0]) == all_params(studies[1])
        assert len({t.state for t in studies[0].trials}) == 2


def all_params(study: Study) -> list[dict[str, Any]]:
    """Return the parameters of every trial."""
    return [t.params for t in study.get_trials(deepcopy=False)]


def n_configurations(trials: Iterable[FrozenTrial]) -> int:
    """Return the number of different configurations."""
    return len({frozenset(t.params.items()) for t in trials})


class _MemorylessCheck(BaseSampler):
    """Compares every proposal of a sampler with that of a copy without caches."""

    def __init__(self, sampler: BaseSampler) -> None:
        self._sampler = sampler

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        found = self._sampler.sample_relative(study, trial, search_space)
        fresh = pickle.loads(pickle.dumps(self._sampler))
        assert fresh.infer_relative_search_space(study, trial) == search_space
        assert fresh.sample_relative(study, trial, search_space) == found
        return found

    def sample_independent(
        self, study: Study, trial: FrozenTrial, param_name: str, param_distribution: Any
    ) -> Any:
        found = self._sampler.sample_independent(study, trial, param_name, param_distribution)
        fresh = pickle.loads(pickle.dumps(self._sampler))
        assert fresh.sample_independent(study, trial, param_name, param_distribution) == found
        return found
