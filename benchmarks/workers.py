"""What many workers do to a search, by simulation in virtual time.

    python -m benchmarks.workers --keep FILE
    python -m benchmarks.workers --samplers genetic lexiflow --workers 1 64 1000

Evaluations take random times (log-normal, mean 1), results arrive with a delay, and a part of the
workers dies in the middle of a trial and is replaced; after a while its trial fails, as heartbeats
would make it. Proposals take no time: what they cost is in ``benchmarks.overhead``. Everything
happens in one process in the order of the virtual clock, so that two cores can simulate a thousand
workers. The objective has 100 features, of which 10 are useful, and five floats.

The hypervolume is given after equal numbers of trials, and after equal time. Calls of the storage
per trial, times trials per second, are the load on it.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.common import markdown_table, parser  # first: it sets threads

import moocore  # isort: skip
import numpy as np
import optuna
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.trial import FrozenTrial, TrialState

from benchmarks.overhead import SAMPLERS, make_objective
from benchmarks.parallel import configurations

PEERS: dict[str, Callable[[int], BaseSampler]] = {
    "Optuna NSGA-II": lambda seed: NSGAIISampler(seed=seed),
    "random": lambda seed: RandomSampler(seed=seed),
}
WORKERS = (1, 4, 16, 64, 256, 1_000)
#: Error and fraction of features beyond which a trial does not count.
REFERENCE = (1.5, 1.0)


@dataclass(frozen=True)
class Conditions:
    """How evaluations go.

    Args:
        spread: Standard deviation of the logarithm of the lengths.
        delay: Mean of the exponential delay after which a result arrives.
        death: Part of the trials in which the worker dies.
        timeout: Time after its death when the trial fails and a new worker begins.
    """

    spread: float = 0.7
    delay: float = 0.1
    death: float = 0.03
    timeout: float = 1.0


class CountedStorage(InMemoryStorage):
    """A storage in memory: samplers read the lists of the original one directly."""


class CallCounter:
    """Counts calls of a storage, by reading and writing."""

    def __init__(self, storage: BaseStorage) -> None:
        self.calls: Counter[str] = Counter()
        for name in dir(BaseStorage):
            if name.startswith(("get_", "set_", "create_", "check_")):
                setattr(storage, name, self._counted(getattr(storage, name)))

    def _counted(self, inner: Callable[..., Any]) -> Callable[..., Any]:
        kind = "writes" if inner.__name__.startswith(("set_", "create_")) else "reads"

        def outer(*args: Any, **options: Any) -> Any:
            self.calls[kind] += 1
            return inner(*args, **options)

        return outer


def simulate(
    sampler: BaseSampler,
    workers: int,
    *,
    n_trials: int,
    duration: float,
    seed: int,
    conditions: Conditions = Conditions(),
    features: int = 100,
) -> dict[str, Any]:
    """Run until so many trials are complete and so much time has passed; return what came out."""
    rng = np.random.default_rng([seed, workers])
    objective = make_objective(features, "packed")
    storage = CountedStorage()
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler, storage=storage)
    counter = CallCounter(storage)
    order, events = count(), []
    done: list[tuple[float, tuple[float, float]]] = []

    def begin(now: float) -> None:
        trial = study.ask()
        values = objective(trial)
        length = rng.lognormal(-(conditions.spread**2) / 2, conditions.spread)
        if rng.random() < conditions.death:
            end, found = now + rng.random() * length + conditions.timeout, None
        else:
            end, found = now + length + rng.exponential(conditions.delay), values
        heapq.heappush(events, (end, next(order), trial, found))

    for _ in range(workers):
        begin(0.0)
    while len(done) < n_trials or events[0][0] < duration:
        now, _, trial, values = heapq.heappop(events)
        if values is None:
            study.tell(trial, state=TrialState.FAIL)
        else:
            study.tell(trial, values)
            done.append((now, values))
        begin(now)
    trials = study.get_trials(deepcopy=False)
    counts = configurations(trials)
    return {
        "equal trials": hypervolume([values for _, values in done[:n_trials]]),
        "equal time": hypervolume([values for at, values in done if at <= duration]),
        "in time": sum(at <= duration for at, _ in done),
        "repeats": started_twice(trials),
        "completed": sum(counts.values()),
        **{kind: calls / len(trials) for kind, calls in counter.calls.items()},
    }


def started_twice(trials: list[FrozenTrial]) -> int:
    """Return how many trials have the parameters of an earlier one, complete or not."""
    seen = Counter(tuple(sorted(t.params.items())) for t in trials if t.state != TrialState.FAIL)
    return sum(seen.values()) - len(seen)


def hypervolume(points: list[tuple[float, float]]) -> float:
    """Return the hypervolume below the reference point, 0 without points."""
    inside = [point for point in points if all(v < r for v, r in zip(point, REFERENCE))]
    if not inside:
        return 0.0
    return float(moocore.hypervolume(np.array(inside), ref=np.array(REFERENCE)))


def main() -> None:
    options = parser(__doc__ or "", seeds=1)
    names = [*SAMPLERS, *PEERS]
    options.add_argument("--samplers", nargs="+", choices=names, default=names)
    options.add_argument("--workers", nargs="+", type=int, default=list(WORKERS))
    options.add_argument("--trials", type=int, default=500, help="completed trials")
    options.add_argument("--duration", type=float, default=2.0, help="in mean evaluations")
    options.add_argument("--keep", type=Path, metavar="FILE", help="append results as JSON lines")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    n_trials = 60 if args.quick else args.trials
    workers = [1, 8] if args.quick else args.workers
    tables: dict[str, list[list[Any]]] = {"equal trials": [], "equal time": []}
    costs = []
    for name in args.samplers:
        cells: dict[str, list[Any]] = {kind: [name] for kind in tables}
        repeats, calls = 0, ["", ""]
        for size in workers:
            found = []
            for seed in range(args.seeds):
                made = (SAMPLERS | PEERS)[name](seed)
                result = simulate(made, size, n_trials=n_trials, duration=args.duration, seed=seed)
                found.append(result)
                if args.keep is not None:
                    with args.keep.open("a") as file:
                        print(json.dumps([name, size, n_trials, seed, result]), file=file)
            for kind in tables:
                cells[kind].append(f"{np.mean([one[kind] for one in found]):.3f}")
            repeats += sum(one["repeats"] for one in found)
            calls = [f"{found[-1][kind]:.1f}" for kind in ("writes", "reads")]
        for kind, rows in tables.items():
            rows.append(cells[kind])
        costs.append([name, repeats, *calls])
        print(cells, repeats, flush=True)
    head = [f"{size:,}" for size in workers]
    print(f"\n### Hypervolume after {n_trials:,} trials, by number of workers\n")
    print(markdown_table(["sampler", *head], tables["equal trials"]))
    print(f"\n### Hypervolume after the time of {args.duration:g} evaluations\n")
    print(markdown_table(["sampler", *head], tables["equal time"]))
    print("\n### Calls of the storage per trial\n")
    print(markdown_table(["sampler", "repeated configurations", "writes", "reads"], costs))


if __name__ == "__main__":
    main()
