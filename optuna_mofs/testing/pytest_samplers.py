"""A conformance suite for samplers that work on the history of a study."""

from __future__ import annotations

import copy
import math
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler, PartialFixedSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from optuna_mofs._optuna import frozen_attr, read_study_attr
from optuna_mofs.features._codec import LARGEST_ID
from optuna_mofs.study._feature_sets import selected_features
from optuna_mofs.study._queue import enqueue_features, retry_interrupted
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing._workers import Job, no_waiting, open_storage, run
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

SamplerFactory = Callable[..., BaseSampler]


class Proposing:
    """Proposals on every problem, by operators that are named, without clones."""

    #: Trials after which the sampler's own proposals are well under way.
    trials = 30

    @pytest.mark.parametrize("problem", sorted(PROBLEMS))
    @pytest.mark.parametrize("maximize", [False, True])
    def test_proposals_past_the_start(
        self, sampler: SamplerFactory, problem: str, maximize: bool
    ) -> None:
        """All problems run, and later proposals say which operator made them of whom."""
        study = make_study(problem, maximize=maximize, sampler=sampler(0))
        study.optimize(PROBLEMS[problem], n_trials=self.trials)
        assert all(t.state == TrialState.COMPLETE for t in study.trials)
        for trial in study.trials[1:]:
            note = frozen_attr(trial, NOTE)
            assert note is not None
            assert note["operator"]
            assert all(0 <= parent < trial.number for parent in note["parents"])

    def test_direction_mirrors(self, sampler: SamplerFactory) -> None:
        """Maximizing the negative proposes the same as minimizing."""
        down = make_study("mixed", sampler=sampler(3))
        down.optimize(mixed, n_trials=self.trials)
        up = make_study("mixed", maximize=True, sampler=sampler(3))
        up.optimize(lambda t: tuple(-v for v in mixed(t)), n_trials=self.trials)
        assert params_of(up) == params_of(down)

    def test_seeds_differ(self, sampler: SamplerFactory) -> None:
        """Another seed gives another run, the same seed the same one."""
        runs = []
        for seed in (0, 0, 1):
            study = make_study("packed", sampler=sampler(seed))
            study.optimize(PROBLEMS["packed"], n_trials=12)
            runs.append(params_of(study))
        assert runs[0] == runs[1]
        assert all(a != b for a, b in zip(runs[0], runs[2]))

    def test_seed_is_kept_in_the_study(self, sampler: SamplerFactory) -> None:
        """A run without a seed can be repeated with the one the study kept."""
        study = make_study("mixed", sampler=sampler(None))
        study.optimize(mixed, n_trials=12)
        again = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
        again.optimize(mixed, n_trials=12)
        assert params_of(again) == params_of(study)

    def test_no_clones_while_others_exist(self, sampler: SamplerFactory) -> None:
        """A space of 12 configurations is exhausted in 12 trials, then repeats are allowed."""

        def objective(trial: Trial) -> tuple[float, ...]:
            trial.suggest_float("constant", 1, 1)
            flag = trial.suggest_categorical("flag", [False, True])
            return float(flag), float(trial.suggest_int("n", 1, 6, log=True))

        study = make_study("mixed", sampler=sampler(0))
        study.optimize(objective, n_trials=14)
        assert distinct(study.trials[:12]) == 12
        assert len(study.trials) == 14


def params_of(study: Study) -> list[dict[str, Any]]:
    """Parameters of all trials."""
    return [t.params for t in study.get_trials(deepcopy=False)]


def distinct(trials: list[Any]) -> int:
    """Number of different configurations."""
    return len({frozenset(t.params.items()) for t in trials})


