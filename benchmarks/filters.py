"""Time of each filter and of the default ensemble on a long and on a wide data set.

Run ``python -m benchmarks.filters --data DIR --seeds 5``. ``DIR`` holds ``madelon.npz`` with keys
``X`` and ``y`` (2600 × 500); without it, data of the same shape are generated. The wide data
(546 × 10,935, with 50 planted features) are always generated. Prints a Markdown table.
"""

from __future__ import annotations

import argparse
import os
import time
from collections import defaultdict
from pathlib import Path

import numpy as np
from sklearn.datasets import make_classification

from optuna_mofs.filters import (
    DEFAULT_FILTERS,
    FilterData,
    FilterEnsemble,
    filter_names,
    get_filter,
)

LIMITS = {"long": 5.0, "wide": 60.0}
ENSEMBLE = "**default ensemble**"
# Not measured on the wide data, where it takes a minute or more.
SLOW = ("mutual_information",)


def make_data(kind: str, folder: Path | None, seed: int, quick: bool):
    """Return X, y and the positions of the planted features (or None)."""
    n, p, planted = (2600, 500, 20) if kind == "long" else (546, 10_935, 50)
    if quick:
        n, p = n // 4, p // 5
    elif kind == "long" and folder is not None and (folder / "madelon.npz").exists():
        with np.load(folder / "madelon.npz") as file:
            return file["X"], file["y"], None
    X, y = make_classification(
        n,
        p,
        n_informative=planted // 2,
        n_redundant=planted - planted // 2,
        shuffle=False,
        random_state=seed,
    )
    return X, y, np.arange(planted)


def measure(kind: str, folder: Path | None, seed: int, quick: bool, n_jobs: int):
    """Return shape, seconds per filter, and fraction of planted features that it ranks first."""
    X, y, planted = make_data(kind, folder, seed, quick)
    seconds, found = {}, {}
    start = time.perf_counter()
    data = FilterData(X, y, random_state=seed, n_jobs=n_jobs)
    _ = data.information
    seconds["(sort, bins, counts: shared)"] = time.perf_counter() - start
    for name, function in ((name, get_filter(name)) for name in filter_names()):
        if kind == "wide" and name in SLOW:
            continue
        if name in ("jmi", "cmim", "mrmr"):  # each alone, without the pair counts of another
            data = FilterData(X, y, random_state=seed, n_jobs=n_jobs)
            _ = data.information
        start = time.perf_counter()
        scores = function(data)
        seconds[name] = time.perf_counter() - start
        if planted is not None:
            first = np.argsort(-scores, kind="stable")[: len(planted)]
            found[name] = len(np.intersect1d(first, planted)) / len(planted)
    start = time.perf_counter()
    ensemble = FilterEnsemble(random_state=seed, n_jobs=n_jobs).fit(X, y)
    seconds[ENSEMBLE] = time.perf_counter() - start
    if planted is not None:
        first = np.argsort(-ensemble.aggregate(), kind="stable")[: len(planted)]
        found[ENSEMBLE] = len(np.intersect1d(first, planted)) / len(planted)
    return X.shape, seconds, found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, help="folder with madelon.npz")
    parser.add_argument("--seeds", type=int, default=5, help="repetitions")
    parser.add_argument("--quick", action="store_true", help="small data, one seed")
    parser.add_argument("--n-jobs", type=int, default=2, help="number of threads or processes")
    arguments = parser.parse_args()
    seeds = 1 if arguments.quick else arguments.seeds
    for kind, limit in LIMITS.items():
        seconds, found = defaultdict(list), defaultdict(list)
        for seed in range(seeds):
            shape, taken, share = measure(
                kind, arguments.data, seed, arguments.quick, arguments.n_jobs
            )
            for name, value in taken.items():
                seconds[name].append(value)
            for name, value in share.items():
                found[name].append(value)
        print(
            f"\n### {kind}: {shape[0]} × {shape[1]}, {seeds} seed(s), n_jobs={arguments.n_jobs}\n"
        )
        print("| filter | seconds: median | min to max |" + (" planted in top |" if found else ""))
        print("|---|---:|---:|" + ("---:|" if found else ""))
        for name, values in seconds.items():
            label = f"{name} (default)" if name in DEFAULT_FILTERS else name
            line = (
                f"| {label} | {np.median(values):.3f} | {min(values):.3f} to {max(values):.3f} |"
            )
            if found:
                line += f" {np.median(found[name]):.2f} |" if name in found else " |"
            print(line)
        if not arguments.quick:
            median = np.median(seconds[ENSEMBLE])
            verdict = "passed" if median <= limit else "FAILED"
            print(f"\nLimit: {limit:.0f} s, median: {median:.2f} s, {verdict}.")
    if hasattr(os, "getloadavg"):
        print(f"\nLoad at the end: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores.")


if __name__ == "__main__":
    main()
