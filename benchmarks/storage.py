"""Cost of a mask of many features in SQLite, compared to ten booleans.

``python -m benchmarks.storage`` (about two minutes), or ``--quick`` for a small run.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import optuna
from optuna.storages import RDBStorage
from sqlalchemy import event

from benchmarks.common import Spread, markdown_table, parser
from optuna_mofs import FeatureTable, suggest_features
from optuna_mofs.features._mask_sampling import subset_of_size
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext

FEATURES = 10_935
SELECTED = 50
BOOLEANS = 10
#: Limits: ratio of times, bytes per trial, seconds to read all trials.
MAX_RATIO, MAX_BYTES, MAX_SECONDS = 1.0, 5_000, 3.0


class FixedSizeSampler(HistorySampler):
    """Proposes random masks of a fixed size."""

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return a random mask."""
        assert ctx.history.table is not None
        mask = subset_of_size(ctx.rng, SELECTED, len(ctx.history.table.free))
        return Proposal(ctx.history.space.sample(ctx.rng)[0], mask)


def masked_trial(study: optuna.Study, table: FeatureTable) -> None:
    trial = study.ask()
    chosen = suggest_features(trial, table)
    study.tell(trial, [trial.number % 97 / 97, float(chosen.sum() + trial.number % 31)])


def plain_trial(study: optuna.Study) -> None:
    trial = study.ask()
    chosen = [trial.suggest_categorical(f"x{j}", [False, True]) for j in range(BOOLEANS)]
    study.tell(trial, [trial.number % 97 / 97, float(sum(chosen) + trial.number % 31)])


def open_studies(folder: Path) -> tuple[optuna.Study, optuna.Study, FeatureTable]:
    table = FeatureTable(tuple(f"probe_{j:05d}" for j in range(FEATURES)))
    both = ["minimize", "minimize"]
    masked = optuna.create_study(
        study_name="masked",
        directions=both,
        storage=f"sqlite:///{folder}/masked.db",
        sampler=FixedSizeSampler(seed=1),
    )
    plain = optuna.create_study(
        study_name="plain",
        directions=both,
        storage=f"sqlite:///{folder}/plain.db",
        sampler=optuna.samplers.RandomSampler(seed=1),
    )
    return masked, plain, table


def paired_times(
    masked: optuna.Study, plain: optuna.Study, table: FeatureTable, pairs: int
) -> tuple[list[float], list[float]]:
    """Return milliseconds of both kinds of trials, measured in turns under the same load."""
    times: tuple[list[float], list[float]] = ([], [])
    for i in range(pairs):
        turns = [(0, lambda: masked_trial(masked, table)), (1, lambda: plain_trial(plain))]
        for which, run in turns if i % 2 else turns[::-1]:
            start = time.perf_counter()
            run()
            times[which].append(1000 * (time.perf_counter() - start))
    return times


def fill(folder: Path, table: FeatureTable, count: int) -> None:
    """Add trials to the study of masks up to ``count``, without waiting for the disk."""
    storage = RDBStorage(f"sqlite:///{folder}/masked.db")

    @event.listens_for(storage.engine, "connect")
    def _no_sync(connection: Any, record: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")

    storage.engine.dispose()
    study = optuna.load_study(
        study_name="masked", storage=storage, sampler=FixedSizeSampler(seed=1)
    )
    while len(study.get_trials(deepcopy=False)) < count:
        masked_trial(study, table)


# Runs in a new process, which has imported everything and read nothing. Every way of copying a
# trial, alone or inside a list, calls __reduce_ex__.
_READ = """
import json, sys, time
import optuna, optuna_mofs
copied = 0
def counting(self, protocol):
    global copied
    copied += 1
    return object.__reduce_ex__(self, protocol)
optuna.trial.FrozenTrial.__reduce_ex__ = counting
start = time.perf_counter()
study = optuna.load_study(study_name="masked", storage=sys.argv[1])
opened = time.perf_counter() - start
count = len(study.get_trials(deepcopy=False))
read = time.perf_counter() - start
copied = 0
start = time.perf_counter()
front = optuna_mofs.pareto_front(study)
front_seconds, front_copied = time.perf_counter() - start, copied
start = time.perf_counter()
best = study.best_trials
print(json.dumps({
    "count": count, "opened": opened, "read": read,
    "front": front_seconds, "front_copied": front_copied,
    "best": time.perf_counter() - start, "best_copied": copied - front_copied,
    "same": sorted(t.number for t in front) == sorted(t.number for t in best),
}))
"""


def read_cold(folder: Path) -> dict[str, Any]:
    """Read the study of masks in a new process."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, f"sqlite:///{folder}/masked.db"],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def verdict(value: float, limit: float) -> str:
    return "yes" if value <= limit else "**no**"


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--folder", help="folder of the databases (default: temporary)")
    arguments = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    pairs, count = (20, 200) if arguments.quick else (200, 2_000)
    with tempfile.TemporaryDirectory(dir=arguments.folder) as name:
        folder = Path(name)
        masked, plain, table = open_studies(folder)
        paired_times(masked, plain, table, 3)  # the first trials create tables and caches
        empty = (folder / "masked.db").stat().st_size
        ours, theirs = paired_times(masked, plain, table, pairs)
        ratio = Spread.quartiles([a / b for a, b in zip(ours, theirs)])
        fill(folder, table, count)
        size = ((folder / "masked.db").stat().st_size - empty) / (count - 3)
        reads = [read_cold(folder) for _ in range(arguments.seeds)]
    seconds = Spread.of([r["read"] for r in reads])
    last = reads[-1]
    assert last["same"], "pareto_front and study.best_trials differ"
    assert last["count"] == count
    wide = f"{FEATURES:,} features, {SELECTED} selected"
    rows = [
        [f"trial with a mask of {wide}: ms", Spread.quartiles(ours), "", ""],
        [f"trial with {BOOLEANS} booleans: ms", Spread.quartiles(theirs), "", ""],
        ["ratio of the two", ratio, MAX_RATIO, verdict(ratio.median, MAX_RATIO)],
        ["bytes of database per trial", int(size), MAX_BYTES, verdict(size, MAX_BYTES)],
        ["open the study in a new process: s", Spread.of([r["opened"] for r in reads]), "", ""],
        [
            f"open it and read {count:,} trials: s",
            seconds,
            MAX_SECONDS,
            verdict(seconds.median, MAX_SECONDS),
        ],
        ["front by `pareto_front`: s", Spread.of([r["front"] for r in reads]), "", ""],
        [
            "trials copied by it",
            last["front_copied"],
            0,
            verdict(last["front_copied"], 0),
        ],
        ["front by `study.best_trials`: s", Spread.of([r["best"] for r in reads]), "", ""],
        ["trials copied by it", last["best_copied"], "", ""],
    ]
    print(markdown_table(["on SQLite", "median [spread]", "limit", "passed"], rows))


if __name__ == "__main__":
    main()
