"""Many processes on one database: repeated configurations, and trials per second.

    python -m benchmarks.parallel --workers 16 --trials 2000 --features 5000
    python -m benchmarks.parallel --server mariadb --samplers lexiflow --trials 400

A server is started in a temporary folder (``--storage URL`` uses another database). All workers
start at the same moment; the first thing that they do is to open the empty database. A trial
takes ``--work`` seconds in which the processor is idle, so that the workers do not compete for
it. A configuration counts as repeated if an earlier trial evaluated the same one. Optuna's
``NSGAIISampler`` with the hyperparameters alone runs in the same way, on Optuna's own storage and
on that of this package, which reads trials with fewer statements. CPU time is that of the workers,
without the server.
"""

from __future__ import annotations

import json
import multiprocessing
import multiprocessing.synchronize
import os
import time
from collections import Counter
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table, parser  # first: it sets threads

import numpy as np  # isort: skip
import optuna
from optuna.storages import RDBStorage
from optuna.trial import Trial, TrialState

import optuna_mofs
from benchmarks.overhead import SAMPLERS, table
from optuna_mofs import suggest_features

#: Name of the run without features.
PEER = "Optuna NSGAIISampler"
PEER_OURS = "Optuna NSGAIISampler, our storage"
_PRELOADED = ["benchmarks.overhead", "alembic.command", "sqlalchemy.orm"]


def suggest_rates(trial: Trial) -> float:
    """Return the error of three hyperparameters."""
    rates = [trial.suggest_float(f"rate{i}", 1e-3, 1, log=True) for i in range(3)]
    return 0.01 * float(np.abs(np.log(rates)).sum())


def evaluate(features: Any, seconds: float, trial: Trial) -> tuple[float, float]:
    """Return an error and a fraction of features; every tenth feature is useful."""
    error, fraction = 0.0, 0.0
    if features is not None:
        mask = suggest_features(trial, features)
        useful = np.arange(len(mask)) % max(1, len(mask) // 10) == 0
        error, fraction = float(np.mean(~mask[useful])), float(mask.mean())
    error += suggest_rates(trial)
    time.sleep(seconds)
    return error, fraction


def configurations(trials: list[optuna.trial.FrozenTrial]) -> Counter[tuple[Any, ...]]:
    """Count the completed trials by configuration; equal integers of masks are equal sets."""
    done = (t for t in trials if t.state == TrialState.COMPLETE)
    return Counter(tuple(sorted(t.params.items())) for t in done)


def work(
    name: str,
    url: str,
    n_trials: int,
    features: int,
    seconds: float,
    barrier: multiprocessing.synchronize.Barrier,
    begun: Any,
    seconds_of_cpu: Any,
) -> None:
    """Open the database together with the other workers, and run trials until all are done."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    is_peer = name in (PEER, PEER_OURS)
    data = None if is_peer else table(features)
    seed = os.getpid() if is_peer else 0
    sampler = optuna.samplers.NSGAIISampler(seed=seed) if is_peer else SAMPLERS[name](seed)
    barrier.wait(300)
    study = optuna.create_study(
        study_name=name,
        storage=optuna_mofs.storage(url),
        sampler=sampler,
        directions=["minimize"] * 2,
        load_if_exists=True,
    )
    barrier.wait(300)
    if name == PEER:  # the tables are there
        study = optuna.load_study(study_name=name, storage=RDBStorage(url), sampler=sampler)
    with begun.get_lock():
        begun.value = begun.value or time.time()
    stop = optuna.study.MaxTrialsCallback(n_trials, states=None)
    used = time.process_time()
    study.optimize(partial(evaluate, data, seconds), callbacks=[stop])
    with seconds_of_cpu.get_lock():
        seconds_of_cpu.value += time.process_time() - used


def run(name: str, url: str, workers: int, **options: Any) -> dict[str, float]:
    """Run a study by several new processes, and return its counts."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    barrier, begun, used = (
        context.Barrier(workers),
        context.Value("d", 0.0),
        context.Value("d", 0.0),
    )
    shared = {"barrier": barrier, "begun": begun, "seconds_of_cpu": used}
    make = partial(context.Process, target=work, kwargs={**options, **shared})
    processes = [make(args=(name, url)) for _ in range(workers)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    ended = time.time()
    failed = sum(process.exitcode != 0 for process in processes)
    trials = optuna.load_study(study_name=name, storage=url).get_trials(deepcopy=False)
    counts = configurations(trials)
    rate = len(trials) / (ended - begun.value)
    repeats = sum(counts.values()) - len(counts)
    cpu = 1000 * used.value / len(trials)
    return {
        "trials": len(trials), "repeats": repeats, "rate": rate, "failed": failed, "cpu": cpu,
    }  # fmt: skip


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--workers", type=int, default=16)
    options.add_argument("--trials", type=int, default=2_000)
    options.add_argument("--features", type=int, default=5_000)
    options.add_argument("--work", type=float, default=0.05, help="seconds per trial")
    options.add_argument("--samplers", nargs="+", choices=list(SAMPLERS), default=list(SAMPLERS))
    options.add_argument("--server", choices=["postgresql", "mariadb"], default="postgresql")
    options.add_argument("--storage", metavar="URL", help="a database that is running")
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results as JSON lines")
    args = options.parse_args()
    workers, trials = (2, 30) if args.quick else (args.workers, args.trials)
    rows, rates = [], {}
    for name in [PEER, PEER_OURS, *args.samplers]:
        if args.storage is None:  # a new server per sampler, so that its database is empty
            from tests.servers import SERVERS

            server: Any = SERVERS[args.server]()
        else:
            server = nullcontext(args.storage)
        with server as url:
            found = run(
                name,
                url,
                workers,
                n_trials=trials,
                features=200 if args.quick else args.features,
                seconds=args.work,
            )
        if args.keep is not None:
            with args.keep.open("a") as file:
                print(json.dumps([name, args.server, workers, args.work, found]), file=file)
        rates[name] = found["rate"]
        ratio = found["rate"] / rates[PEER]
        counts = [found["trials"], found["repeats"], found["failed"]]
        numbers = [f"{found['rate']:.1f}", f"{ratio:.2f}", f"{found['cpu']:.0f}"]
        rows.append([name, *counts, *numbers])
        print(rows[-1], flush=True)
    header = ["sampler", "trials", "repeated", "workers that failed", "trials per second", "ratio"]
    header.append("ms of CPU per trial")
    print(f"\n{markdown_table(header, rows)}")


if __name__ == "__main__":
    main()
