"""Part of the conformance suite: a proposal is a function of seed, number and finished trials."""

from __future__ import annotations

import copy
import pickle
import random
import shutil
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import Trial, TrialState

from optuna_mofs._optuna import read_study_attr
from optuna_mofs.features._codec import LARGEST_ID
from optuna_mofs.study._feature_sets import selected_features
from optuna_mofs.study._queue import retry_interrupted
from optuna_mofs.testing.problems import PROBLEMS, make_study
from optuna_mofs.testing.proposing import SamplerFactory, distinct, params_of
from optuna_mofs.testing.worker import Job, open_storage, run


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
