from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import pytest
from optuna.samplers import RandomSampler
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.testing._workers import Job, open_storage, run_workers
from optuna_mofs.testing.problems import make_study


class SigningSampler(RandomSampler):
    """Writes the process id on each trial."""

    def before_trial(self, study: Study, trial: FrozenTrial) -> None:
        write_trial_attrs(study, trial, user={"process": os.getpid()})


@pytest.fixture(params=["sqlite:///{}/s.db", "{}/s.log"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(request.param.format(tmp_path))


def test_workers_are_new_processes(where: str) -> None:
    study = make_study("mixed", storage=open_storage(where), study_name="s")
    jobs = [Job(where, "s", "mixed", n_trials=2), Job(where, "s", "mixed", n_trials=1)]
    assert run_workers(partial(SigningSampler, seed=0), jobs, n_workers=2) == [0, 0]
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 6
    processes = {t.user_attrs["process"] for t in study.trials}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_a_killed_worker_leaves_a_running_trial(where: str) -> None:
    study = make_study("mixed", storage=open_storage(where), study_name="s")
    make = partial(RandomSampler, seed=0)
    assert run_workers(make, [Job(where, "s", "mixed", n_completed=5, kill_at=3)]) == [-9]
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * 3 + ["RUNNING"]
    assert study.trials[3].params, "it is killed after all suggestions"
    assert run_workers(make, [Job(where, "s", "mixed", n_completed=5)]) == [0]
    assert [t.state.name for t in study.trials[4:]] == ["COMPLETE"] * 2


def test_an_error_is_an_exit_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    where = f"{tmp_path}/s.log"
    open_storage(where)
    job = Job(where, "no such study", "mixed", n_trials=1)
    assert run_workers(partial(RandomSampler, seed=0), [job]) == [1]
