"""Dominated hypervolume of FilterEnsembleNSGA2Sampler and of other samplers.

All methods have the same objective, the same five folds and the same number of trials. The
reference point is (1, 1) for error and fraction of features.

    python -m benchmarks.nsga2 --data DIR --tasks sonar:svm,wdbc:knn --seeds 5 --jobs 2

The paper's own comparison, on outer test folds, is ``benchmarks/papers/binder_2020.py``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import optuna
import sklearn
from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler
from scipy.stats import rankdata
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.common import Spread, load, markdown_table, parser  # first: it sets threads
from benchmarks.peers.optuna_samplers import GeometricNSGAIISampler, RandomGeometricSampler
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    spaces,
)
from optuna_mofs.filters import DEFAULT_FILTERS
from optuna_mofs.learners import KernelKNeighborsClassifier

Job = tuple[str, str, int, int, str, int]
#: Hypervolumes at the marks, one list per run, by task and method.
Found = dict[tuple[str, str], list[list[float]]]


def learner(name: str) -> tuple[Any, dict[str, Any]]:
    """Return an estimator and the paper's space (Table 3)."""
    if name == "svm":
        return make_pipeline(StandardScaler(), SVC()), spaces.svm(prefix="svc__")
    if name == "knn":
        return KernelKNeighborsClassifier(), spaces.kernel_knn()
    return spaces.get_learner(name, random_state=0, early_stopping=True)


@lru_cache(maxsize=4)
def objective(folder: str, task: str, rows: int, form: str) -> FeatureSelectionObjective:
    """Return the objective of a task with one of the representations; the filters are shared."""
    name, what = task.split(":")
    data = load(Path(folder), name)
    X, y = np.asarray(data["X"], dtype=float), data["y"]
    if len(y) > rows:
        kept = np.random.default_rng(0).permutation(len(y))[:rows]
        X, y = X[kept], y[kept]
    estimator, space = learner(what)
    features = {
        "bits": lambda: MaskFeatures(form="bits"),
        "mask": lambda: MaskFeatures(),
        "ensemble": lambda: FilterEnsembleFeatures(ranks="all", redundancy_penalty=False),
    }[form]()
    made = FeatureSelectionObjective(
        estimator, X, y, space=space, representation=features, filters=DEFAULT_FILTERS
    )
    if form in ("bits", "ensemble"):
        made.ranking = objective(folder, task, rows, "mask").ranking
    return made


#: Name of a method: representation, and sampler of (mask objective, seed, trials).
METHODS: dict[str, tuple[str, Callable[[FeatureSelectionObjective, int, int], Any]]] = {
    "FilterEnsembleNSGA2Sampler": (
        "mask",
        lambda o, seed, n: FilterEnsembleNSGA2Sampler(seed=seed),
    ),
    "the paper's GA-MO-FE": (
        "mask",
        lambda o, seed, n: FilterEnsembleNSGA2Sampler.from_paper("GA-MO-FE", seed=seed),
    ),
    "NSGAIISampler, bits": ("bits", lambda o, seed, n: NSGAIISampler(seed=seed)),
    "TPESampler, bits": ("bits", lambda o, seed, n: TPESampler(seed=seed)),
    "NSGAIISampler, geometric start": (
        "bits",
        lambda o, seed, n: GeometricNSGAIISampler(o.ranked_table, seed=seed),
    ),
    "pymoo NSGA-II, geometric start": ("bits", lambda o, seed, n: None),
    "TPESampler, filter ensemble": ("ensemble", lambda o, seed, n: TPESampler(seed=seed)),
    "random, geometric masks": ("mask", lambda o, seed, n: RandomGeometricSampler(seed=seed)),
    "random, filter ensemble": ("ensemble", lambda o, seed, n: RandomSampler(seed=seed)),
}


