"""Runs of a benchmark, new ones and finished ones."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer

from benchmarks.common import load

#: A data set that comes with scikit-learn, for small runs.
BREAST_CANCER = "breast_cancer"


@dataclass(frozen=True)
class Job:
    """One run.

    Args:
        part: Part of the benchmark.
        task: Data set, and learner if there is a choice.
        rows: Maximum number of rows.
        folds: Number of folds of the cross-validation.
        trials: Number of trials.
        method: Name of the method.
        seed: Seed.
        folder: Folder of the data; not part of the identity of a run.
    """

    part: str
    task: str
    rows: int
    folds: int
    trials: int
    method: str
    seed: int
    folder: str = field(default="", compare=False)


Result = dict[str, Any]


def collect(
    run: Callable[[Job], Result], jobs: Iterable[Job], workers: int, keep: Path | None
) -> dict[Job, Result]:
    """Return the results of all jobs; those in the file ``keep`` are not run again.

    Args:
        run: Runs a job and returns a JSON value.
        jobs: The jobs.
        workers: Number of processes.
        keep: File of finished runs, to which new ones are added.
    """
    found = finished(keep)
    todo = [job for job in jobs if job not in found]
    if workers == 1:
        made: Iterable[Result] = map(run, todo)
        return found | _watched(todo, made, keep)
    with ProcessPoolExecutor(workers) as pool:
        return found | _watched(todo, pool.map(run, todo), keep)


def _watched(jobs: list[Job], results: Iterable[Result], keep: Path | None) -> dict[Job, Result]:
    found = {}
    for job, result in zip(jobs, results):
        found[job] = result
        print(job.part, job.task, job.method, job.seed, file=sys.stderr, flush=True)
        if keep is not None:
            line = {**asdict(job), "folder": "", "result": result}
            with keep.open("a") as file:
                file.write(json.dumps(line) + "\n")
    return found


def finished(keep: Path | None) -> dict[Job, Result]:
    """Return the runs in a file that :func:`collect` wrote."""
    if keep is None or not keep.exists():
        return {}
    found = {}
    for line in map(json.loads, keep.read_text().splitlines()):
        result = line.pop("result")
        found[Job(**line)] = result
    return found


@lru_cache(maxsize=8)
def table(folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return data with two classes; the rarer one is 1."""
    if name == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        data = load(Path(folder) if folder else None, name)
        X, y = np.asarray(data["X"], dtype=float), data["y"]
    labels, counts = np.unique(y, return_counts=True)
    return X, (y == labels[counts.argmin()]).astype(int)
