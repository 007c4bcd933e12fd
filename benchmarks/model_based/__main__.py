"""ParEGOSampler and SMSEGOSampler compared with other samplers.

(a) False negatives and false positives of a support vector machine, and (b) of the joint,
conditional space of three learners, as in Horn and Bischl (2016), section III: tuned by
cross-validation on one half of the data, the front measured on the other half, values scaled to
[0, 1] over all methods of a data set and seed, hypervolume with reference (1.1, 1.1).
(c) Error and fraction of features by filter ensembles (BO-MO-FE), single filters (BO-MO) and the
genetic algorithm, as in Binder et al. (2020), reference (1, 1).
(d) Fit and 5,000 predictions of several forests at 500 trials of 10 parameters.
(e) Seconds of a proposal after 400 trials of 10 parameters.

    python -m benchmarks.model_based --data DIR --parts a,b,c,d,e --seeds 5 --keep FILE
    python -m benchmarks.model_based --quick
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
from pathlib import Path

from benchmarks.common import parser  # first: it sets threads
from benchmarks.model_based import cost, features, rates
from benchmarks.model_based.runs import BREAST_CANCER, Job, collect, finished

TASKS = "sonar:svm,sonar:knn,wdbc:svm,wdbc:knn,madelon:svm,madelon:knn"
TITLES = {
    "a": "Support vector machine",
    "b": "Three learners in one space",
    "c": "Features",
    "d": "Forests: fit and 5,000 predictions at 500 trials of 10 parameters",
    "e": "Seconds of a proposal",
}


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--parts", default="a,b,c,d,e", help="parts to run, of a to e")
    options.add_argument(
        "--sets", default="spambase,phoneme,waveform_binary", help="data of (a), (b)"
    )
    options.add_argument("--tasks", default=TASKS, help="data:learner pairs of part (c)")
    options.add_argument("--rows", type=int, default=1500, help="use at most this many rows")
    options.add_argument("--folds", type=int, default=5, help="folds of the cross-validation")
    options.add_argument("--trials", type=int, help="trials per run; default 160, 300 and 400")
    options.add_argument("--jobs", type=int, default=1, help="parallel runs")
    options.add_argument("--methods", help="only these: names or parts of names, separated by ;")
    options.add_argument(
        "--slow-seeds", type=int, help="number of seeds for GPSampler and SMAC3, which are slow"
    )
    options.add_argument(
        "--keep", type=Path, help="file of completed runs, which are not repeated"
    )
    options.add_argument(
        "--finished", action="store_true", help="only print the runs in --keep, run nothing"
    )
    args = options.parse_args()
    if args.quick:
        args.trials, args.seeds, args.rows, args.folds = 14, 1, 240, 3
        small = args.data is None
        args.sets = BREAST_CANCER if small else "phoneme"
        args.tasks = f"{BREAST_CANCER}:knn" if small else "sonar:knn"
    for part in args.parts.split(","):
        print(f"\n## ({part}) {TITLES[part]}\n", flush=True)
        if part == "d":
            cost.forests(3 if args.quick else 15)
        elif part == "e":
            cost.proposals(*((2, 60) if args.quick else (40, 400)))
        else:
            module = features if part == "c" else rates
            jobs = _jobs(part, args)
            if args.finished:
                kept = finished(args.keep)
                jobs = [job for job in jobs if job in kept]
                if not jobs:
                    print("No run is finished.")
                    continue
            module.report(collect(module.run, jobs, args.jobs, args.keep), jobs)


def _jobs(part: str, args: argparse.Namespace) -> list[Job]:
    trials = args.trials or {"a": 160, "b": 300, "c": 400}[part]
    methods = list(features.METHODS if part == "c" else rates.METHODS)
    if args.methods:
        names = args.methods.split(";")
        # A full name selects one method, part of a name all methods that contain it.
        parts = [name for name in names if name not in methods]
        methods = [m for m in methods if m in names or any(part in m for part in parts)]
    for method in [
        m for m in methods if not importlib.util.find_spec(rates.NEEDS.get(m, "numpy"))
    ]:
        print(f"{method} is left out: {rates.NEEDS[method]} is not installed.", file=sys.stderr)
        methods.remove(method)
    few = args.seeds if args.slow_seeds is None else args.slow_seeds
    return [
        Job(part, task, args.rows, args.folds, trials, method, seed, str(args.data or ""))
        for seed in range(args.seeds)
        for task in (args.tasks if part == "c" else args.sets).split(",")
        for method in methods
        if method not in rates.NEEDS or seed < few
    ]


if __name__ == "__main__":
    main()
