"""Worker processes of the conformance suite.

They are forked from a server that has imported the package once and has seen nothing of the tests:
each is a new process, without the seconds that imports would cost each time.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import Trial, TrialState

from optuna_mofs.testing.problems import PROBLEMS


@dataclass(frozen=True)
class Job:
    """What a worker shall do with one study.

    Args:
        storage: URL of a database, or the path of a journal file.
        study: Name of the study.
        problem: Name of its problem.
        trials: How many trials to run; None to run ``until`` there are enough.
        until: How many complete trials the study shall have.
        kill_at: Number of the trial in the middle of which the process kills itself.
    """

    storage: str
    study: str
    problem: str
    trials: int | None = None
    until: int = 0
    kill_at: int | None = None


def no_waiting(file: object) -> None:
    """Instead of ``os.fsync``: tests survive a killed process, not a power failure."""


def open_storage(where: str) -> BaseStorage:
    """A database by URL, SQLite with patience for locks, or a journal file by path."""
    if "://" not in where:
        return JournalStorage(JournalFileBackend(where))
    if not where.startswith("sqlite:"):
        return RDBStorage(where)
    path = where.partition(":///")[2]

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(path, timeout=60, check_same_thread=False)
        connection.execute("PRAGMA synchronous=OFF")
        return connection

    return RDBStorage(where, engine_kwargs={"creator": connect})


def run(make: Callable[[], BaseSampler], jobs: Sequence[Job], count: int = 1) -> list[int | None]:
    """Run jobs in ``count`` new processes, each one all of them, and wait for them.

    Args:
        make: Makes a sampler; called here, once a job and process, and sent there by pickle.
        jobs: The jobs; processes begin each of them together.
        count: Number of processes.

    Returns:
        The processes' exit codes.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["optuna_mofs.testing._preload"])
    together = context.Barrier(count)
    workers: list[BaseProcess] = [
        context.Process(target=_work, args=([(make(), job) for job in jobs], together))
        for _ in range(count)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    codes = [worker.exitcode for worker in workers]
    for worker in workers:
        worker.kill()  # one that hangs
    return codes


def _work(jobs: Sequence[tuple[BaseSampler, Job]], together: Barrier) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    os.fsync = no_waiting  # type: ignore[assignment]
    storages: dict[str, BaseStorage] = {}
    for sampler, job in jobs:
        together.wait(120)
        storage = storages.setdefault(job.storage, open_storage(job.storage))
        study = optuna.load_study(study_name=job.study, storage=storage, sampler=sampler)
        trials = job.trials
        if trials is None:
            complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            trials = job.until - len(complete)
        study.optimize(_objective(job), n_trials=trials)


def _objective(job: Job) -> Callable[[Trial], tuple[float, ...]]:
    def objective(trial: Trial) -> tuple[float, ...]:
        values = PROBLEMS[job.problem](trial)
        if trial.number == job.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    return objective