class Resuming:
    """Stopped, killed, copied, in several processes: it goes on as if nothing had happened."""

    trials: int

    def test_exact_resume(self, sampler: SamplerFactory, tmp_path: Path) -> None:
        """Stopped after any trial and reopened in a new process: bit for bit the same trials."""
        jobs: list[Job] = []
        whole: dict[str, Study] = {}
        for problem in ("mixed", "conditional", "bits", "packed", "three"):
            whole[problem] = make_study(problem, sampler=sampler(5))
            whole[problem].optimize(PROBLEMS[problem], n_trials=self.trials)
            stops = [1, 2, self.trials // 2, self.trials - 1]
            jobs += self._stopped(sampler(5), problem, stops, tmp_path / f"{problem}.log")
        # Most in journals: SQLite costs five times the CPU and is the same to a sampler.
        jobs += self._stopped(sampler(5), "packed", [self.trials // 2], tmp_path / "packed.db")
        assert run(lambda: sampler(5), jobs) == [0]
        for job in jobs:
            resumed = optuna.load_study(study_name="s", storage=open_storage(job.storage))
            assert params_of(resumed) == params_of(whole[job.problem]), job.storage
            values = [t.values for t in resumed.trials]
            assert values == [t.values for t in whole[job.problem].trials], job.storage

    def _stopped(
        self, sampler: BaseSampler, problem: str, stops: list[int], file: Path
    ) -> list[Job]:
        """Run a study in a file, copy the file at each stop, and go on with the copies later."""
        scheme = "sqlite:///" if file.suffix == ".db" else ""
        storage = open_storage(f"{scheme}{file}")
        study = make_study(problem, sampler=sampler, storage=storage, study_name="s")
        jobs = []
        for done, stop in zip([0, *stops], stops):
            study.optimize(PROBLEMS[problem], n_trials=stop - done)
            copied = file.with_stem(f"{problem}{stop}")
            shutil.copy(file, copied)
            jobs.append(Job(f"{scheme}{copied}", "s", problem, until=self.trials))
        return jobs

    def test_killed_in_the_middle_of_a_trial(
        self, sampler: SamplerFactory, tmp_path: Path
    ) -> None:
        """SIGKILL: the configuration that was cut off is evaluated again, nothing is lost."""
        where = f"sqlite:///{tmp_path}/kill.db"
        study = make_study(
            "packed", storage=open_storage(where), study_name="s", sampler=sampler(1)
        )
        at = self.trials // 2
        job = Job(where, "s", "packed", trials=self.trials, kill_at=at)
        assert run(lambda: sampler(1), [job]) == [-9]
        assert study.trials[at].state == TrialState.RUNNING
        before = params_of(study)
        assert retry_interrupted(study) == [at]
        study.optimize(PROBLEMS["packed"], n_trials=self.trials - at)
        after = study.trials
        complete = [t for t in after if t.state == TrialState.COMPLETE]
        assert len(complete) == self.trials
        assert [t.params for t in after[: at + 1]] == before
        again = [t for t in complete if t.params == before[at]]
        assert len(again) == 1
        assert selected_features(study, again[0]) == selected_features(study, after[at])
        assert distinct(complete) == self.trials

    def test_four_processes(self, sampler: SamplerFactory, tmp_path: Path) -> None:
        """Four workers on one SQLite file and on one journal file: no lost trials, no clones."""
        places = [f"sqlite:///{tmp_path}/four.db", f"{tmp_path}/four.log"]
        studies = [
            make_study("packed", storage=open_storage(where), study_name="s", sampler=sampler(2))
            for where in places
        ]
        jobs = [Job(where, "s", "packed", trials=8) for where in places]
        assert run(lambda: sampler(2), jobs, count=4) == [0, 0, 0, 0]
        for study in studies:
            assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 32
            assert distinct(study.trials) == 32

    @pytest.mark.parametrize("problem", ["branches", "bits", "packed", "single"])
    def test_any_order_of_telling(self, sampler: SamplerFactory, problem: str) -> None:
        """Told late, failed or left behind: a sampler knows no more than the storage does."""
        chance = random.Random(problem)
        study = make_study(problem, sampler=_Doubted(sampler(7)))
        running: list[tuple[Trial, tuple[float, ...]]] = []
        for _ in range(self.trials):
            trial = study.ask()
            values = PROBLEMS[problem](trial)
            if trial.number == 3:
                continue  # its process died
            running.append((trial, values))
            while len(running) > chance.randrange(5):
                late, values = running.pop(chance.randrange(len(running)))
                if late.number % 7 == 5:
                    study.tell(late, state=TrialState.FAIL)
                else:
                    study.tell(late, values)

    def test_rough_values(self, sampler: SamplerFactory) -> None:
        """What was learned early does not depend on the worst value or the range seen later."""
        study = make_study("rough", sampler=_Doubted(sampler(1)))
        study.optimize(PROBLEMS["rough"], n_trials=75)
        assert {t.state for t in study.trials} == {TrialState.COMPLETE}

    def test_killed_between_two_suggestions(self, sampler: SamplerFactory) -> None:
        """What the trial had not suggested becomes what it would have been."""
        objective = PROBLEMS["packed"]
        whole, study = (make_study("packed", sampler=sampler(5)) for _ in range(2))
        whole.optimize(objective, n_trials=self.trials + 1)
        study.optimize(objective, n_trials=self.trials)
        study.ask().suggest_int("mask", 0, LARGEST_ID)
        retry_interrupted(study)
        study.optimize(objective, n_trials=1)
        assert study.trials[-1].params == whole.trials[-1].params

    def test_two_studies_in_turn(self, sampler: SamplerFactory) -> None:
        """One sampler object on two studies, as if each had its own."""
        shared = sampler(None)
        studies = [make_study("mixed", sampler=shared) for _ in range(2)]
        names = ["x", "y", "z"]
        for _ in range(self.trials // 2):
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
            own = make_study("mixed", sampler=sampler(read_study_attr(study, "seed")))
            own.optimize(objective, n_trials=self.trials // 2)
            assert params_of(own) == params_of(study)

    def test_pickle_and_deepcopy(self, sampler: SamplerFactory) -> None:
        """A copied sampler goes on as the original would have."""
        whole = make_study("bits", sampler=sampler(4))
        whole.optimize(PROBLEMS["bits"], n_trials=20)
        study = make_study("bits", sampler=sampler(4))
        study.optimize(PROBLEMS["bits"], n_trials=6)
        study.sampler = copy.deepcopy(study.sampler)
        study.optimize(PROBLEMS["bits"], n_trials=7)
        study.sampler = pickle.loads(pickle.dumps(study.sampler))
        study.optimize(PROBLEMS["bits"], n_trials=7)
        assert params_of(study) == params_of(whole)

    def test_copied_study_goes_on(self, sampler: SamplerFactory) -> None:
        """Trial ids change in a copy; what the sampler remembers must not depend on them."""
        storage = optuna.storages.InMemoryStorage()
        make_study("mixed", storage=storage, study_name="other").ask()
        study = make_study("packed", storage=storage, study_name="from", sampler=sampler(6))
        study.optimize(PROBLEMS["packed"], n_trials=12)
        optuna.copy_study(
            from_study_name="from", from_storage=storage, to_storage=storage, to_study_name="to"
        )
        study.optimize(PROBLEMS["packed"], n_trials=8)
        copied = optuna.load_study(study_name="to", storage=storage, sampler=sampler(6))
        copied.optimize(PROBLEMS["packed"], n_trials=8)
        assert params_of(copied) == params_of(study)
        assert copied.trials[0]._trial_id != study.trials[0]._trial_id


class _Doubted(BaseSampler):
    """A sampler whose every proposal is compared with that of a copy without memory."""

    def __init__(self, sampler: BaseSampler) -> None:
        self._sampler = sampler

    def infer_relative_search_space(self, study: Study, trial: Any) -> dict[str, BaseDistribution]:
        return self._sampler.infer_relative_search_space(study, trial)

    def sample_relative(
        self, study: Study, trial: Any, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        found = self._sampler.sample_relative(study, trial, search_space)
        fresh = pickle.loads(pickle.dumps(self._sampler))
        assert fresh.infer_relative_search_space(study, trial) == search_space
        assert fresh.sample_relative(study, trial, search_space) == found
        return found

    def sample_independent(self, study: Study, trial: Any, name: str, distribution: Any) -> Any:
        found = self._sampler.sample_independent(study, trial, name, distribution)
        fresh = pickle.loads(pickle.dumps(self._sampler))
        assert fresh.sample_independent(study, trial, name, distribution) == found
        return found


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


class SamplerConformance(Proposing, Resuming, Surviving):
    """Inherit from it and define a fixture ``sampler``: a function of ``seed`` (None allowed).

    The sampler must be set so that it leaves its start-up phase well before :attr:`trials`.
    """

    #: Trials after which the sampler's own proposals are well under way.
    trials = 30

    @pytest.fixture(autouse=True)
    def _quick_and_quiet(self, monkeypatch: pytest.MonkeyPatch) -> None:
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        monkeypatch.setattr("os.fsync", no_waiting)
