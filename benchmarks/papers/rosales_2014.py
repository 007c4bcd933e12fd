r"""Test error of final models of a front, compared to the paper's and a default random forest.

Rosales-Pérez et al. (2014), *Multi-objective model type selection*, Table 3, on the first official
partitions of six of its data sets; and the hypervolume of MOEADSampler and other samplers on the
same objective. ``--measures published`` is the paper's setting: training error and VC dimension of
ten fits with the paper's labels, the learners of Table 1 in the shared encoding of equation 12,
MOEA/D as printed, hard votes and equation 17 without a floor. The paper has 1,000 evaluations and
100 partitions (20 of image).

    python -m benchmarks.papers.rosales_2014 --data DIR --keep runs.jsonl
    python -m benchmarks.papers.rosales_2014 --data DIR --keep runs.jsonl --measures published \
        --trials 1000
    python -m benchmarks.papers.rosales_2014 --data DIR --keep runs.jsonl --measures paper
    python -m benchmarks.papers.rosales_2014 --data DIR --keep runs.jsonl --measures paper \
        --samplers all
    python -m benchmarks.papers.rosales_2014 --capacity
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sklearn
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.samplers import NSGAIISampler
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import ModelTypeObjective, MOEADSampler, front_model, pareto_front, spaces
from optuna_mofs.measures import vc_dimension, vc_dimension_measure

#: Table 3 of the paper: default random forest, S1, S2, S3, in per cent.
PAPER = {
    "banana": (13.14, 14.34, 10.48, 12.91),
    "german": (25.16, 28.30, 23.67, 25.89),
    "heart": (20.26, 23.14, 16.48, 18.75),
    "image": (2.09, 3.79, 2.24, 3.03),
    "titanic": (22.51, 26.53, 22.08, 22.22),
    "waveform": (13.75, 11.34, 9.93, 10.95),
}
PUBLISHED = "published"
SAMPLERS: dict[str, Callable[[int], Any]] = {
    "MOEADSampler": lambda seed: MOEADSampler(seed=seed),
    "the paper's setting": lambda seed: MOEADSampler.from_paper(seed=seed),
    "NSGAIISampler": lambda seed: NSGAIISampler(seed=seed),
}
#: Objectives: losses of cross-validation, or the paper's training error and VC dimension.
MEASURES: dict[str, Callable[[], list[Any]]] = {
    "losses": lambda: ["error", "brier_loss", "log_loss", "auc_loss"],
    "paper": lambda: [
        "training_error",
        vc_dimension_measure(sizes=(10, 40, 160), repeats=1, per_octave=2),
    ],
    PUBLISHED: lambda: ["training_error", vc_dimension_measure(repeats=2, balanced=False)],
}
#: Strategies of final models: the paper's three, and one of this package.
MODELS: dict[str, dict[str, Any]] = {
    "S1": {"strategy": "knee"},
    "S2": {"strategy": "weighted"},
    "S3": {"strategy": "diverse"},
    "focused": {"strategy": "focused", "by": "learner"},
}
#: The paper's votes, and its weights without a floor.
VOTES: dict[str, Any] = {"voting": "hard", "min_distance": 0.0}


def learners() -> dict[str, tuple[Any, Any]]:
    """Return five model types: two of the paper's, and three that are cheap and strong."""
    trees = IntDistribution(16, 64, log=True)
    svm = {
        "C": FloatDistribution(0.1, 100, log=True),
        "gamma": FloatDistribution(2**-8, 4, log=True),
    }
    return {
        "svm": spaces.get_learner("svm", **svm),
        "random_forest": spaces.get_learner("random_forest", n_estimators=trees),
        "extra_trees": spaces.get_learner("extra_trees", n_estimators=trees),
        "logistic_regression": spaces.get_learner("logistic_regression"),
        "knn": spaces.get_learner("knn"),
    }


def objective(X: Any, y: Any, measures: str) -> ModelTypeObjective:
    """Return the objective that chooses among the learners."""
    found = learners()
    if measures == PUBLISHED:
        found = spaces.rosales_2014_learners(X.shape[1], random_state=0)
    return ModelTypeObjective(found, X, y, measures=MEASURES[measures]())


def run(folder: Path, name: str, part: int, sampler: str, trials: int, measures: str) -> dict:
    """Run one search; test its final models and the default forest on the partition."""
    data = load(folder, f"ida_{name}")
    X, y = data["X"].astype(float), data["y"]
    train, test = data["train_idx"][part], data["test_idx"][part]
    begin = time.process_time()
    made = objective(X[train], y[train], measures)
    study = made.create_study(sampler=SAMPLERS[sampler](part))
    study.optimize(made, n_trials=trials)
    front = pareto_front(study, duplicates=False)
    worst = [m.worst for m in made.measures]
    found: dict[str, Any] = {
        "hypervolume": front.hypervolume(worst) / np.prod(worst),
        "front": len(front),
    }
    if sampler == "MOEADSampler" or measures == PUBLISHED:
        for label, how in MODELS.items():
            votes = VOTES if measures == PUBLISHED and label != "focused" else {}
            model = front_model(study, made, **how, **votes)
            found[label] = 100 * (1 - model.score(X[test], y[test]))
        forest = RandomForestClassifier(random_state=part).fit(X[train], y[train])
        found["forest"] = 100 * (1 - forest.score(X[test], y[test]))
    found["seconds"] = time.process_time() - begin
    return found