def run(job: Job) -> tuple[Job, list[float]]:
    """Run one method and return the hypervolume after each trial."""
    folder, task, rows, n_trials, method, seed = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    form, sampler = METHODS[method]
    made = objective(folder, task, rows, form)
    mask_objective = objective(folder, task, rows, "mask")
    # The data are finite and the parameters valid: skip the checks of scikit-learn.
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        study = made.create_study(sampler=sampler(mask_objective, seed, n_trials))
        if method.startswith("pymoo"):
            from benchmarks.peers.pymoo_nsga2 import run_pymoo

            run_pymoo(made, study, mask_objective.ranked_table.initial_size, n_trials, seed)
        else:
            study.optimize(made, n_trials=n_trials)
    trials = study.get_trials(deepcopy=False)[:n_trials]
    values = np.array([t.values if t.values is not None else (1.0, 1.0) for t in trials])
    return job, [moocore.hypervolume(values[: k + 1], ref=[1, 1]) for k in range(len(values))]


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument(
        "--tasks",
        default="sonar:svm,wdbc:knn,madelon:knn,semeion_binary:svm",
        help="data:learner pairs; learners svm, knn, xgboost",
    )
    options.add_argument("--trials", type=int, default=400, help="trials per run")
    options.add_argument("--rows", type=int, default=10**9, help="use at most this many rows")
    options.add_argument("--jobs", type=int, default=2, help="parallel runs")
    options.add_argument("--methods", help="only these: parts of names, separated by ;")
    options.add_argument(
        "--slow-seeds", type=int, help="fewer runs for TPESampler with one boolean per feature"
    )
    options.add_argument(
        "--keep", type=Path, help="file of completed runs, which are not repeated"
    )
    args = options.parse_args()
    trials = 60 if args.quick else args.trials
    seeds = min(args.seeds, 2) if args.quick else args.seeds
    methods = list(METHODS)
    if args.methods:
        methods = [m for m in methods if any(part in m for part in args.methods.split(";"))]
    tasks = args.tasks.split(",")
    few = seeds if args.slow_seeds is None else args.slow_seeds
    jobs = [
        (str(args.data), task, args.rows, trials, method, seed)
        for task in tasks
        for seed in range(seeds)
        for method in methods
        if method != "TPESampler, bits" or seed < few
    ]
    curves = finished(args.keep)
    todo = [job for job in jobs if job[1:] not in curves]
    with ProcessPoolExecutor(args.jobs) as pool:
        for job, curve in pool.map(run, todo):
            curves[job[1:]] = curve
            print(*job[1:], f"{curve[-1]:.4f}", file=sys.stderr, flush=True)
            if args.keep:
                with args.keep.open("a") as file:
                    file.write(json.dumps([job[1:], np.round(curve, 6).tolist()]) + "\n")
    marks = [m for m in (100, 200, 400, 1000, 2000) if m < trials] + [trials]
    found: Found = defaultdict(list)
    for job in jobs:
        found[job[1], job[4]].append([curves[job[1:]][m - 1] for m in marks])
    report(found, tasks, methods, marks)


def finished(file: Path | None) -> dict[tuple[Any, ...], list[float]]:
    """Return the curves of the runs in a file, by job."""
    if file is None or not file.exists():
        return {}
    lines = map(json.loads, file.read_text().splitlines())
    return {tuple(job): curve for job, curve in lines}


def report(found: Found, tasks: list[str], methods: list[str], marks: list[int]) -> None:
    """Print one table per task, then the mean rank over tasks and seeds."""
    for task in tasks:
        rows = []
        for method in methods:
            spreads = [Spread.of(column) for column in zip(*found[task, method])]
            cells = (f"{s.median:.4f} [{s.low:.4f}, {s.high:.4f}]" for s in spreads)
            if spreads:
                rows.append([method, len(found[task, method]), *cells])
        print(f"\n### {task}\n")
        print(markdown_table(["hypervolume at trial", "runs", *map(str, marks)], rows))
    # A method with fewer runs than the others has no rank.
    n_runs = max(map(len, found.values()))
    ranked = [m for m in methods if all(len(found[task, m]) == n_runs for task in tasks)]
    runs = np.array([[found[task, m] for m in ranked] for task in tasks])
    ranks = rankdata(-runs, axis=1).mean(axis=(0, 2))
    print("\n### Mean rank over tasks and seeds (1 is best)\n")
    lines = [[m, *(f"{v:.2f}" for v in line)] for m, line in zip(ranked, ranks)]
    print(markdown_table(["method", *map(str, marks)], lines))


if __name__ == "__main__":
    main()
