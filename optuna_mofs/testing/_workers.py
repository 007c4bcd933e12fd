"""Worker processes of the conformance suite.

They are forked from a server that has imported the package but none of the tests: new processes
that do not repeat imports of several seconds.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Barrier

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import Trial, TrialState

from optuna_mofs.testing.problems import PROBLEMS

#: Imported once by the server. Without the last three, the first database of a process is slow.
_PRELOADED = [__name__, "alembic.command", "sqlalchemy.orm", "sqlalchemy.dialects.sqlite"]


@dataclass(frozen=True)
class Job:
    """The task of a worker: ``n_trials`` trials of a study, or until ``n_completed`` are there."""

    storage: str  # URL of a database, or path of a journal file
    study: str
    problem: str
    n_trials: int | None = None
    n_completed: int = 0
    kill_at: int | None = None  # number of the trial in which the process kills itself


def skip_fsync(file: object) -> None:
    """Replace ``os.fsync``: tests need files to survive a killed process, not a power failure."""


def open_storage(where: str) -> BaseStorage:
    """Open a database by URL, or a journal file by path. SQLite waits a minute for locks."""
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


def run_workers(
    make_sampler: Callable[[], BaseSampler], jobs: Sequence[Job], n_workers: int = 1
) -> list[int | None]:
    """Run all jobs in each of ``n_workers`` new processes, and return their exit codes.

    The processes start each job at the same time. Samplers are created here, one per job and
    process, and pickled.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    barrier = context.Barrier(n_workers)
    workers: list[BaseProcess] = [
        context.Process(target=_work, args=([(make_sampler(), job) for job in jobs], barrier))
        for _ in range(n_workers)
    ]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(300)
    codes = [worker.exitcode for worker in workers]
    for worker in workers:
        worker.kill()  # in case it hangs
    return codes


def _work(jobs: Sequence[tuple[BaseSampler, Job]], barrier: Barrier) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    os.fsync = skip_fsync  # type: ignore[assignment]
    storages: dict[str, BaseStorage] = {}
    for sampler, job in jobs:
        barrier.wait(120)
        storage = storages.setdefault(job.storage, open_storage(job.storage))
        study = optuna.load_study(study_name=job.study, storage=storage, sampler=sampler)
        n_trials = job.n_trials
        if n_trials is None:
            completed = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            n_trials = job.n_completed - len(completed)
        study.optimize(partial(_evaluate, job), n_trials=n_trials)


def _evaluate(job: Job, trial: Trial) -> tuple[float, ...]:
    values = PROBLEMS[job.problem](trial)
    if trial.number == job.kill_at:
        os.kill(os.getpid(), signal.SIGKILL)
    return values
