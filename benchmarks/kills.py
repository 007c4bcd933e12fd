"""Kill test: a study that is killed again and again has the trials of an uninterrupted one.

A process runs trials and is killed by SIGKILL at a random moment: in a suggestion, in a write to
the storage, in the evaluation, while it recovers from the kill before. The next process repeats
the interrupted trial and goes on. Each study is compared with one that ran without a kill.

``python -m benchmarks.kills`` (1,000 kills), or ``--quick``. PostgreSQL needs its server programs.
"""

from __future__ import annotations

import multiprocessing
import random
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, JournalStorage
from optuna.study import Study
from optuna.trial import TrialState

import optuna_mofs
from benchmarks.common import markdown_table, parser
from optuna_mofs import retry_interrupted
from optuna_mofs._optuna import close_connections
from optuna_mofs._storage import JournalFile
from optuna_mofs.history._history import History
from optuna_mofs.testing import _workers
from optuna_mofs.testing.problems import PROBLEMS, make_study

STORAGES = ("sqlite", "journal", "postgresql")
SAMPLERS: dict[str, Callable[[int], BaseSampler]] = {
    "nsga2": lambda seed: optuna_mofs.FilterEnsembleNSGA2Sampler(seed=seed, n_startup_trials=8),
    "parego": lambda seed: optuna_mofs.ParEGOSampler(seed=seed, n_startup_trials=8),
    "smsego": lambda seed: optuna_mofs.SMSEGOSampler(seed=seed, n_startup_trials=8),
    "ghga": lambda seed: optuna_mofs.GHGASampler(seed=seed, n_startup_trials=8),
    "lexiflow": lambda seed: optuna_mofs.LexiFlowSampler(seed=seed, n_startup_trials=8),
    "moead": lambda seed: optuna_mofs.MOEADSampler(seed=seed, population_size=8),
}
PROBLEM_NAMES = ("packed", "mixed", "bits")
#: Longest time to the first kill of a study; later ones depend on how far the process came.
FIRST_SECONDS = 0.4
#: A study gets at most so many kills, and then so many seconds to end.
MAX_KILLS, LAST_SECONDS = 200, 300.0


def open_storage(where: str) -> BaseStorage:
    """Open a storage; a journal frees the lock of a killed process after a second."""
    if "://" in where:
        return optuna_mofs.storage(where)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # one second is short, but not here
        return JournalStorage(JournalFile(where, grace_period=1))


@dataclass(frozen=True)
class Task:
    """A study that is continued by one process after the other."""

    storage: str
    study: str
    sampler: str
    problem: str
    seed: int
    n_trials: int

    def run(self, ready: Connection) -> None:
        """Repeat the interrupted trial, and go on until all trials are completed."""
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        _workers.os.fsync = _workers.skip_fsync  # type: ignore[attr-defined]
        study = optuna.load_study(
            study_name=self.study,
            storage=open_storage(self.storage),
            sampler=SAMPLERS[self.sampler](self.seed),
        )
        ready.send("ready")
        retry_interrupted(study)
        complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        study.optimize(
            PROBLEMS[self.problem],
            n_trials=self.n_trials - len(complete),
            callbacks=[lambda study, trial: ready.send("trial")],
        )


def run_and_kill(task: Task, rng: random.Random, max_kills: int) -> int:
    """Run a task to its end in processes that are killed, and return the number of kills."""
    context = multiprocessing.get_context("fork")  # quick, and this process has no threads
    longest = FIRST_SECONDS
    for n_kills in range(max_kills + 1):
        here, there = context.Pipe(duplex=False)
        process = context.Process(target=task.run, args=(there,))
        process.start()
        there.close()
        if not _received(here):
            process.join()
            raise RuntimeError(f"{task} ended with exit code {process.exitcode}")
        process.join(rng.uniform(0, longest) if n_kills < max_kills else LAST_SECONDS)
        if process.exitcode == 0:
            return n_kills
        if process.exitcode is not None:
            raise RuntimeError(f"{task} ended with exit code {process.exitcode}")
        process.kill()
        process.join()
        # About one trial per process, however busy the machine is.
        longest *= 0.8 if _received(here) else 1.25
    raise RuntimeError(f"{task} did not end in {LAST_SECONDS} seconds without a kill")


