"""How many trials per second a storage carries: processor time per trial, of workers and server.

    python -m benchmarks.throughput
    python -m benchmarks.throughput --storages sqlite journal --trials 200

One process runs trials that take no time themselves, while 15 other trials are running, as those
of 15 other workers would be. Processor time can be measured on a busy machine, trials per second
cannot: they are what one core would do by these times. With trials of t seconds and r trials per
second, r × t workers are busy. Waiting for a disk is not included: the servers are set not to wait
for it (``tests/servers.py``).
"""

from __future__ import annotations

import json
import os
import re
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table, parser  # first: it sets threads

import optuna  # isort: skip
from optuna.storages import BaseStorage, GrpcStorageProxy, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend

import optuna_mofs
from benchmarks.overhead import SAMPLERS, table
from benchmarks.parallel import evaluate, suggest_rates
from optuna_mofs import suggest_features

PEER = "Optuna NSGAIISampler"
_RUNNING = 15
_TICKS = os.sysconf("SC_CLK_TCK")


def server_seconds() -> float:
    """Return the processor time of all descendants of this process, ended ones included."""
    parents, seconds = {}, {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = re.sub(r".*\) ", "", entry.read_text(), flags=re.DOTALL).split()
        except OSError:
            continue  # it has ended
        pid = int(entry.parent.name)
        parents[pid] = int(fields[1])
        seconds[pid] = sum(map(int, fields[11:15])) / _TICKS
    inside = {os.getpid()}
    for _ in range(4):  # runuser, the server, its processes
        inside |= {pid for pid, parent in parents.items() if parent in inside}
    return sum(seconds.get(pid, 0.0) for pid in inside - {os.getpid()})


@contextmanager
def sqlite() -> Iterator[Callable[[], BaseStorage]]:
    with tempfile.TemporaryDirectory() as folder:
        yield partial(optuna_mofs.storage, f"{folder}/a.db")


@contextmanager
def sqlite_of_optuna() -> Iterator[Callable[[], BaseStorage]]:
    with tempfile.TemporaryDirectory() as folder:
        yield partial(RDBStorage, f"sqlite:///{folder}/a.db")


@contextmanager
def journal() -> Iterator[Callable[[], BaseStorage]]:
    with tempfile.TemporaryDirectory() as folder:
        yield partial(optuna_mofs.journal, f"{folder}/a.log")


@contextmanager
def journal_of_optuna() -> Iterator[Callable[[], BaseStorage]]:
    with tempfile.TemporaryDirectory() as folder:
        yield lambda: JournalStorage(JournalFileBackend(f"{folder}/a.log"))


@contextmanager
def server(kind: str, open_url: Callable[[str], BaseStorage]) -> Iterator[Any]:
    from tests.servers import SERVERS

    running: Any = SERVERS[kind]()
    with running as url:
        yield partial(open_url, url)


def _serve(url: str, port: int) -> None:
    optuna.storages.run_grpc_proxy_server(optuna_mofs.storage(url), host="localhost", port=port)


@contextmanager
def grpc_proxy() -> Iterator[Callable[[], BaseStorage]]:
    """Run a proxy in front of PostgreSQL; the times of both count as that of the server."""
    import multiprocessing

    from tests.servers import SERVERS

    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    running: Any = SERVERS["postgresql"]()
    with running as url:
        proxy = multiprocessing.get_context("spawn").Process(target=_serve, args=(url, port))
        proxy.start()
        storage = GrpcStorageProxy(host="localhost", port=port)
        storage.wait_server_ready(timeout=120)
        try:
            yield lambda: storage
        finally:
            storage.close()
            proxy.terminate()
            proxy.join()


STORAGES: dict[str, Callable[[], Any]] = {
    "sqlite": sqlite,
    "sqlite, Optuna": sqlite_of_optuna,
    "journal": journal,
    "journal, Optuna": journal_of_optuna,
    "postgresql": partial(server, "postgresql", optuna_mofs.storage),
    "postgresql, Optuna": partial(server, "postgresql", RDBStorage),
    "mariadb": partial(server, "mariadb", optuna_mofs.storage),
    "mariadb, Optuna": partial(server, "mariadb", RDBStorage),
    "grpc": grpc_proxy,
}


def measure(
    open_storage: Callable[[], BaseStorage], name: str, features: int, trials: int
) -> tuple[float, float]:
    """Return milliseconds of processor time per trial: of the worker, and of the server."""
    is_peer = name == PEER
    data = None if is_peer else table(features)
    sampler = optuna.samplers.NSGAIISampler(seed=0) if is_peer else SAMPLERS[name](0)
    study = optuna.create_study(
        study_name=name, storage=open_storage(), sampler=sampler, directions=["minimize"] * 2
    )
    objective = partial(evaluate, data, 0.0)
    study.optimize(objective, n_trials=trials)
    for _ in range(_RUNNING):
        trial = study.ask()
        if data is not None:
            suggest_features(trial, data)
        suggest_rates(trial)
    own, others = time.process_time(), server_seconds()
    study.optimize(objective, n_trials=trials)
    found = (time.process_time() - own, server_seconds() - others)
    return 1000 * found[0] / trials, 1000 * found[1] / trials


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--storages", nargs="+", choices=list(STORAGES), default=list(STORAGES))
    options.add_argument("--sampler", choices=list(SAMPLERS), default="genetic")
    options.add_argument("--trials", type=int, default=100, help="before, and measured")
    options.add_argument("--features", type=int, default=500)
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results as JSON lines")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    trials = 10 if args.quick else args.trials
    rows = []
    for storage in args.storages:
        found = {}
        for name in (PEER, args.sampler):
            with STORAGES[storage]() as open_storage:
                found[name] = measure(open_storage, name, args.features, trials)
            if args.keep is not None:
                with args.keep.open("a") as file:
                    print(
                        json.dumps([storage, name, trials, args.features, found[name]]), file=file
                    )
        own, serving = found[args.sampler]
        peer_own, peer_serving = found[PEER]
        row = [storage, f"{peer_own:.1f}", f"{own:.1f}", f"{peer_serving:.1f}", f"{serving:.1f}"]
        row.append(f"{1000 / serving:.0f}" if serving >= 0.1 else "")
        row.append(f"{1000 / (own + serving):.0f}")
        rows.append(row)
        print(row, file=sys.stderr, flush=True)
    header = ["storage", "worker: Optuna's NSGA-II", f"worker: {args.sampler}"]
    header += ["server: Optuna's NSGA-II", f"server: {args.sampler}"]
    header += ["trials per second and core of the server", "all on one core"]
    print(f"Milliseconds per trial, and trials per second\n\n{markdown_table(header, rows)}")


if __name__ == "__main__":
    main()
