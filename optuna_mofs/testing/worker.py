"""A worker process of the conformance suite: ``python -m optuna_mofs.testing.worker JOB``.

JOB is JSON: ``storage`` (SQLite URL, or the path of a journal file), ``studies`` (names),
``problem``, ``sampler`` (pickled, base64), ``trials`` (how many to run, or ``until``: how many
complete trials each study shall have), ``kill_at`` (number of the trial in the middle of which the
process kills itself).
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import signal
import subprocess
import sys
from typing import Any

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import Trial, TrialState

from optuna_mofs.testing.problems import PROBLEMS


def open_storage(where: str) -> BaseStorage:
    """SQLite by URL with patience for locks, or a journal file by path."""
    if "://" in where:
        return RDBStorage(where, engine_kwargs={"connect_args": {"timeout": 60}})
    return JournalStorage(JournalFileBackend(where))


def start(sampler: BaseSampler, **job: Any) -> subprocess.Popen[bytes]:
    """Start a worker process."""
    job["sampler"] = base64.b64encode(pickle.dumps(sampler)).decode()
    command = [sys.executable, "-m", "optuna_mofs.testing.worker", json.dumps(job)]
    return subprocess.Popen(command, env={**os.environ, "OMP_NUM_THREADS": "1"})


def main(job: dict[str, Any]) -> None:
    """Run a job."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    problem = PROBLEMS[job["problem"]]
    kill_at = job.get("kill_at")

    def objective(trial: Trial) -> tuple[float, ...]:
        values = problem(trial)
        if trial.number == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        return values

    storage = open_storage(job["storage"])
    for name in job["studies"]:
        sampler = pickle.loads(base64.b64decode(job["sampler"]))
        study = optuna.load_study(study_name=name, storage=storage, sampler=sampler)
        trials = job.get("trials")
        if trials is None:
            complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
            trials = job["until"] - len(complete)
        study.optimize(objective, n_trials=trials)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