def _received(connection: Connection) -> bool:
    """Return whether there is a message, before the other end is closed."""
    try:
        connection.recv()
    except EOFError:
        return False
    return True


def outcomes(study: Study) -> list[Any]:
    """Return parameters, values and features of the completed trials, repeats in their place."""
    history = History()
    history.update(study)
    complete = study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
    return [
        (sorted(t.params.items()), t.values, t.user_attrs.get("features"))
        for t in sorted(complete, key=history.position)
    ]


def compare(found: Sequence[Any], expected: Sequence[Any]) -> dict[str, int]:
    """Return how many trials were lost, repeated, and differ from the uninterrupted ones."""
    counted, wanted = Counter(map(repr, found)), Counter(map(repr, expected))
    return {
        "trials": len(found),
        "lost": max(0, len(expected) - len(found)),
        "repeated": sum((counted - wanted)[key] for key in wanted),
        "different": sum(repr(a) != repr(b) for a, b in zip(found, expected)),
    }


def main() -> None:
    """Kill processes and print one row per storage."""
    options = parser(__doc__ or "", seeds=1)
    options.add_argument("--kills", type=int, default=1000, metavar="N", help="number of kills")
    options.add_argument("--trials", type=int, default=40, metavar="N", help="trials per study")
    options.add_argument("--storages", nargs="+", choices=STORAGES, default=STORAGES)
    options.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=list(SAMPLERS))
    options.add_argument("--keep", type=Path, metavar="FILE", help="append each study to a file")
    arguments = options.parse_args()
    if arguments.quick:
        arguments.kills, arguments.trials = 6 * len(arguments.storages), 10
    sys.exit(0 if run(arguments) else 1)


def run(arguments: Any) -> bool:
    """Run the test, print its table, and return whether nothing was lost, repeated or changed."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    totals = {kind: Counter[str]() for kind in arguments.storages}
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        urls = {"sqlite": f"sqlite:///{folder}/kills.db", "journal": f"{folder}/kills.log"}
        if "postgresql" in arguments.storages:
            from tests.servers import postgresql

            urls["postgresql"] = stack.enter_context(postgresql())
        begin, seed = time.monotonic(), 0
        while sum(t["kills"] for t in totals.values()) < arguments.kills:
            for sampler in arguments.samplers:
                for kind in arguments.storages:
                    if sum(t["kills"] for t in totals.values()) >= arguments.kills:
                        continue
                    found = _one_study(arguments, urls[kind], kind, sampler, seed)
                    totals[kind].update(found)
                    line = f"{kind} {sampler} seed {seed}: {found}"
                    print(f"{line}, {time.monotonic() - begin:.0f} s", file=sys.stderr, flush=True)
                    if arguments.keep:
                        with arguments.keep.open("a") as file:
                            file.write(line + "\n")
            seed += 1
    columns = ["studies", "kills", "trials", "lost", "repeated", "different"]
    rows = [[kind, *(str(total[c]) for c in columns)] for kind, total in totals.items()]
    print(markdown_table(["storage", *columns], rows))
    return not any(total[c] for total in totals.values() for c in columns[3:])


def _one_study(arguments: Any, where: str, kind: str, sampler: str, seed: int) -> dict[str, int]:
    problem = PROBLEM_NAMES[(seed + list(SAMPLERS).index(sampler)) % len(PROBLEM_NAMES)]
    expected = make_study(problem, sampler=SAMPLERS[sampler](seed))
    expected.optimize(PROBLEMS[problem], n_trials=arguments.trials)
    storage = open_storage(where)
    study = make_study(problem, storage=storage, study_name=f"{sampler} {seed}")
    close_connections(study)  # the processes must not share them
    task = Task(where, study.study_name, sampler, problem, seed, arguments.trials)
    rng = random.Random(f"{kind} {sampler} {seed}")
    n_kills = run_and_kill(task, rng, MAX_KILLS)
    again = optuna.load_study(study_name=study.study_name, storage=open_storage(where))
    return {"studies": 1, "kills": n_kills, **compare(outcomes(again), outcomes(expected))}


if __name__ == "__main__":
    main()