def main() -> None:
    options = parser(__doc__ or "", seeds=10)
    options.add_argument("--tasks", default=",".join(PAPER), help="data sets, without ida_")
    options.add_argument("--trials", type=int, default=100, help="trials per run")
    options.add_argument("--measures", default="losses", choices=list(MEASURES))
    options.add_argument(
        "--samplers", default="MOEADSampler", help="names separated by commas, or all"
    )
    options.add_argument("--capacity", action="store_true", help="VC dimension of linear models")
    options.add_argument(
        "--keep", type=Path, help="file of completed runs, which are not repeated"
    )
    options.add_argument(
        "--finished", action="store_true", help="only print the runs in --keep, run nothing"
    )
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    if args.capacity:
        capacity(args.quick)
        return
    trials = 30 if args.quick else args.trials
    parts = min(args.seeds, 2) if args.quick else args.seeds
    samplers = list(SAMPLERS) if args.samplers == "all" else args.samplers.split(",")
    if args.measures == PUBLISHED:
        samplers = ["the paper's setting"]
    tasks = args.tasks.split(",")
    runs = finished(args.keep)
    jobs = [
        (name, part, sampler, trials, args.measures)
        # In the outer loop, so that an interrupted benchmark has all data sets.
        for part in range(parts)
        for name in tasks
        for sampler in samplers
    ]
    for job in jobs:
        if job in runs or args.finished:
            continue
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            runs[job] = run(args.data, *job)
        print(*job, {k: round(v, 2) for k, v in runs[job].items()}, file=sys.stderr, flush=True)
        if args.keep:
            with args.keep.open("a") as file:
                file.write(json.dumps([job, runs[job]]) + "\n")
    jobs = [job for job in jobs if job in runs]
    tasks = [name for name in tasks if any(job[0] == name for job in jobs)]
    print(
        f"Size: {trials:,} evaluations, at most {parts} partitions; measures: {args.measures}. "
        "The paper: 1,000, and 100 partitions, of image 20.\n"
    )
    if args.measures == PUBLISHED or samplers == ["MOEADSampler"]:
        report_errors(runs, jobs, tasks)
    if len(samplers) > 1:
        report_hypervolume(runs, jobs, tasks, samplers)


def finished(file: Path | None) -> dict[tuple[Any, ...], dict[str, float]]:
    """Return the runs in a file, by job."""
    if file is None or not file.exists():
        return {}
    return {tuple(job): found for job, found in map(json.loads, file.read_text().splitlines())}


def report_errors(runs: dict, jobs: list, tasks: list[str]) -> None:
    """Print mean test errors, and how many data sets pass each limit, for S2 and for focused."""
    limits = ("within 0.5 of the paper's S2", "below the forest", "below S1")
    passed = {label: [0, 0, 0] for label in ("S2", "focused")}
    rows = []
    for name in tasks:
        mine = [runs[job] for job in jobs if job[0] == name]
        mean = {key: float(np.mean([r[key] for r in mine])) for key in mine[0]}
        forest, s1, s2, s3 = PAPER[name]
        beside = {"S1": s1, "S2": s2, "S3": s3, "focused": None, "forest": forest}
        cells = [
            f"{mean[key]:.2f} ± {np.std([r[key] for r in mine]) / np.sqrt(len(mine)):.2f}"
            + (f" ({paper:.2f})" if paper is not None else "")
            for key, paper in beside.items()
        ]
        rows.append([name, len(mine), f"{mean['front']:.0f}", *cells])
        for label, counts in passed.items():
            error = mean[label]
            for i, good in enumerate(
                (error <= s2 + 0.5, error < mean["forest"], error < mean["S1"])
            ):
                counts[i] += good
    header = ["test error, % (paper)", "runs", "front", "S1", "S2", "S3", "focused", "forest"]
    print(markdown_table(header, rows))
    print()
    table = [
        [label, *(f"{n} of {len(tasks)}" for n in counts)] for label, counts in passed.items()
    ]
    print(markdown_table(["data sets", *limits], table))


def report_hypervolume(runs: dict, jobs: list, tasks: list[str], samplers: list[str]) -> None:
    """Print the median hypervolume of each sampler, and the range."""
    rows = []
    for name in tasks:
        cells = []
        for sampler in samplers:
            volumes = [runs[j]["hypervolume"] for j in jobs if j[0] == name and j[2] == sampler]
            cells.append(f"{np.median(volumes):.4f} [{min(volumes):.4f}, {max(volumes):.4f}]")
        rows.append([name, len(volumes), *cells])
    print()
    print(markdown_table(["hypervolume", "runs", *samplers], rows))


def capacity(quick: bool) -> None:
    """Print the measured and the theoretical VC dimension of linear classifiers."""
    rows = []
    for d in (2, 5, 10) if quick else (2, 5, 10, 20, 50):
        found = vc_dimension(LogisticRegression(C=1e3, max_iter=300), d)
        rows.append([d, d + 1, f"{found:.1f}", f"{100 * (found / (d + 1) - 1):+.0f} %"])
    print(markdown_table(["columns", "theory", "measured", "difference"], rows))


if __name__ == "__main__":
    main()
