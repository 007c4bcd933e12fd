"""Worker processes of the conformance suite.

They are forked from a server that has imported the package once and nothing of the tests: each is
a new process, without the seconds that the imports would take in each.
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

#: Imported once by the server. Without the last three, the first database of a process is slow.
_PRELOADED = [__name__, "alembic.command", "sqlalchemy.orm", "sqlalchemy.dialects.sqlite"]


@dataclass(frozen=True)
class Job:
    """What a worker does with one study.

    Args:
        storage: URL of a database, or path of a journal file.
        study: Name of the study.
        problem: Name of its problem.
        n_trials: Number of trials to run; None to run until ``n_completed`` is reached.
        n_completed: Number of completed trials that the study has in the end.
        kill_at: Number of the trial in the middle of which the process kills itself.
    """

    storage: str
    study: str
    problem: str
    n_trials: int | None = None
    n_completed: int = 0
    kill_at: int | None = None


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
    """Run jobs in new processes, all jobs in each, and wait for them.

    Args:
        make_sampler: Makes a sampler. It is called here, once per job and process, and the sampler
            is pickled.
        jobs: The jobs. The processes start each of them at the same time.
        n_workers: Number of processes.

    Returns:
        The exit codes of the processes.
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
        study.optimize(_objective(job), n_trials=n_trials)


def _objective(job: Job) -> Callable[[Trial], tuple[float, ...]]:
    def objective(trial: Trial) -> tuple[float, ...]:
        values = PROBLEMS[job.problem](trial)
        if trial.number == job.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    return objective
