"""Tables 4 and 6 and Figures 3, 5 and 8 of Binder et al. (2020): domHV_gen on outer test folds.

Each method searches on nine of ten outer folds by cross-validation. The trials on its front are
then fitted on all nine folds and tested on the last one: the hypervolume of test error and
fraction of features, with reference (1, 1), is domHV_gen. The paper's methods are those of
``from_paper``, with folds that are redrawn for each evaluation; genetic algorithms report their
current generation. The default has its own representation (a rule, ranks of each training fold)
and fixed folds.

``tables``: Tables 4 and 6. ``ranks``: Figure 3. ``errors``: Figure 5. ``ablation``: Figure 8.

    python -m benchmarks.papers.binder_2020 --data DIR --keep FILE --seeds 3 --trials 500
    python -m benchmarks.papers.binder_2020 --data DIR --keep FILE --parts ablation
    python -m benchmarks.papers.binder_2020 --data DIR --keep FILE --finished

``--seeds`` is the number of outer folds. No method uses the number of trials, so that the first
trials of a longer run in the file are a shorter run.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sklearn
from scipy.stats import rankdata
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.svm import SVC

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    ParEGOSampler,
    SingleFilterFeatures,
    generalization,
    spaces,
)
from optuna_mofs.filters import PAPER_FILTERS
from optuna_mofs.learners import KernelKNeighborsClassifier
from optuna_mofs.statistics import compare_ranks

#: domHV_gen after 2,000 evaluations (Table 6): BO-MO-FE and GA-MO-FE of knn, svm, xgboost.
TABLE_6 = {
    "arcene": ((0.9030, 0.8549), (0.9377, 0.8898), (0.8494, 0.8249)),
    "hill-valley": ((0.6653, 0.6490), (0.7525, 0.7599), (0.7205, 0.7510)),
    "madelon": ((0.9047, 0.8881), (0.9048, 0.8992), (0.8950, 0.8921)),
    "semeion_binary": ((0.9872, 0.9817), (0.9849, 0.9814), (0.9778, 0.9817)),
    "sonar": ((0.8683, 0.8338), (0.8718, 0.8599), (0.8534, 0.8615)),
    "wdbc": ((0.9610, 0.9565), (0.9619, 0.9600), (0.9576, 0.9533)),
}
LEARNERS = ("knn", "svm", "xgboost")
#: Data sets on which XGBoost stops early instead of searching the number of rounds (Table 3).
LARGE = ("madelon", "arcene")
#: Mean rank (4 is best) at evaluation 80, 125, 200, 500, 2,000 (Figure 3).
MARKS = (80, 125, 200, 500, 2000)
#: Evaluations at which fronts are tested: the same, and quarters of them.
TESTED = tuple(sorted({*MARKS, *(mark // 4 for mark in MARKS)}))
FIGURE_3 = {
    "BO-MO-FE": (3.14, 3.40, 3.17, 2.95, 3.17),
    "BO-MO": (2.26, 2.38, 2.33, 2.57, 2.69),
    "GA-MO-FE": (2.38, 2.14, 2.38, 2.40, 2.26),
    "GA-MO": (2.21, 2.07, 2.12, 2.07, 1.88),
}
#: Test error of the trial with the best error, mean over 14 data sets, at 2,000 (Figure 5).
FIGURE_5 = {
    "BO-MO-FE": (0.1004, 0.0808, 0.0906),
    "GA-MO-FE": (0.1109, 0.0903, 0.1025),
    "BO-SO": (0.0897, 0.0820, 0.0873),
    "BO-SO-FE": (0.0987, 0.0818, 0.0951),
}
#: Mean rank of the six variants (6 is best) at the same evaluations (Figure 8).
FIGURE_8 = {
    "variant 1": (1.00, 1.00, 1.00, 1.00, 1.00),
    "variant 2": (2.51, 2.36, 2.44, 2.98, 3.24),
    "variant 3": (3.53, 4.11, 3.98, 3.93, 3.96),
    "variant 4": (3.56, 3.40, 3.40, 3.42, 3.76),
    "variant 5": (5.22, 5.02, 5.02, 4.69, 4.22),
    "variant 6": (5.18, 5.11, 5.16, 4.98, 4.82),
}
DEFAULT = "default"
Job = tuple[
    str, int, int, int, str, int
]  # task, rows, inner folds, evaluations, method, outer fold

#: Name of a method: options of the objective, and the sampler of a seed.
METHODS: dict[str, tuple[dict[str, Any], Callable[[int], Any]]] = {
    DEFAULT: ({}, lambda seed: FilterEnsembleNSGA2Sampler(seed=seed)),
    "GA-MO-FE": (
        {"representation": MaskFeatures()},
        lambda seed: FilterEnsembleNSGA2Sampler.from_paper("GA-MO-FE", seed=seed),
    ),
    "GA-MO": (
        {"representation": MaskFeatures()},
        lambda seed: FilterEnsembleNSGA2Sampler.from_paper("GA-MO", seed=seed),
    ),
    "BO-MO-FE": (
        {"representation": FilterEnsembleFeatures.from_paper()},
        lambda seed: ParEGOSampler.from_paper("BO-MO-FE", seed=seed),
    ),
    "BO-MO": (
        {"representation": SingleFilterFeatures.from_paper()},
        lambda seed: ParEGOSampler.from_paper("BO-MO-FE", seed=seed),
    ),
    "BO-SO": (
        {"representation": SingleFilterFeatures.from_paper(), "measures": ["error"]},
        lambda seed: ParEGOSampler.from_paper("BO-MO-FE", seed=seed),
    ),
    "BO-SO-FE": (
        {"representation": FilterEnsembleFeatures.from_paper(), "measures": ["error"]},
        lambda seed: ParEGOSampler.from_paper("BO-MO-FE", seed=seed),
    ),
}
VARIANTS: dict[str, tuple[dict[str, Any], Callable[[int], Any]]] = {
    f"variant {v}": (
        {"representation": MaskFeatures()},
        lambda seed, v=v: FilterEnsembleNSGA2Sampler.from_paper(v, seed=seed),
    )
    for v in range(1, 7)
}


@lru_cache(maxsize=4)
def halves(folder: str, name: str, rows: int, fold: int) -> tuple[np.ndarray, ...]:
    """Return rows to search on and rows to test on.

    They are nine outer folds and the last one; if ``rows`` limits the first, the others are
    tested on too.
    """
    data = load(Path(folder), name)
    X, y = np.asarray(data["X"], dtype=float), data["y"]
    train, test = list(StratifiedKFold(10, shuffle=True, random_state=0).split(X, y))[fold]
    if len(train) > rows:
        train, unused = train_test_split(train, train_size=rows, stratify=y[train], random_state=0)
        test = np.concatenate([test, unused])
    return X[train], y[train], X[test], y[test]


@lru_cache(maxsize=8)
def ranking(folder: str, name: str, rows: int, fold: int) -> Any:
    """Return the ranks by the paper's filters, which do not depend on learner and method."""
    X, y, _, _ = halves(folder, name, rows, fold)
    return FeatureSelectionObjective(
        ScaledSVC(),
        X,
        y,
        filters=PAPER_FILTERS,
        representation=MaskFeatures(),
        holdout=None,
        random_state=fold,
    ).ranking


class ScaledSVC(SVC):
    """A support vector machine on standardized columns.

    One estimator instead of a pipeline: the time of an evaluation on few rows is mostly overhead.
    """

    def fit(self, X: Any, y: Any) -> ScaledSVC:
        """Standardize the columns and fit."""
        self.mean_, scale = X.mean(axis=0), X.std(axis=0)
        self.scale_ = np.where(scale > 0, scale, 1.0)
        super().fit((X - self.mean_) / self.scale_, y)
        return self

    def predict(self, X: Any) -> Any:
        """Standardize and predict."""
        return super().predict((X - self.mean_) / self.scale_)


def learner_of(name: str, what: str) -> tuple[Any, dict[str, Any]]:
    """Return an estimator and the paper's space on a data set (Table 3)."""
    if what == "svm":
        return ScaledSVC(), spaces.svm()
    if what == "knn":
        return KernelKNeighborsClassifier(), spaces.kernel_knn()
    return spaces.get_learner(what, random_state=0, early_stopping=name in LARGE)


def run(folder: str, job: Job) -> dict[str, Any]:
    """Return domHV_gen, its inner value and the best test error at the marks, and CPU seconds."""
    task, rows, folds, n_trials, method, fold = job
    name, what = task.split(":")
    X, y, X_test, y_test = halves(folder, name, rows, fold)
    estimator, space = learner_of(name, what)
    options, make = {**METHODS, **VARIANTS}[method]
    if method != DEFAULT:
        options = {**options, "filters": PAPER_FILTERS, "redraw_folds": True, "holdout": None}
    before = time.process_time()
    objective = FeatureSelectionObjective(
        estimator, X, y, space=space, cv=folds, random_state=fold, **options
    )
    if method != DEFAULT:
        objective.ranking = ranking(folder, name, rows, fold)
    sampler = make(fold)
    study = objective.create_study(sampler=sampler)
    marks = sorted({m for m in (*TESTED, n_trials // 4) if m < n_trials} | {n_trials})
    found: dict[str, Any] = {"marks": marks}
    volumes, inside, errors = [], [], []
    for mark in found["marks"]:
        study.optimize(objective, n_trials=mark - len(study.get_trials(deepcopy=False)))
        trials = None
        if method.startswith(("GA", "variant")):
            trials = sampler.current_generation(study)
        if len(objective.metric_names) > 1:
            tested = generalization(
                study, objective, X_test, y_test, reference=[1.0, 1.0], trials=trials
            )
            volumes.append(tested.hypervolume)
            inside.append(tested.optimization_hypervolume)
            frame = tested.frame.sort_values([frame_name(tested, 0), frame_name(tested, 1)])
            errors.append(float(frame[f"{frame_name(tested, 0)}_test"].iloc[0]))
        else:
            model = objective.refit(study.best_trial)
            errors.append(float(np.mean(model.predict(X_test) != y_test)))
    found["domhv"], found["inside"], found["error"] = volumes, inside, errors
    found["seconds"] = time.process_time() - before
    return found


def frame_name(tested: Any, column: int) -> str:
    """Return the name of a metric of a tested front."""
    name: str = tested.front.metric_names[column]
    return name


def finished(file: Path | None) -> dict[Job, dict[str, Any]]:
    """Return the runs in a file, by job."""
    if file is None or not file.exists():
        return {}
    return {tuple(job): found for job, found in map(json.loads, file.read_text().splitlines())}


def shortened(runs: dict[Job, dict[str, Any]], n_trials: int) -> dict[Job, dict[str, Any]]:
    """Return the first trials of all runs that have at least as many and were tested there."""
    found = {}
    for (task, rows, folds, trials, method, fold), result in runs.items():
        if n_trials not in result["marks"]:
            continue
        end = result["marks"].index(n_trials) + 1
        cut = {k: v[:end] if isinstance(v, list) else v for k, v in result.items()}
        if trials != n_trials:
            cut["seconds"] = float("nan")
        found.setdefault((task, rows, folds, n_trials, method, fold), cut)
    return found


def collect(args: argparse.Namespace, methods: list[str]) -> dict[Job, dict[str, Any]]:
    """Run what is not in the file yet; return the runs of these methods."""
    runs = shortened(finished(args.keep), args.trials)
    jobs: list[Job] = [
        (task, args.rows, args.folds, args.trials, method, fold)
        for fold in range(args.seeds)
        for task in args.tasks.split(",")
        for method in methods
    ]
    for job in jobs:
        if job in runs or args.finished:
            continue
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            runs[job] = run(str(args.data), job)
        last = runs[job]["domhv"] or runs[job]["error"]
        print(
            *job, f"{last[-1]:.4f}", f"{runs[job]['seconds']:.0f} s", file=sys.stderr, flush=True
        )
        if args.keep:
            with args.keep.open("a") as file:
                file.write(json.dumps([job, runs[job]]) + "\n")
    return {job: runs[job] for job in jobs if job in runs}


Curves = dict[tuple[str, int], dict[str, dict[str, Any]]]


def by_task(runs: dict[Job, dict[str, Any]]) -> Curves:
    """Return the runs by task and outer fold, then by method."""
    found: Curves = {}
    for (task, _, _, _, method, fold), result in runs.items():
        found.setdefault((task, fold), {})[method] = result
    return found


def tables(args: argparse.Namespace) -> None:
    """Print Tables 4 and 6: domHV_gen, ours and the paper's."""
    runs = by_task(collect(args, args.methods.split(";")))
    marks, rows = None, []
    methods = [m for m in args.methods.split(";") if not m.startswith("BO-SO")]
    quarter = None
    by_learner: dict[str, list[list[float]]] = {}
    for task in args.tasks.split(","):
        mine = [r for (t, _), r in runs.items() if t == task and set(methods) <= set(r)]
        if not mine:
            continue
        name, what = task.split(":")
        marks = mine[0][methods[0]]["marks"]
        quarter = int(np.argmin([abs(m - marks[-1] / 4) for m in marks]))
        paper = dict(
            zip(("BO-MO-FE", "GA-MO-FE"), TABLE_6.get(name, ((0, 0),) * 3)[LEARNERS.index(what)])
        )
        cells: list[str] = []
        means = []
        for method in methods:
            values = np.array([r[method]["domhv"] for r in mine])
            inner = np.array([r[method]["inside"] for r in mine])
            if method == DEFAULT:
                means.append(float(values[:, quarter].mean()))
                cells.append(f"{values[:, quarter].mean():.4f}")
            means.append(float(values[:, -1].mean()))
            last = values[:, -1]
            text = f"{last.mean():.4f} ± {last.std():.4f}, inner {inner[:, -1].mean():.4f}"
            cells.append(text + (f" (paper {paper[method]:.4f})" if method in paper else ""))
        by_learner.setdefault(what, []).append(means)
        rows.append([task, len(mine), *cells])
    if marks is None or quarter is None:
        print("No task has runs of all methods.")
        return
    print_size(args)
    header = []
    for method in methods:
        header += [f"{method} at {marks[quarter]}"] if method == DEFAULT else []
        header.append(f"{method} at {marks[-1]}")
    print("\n### Table 6: domHV_gen, mean over outer folds; the paper's at 2,000\n")
    print(markdown_table(["task", "outer folds", *header], rows))
    print("\n### Table 4: mean over the tasks above\n")
    lines = [
        [what, len(means), *(f"{v:.4f}" for v in np.mean(means, axis=0))]
        for what, means in by_learner.items()
    ]
    print(markdown_table(["learner", "tasks", *header], lines))
    if DEFAULT in methods and len(methods) > 1:
        print_differences(runs, methods, quarter, marks)
    spent = {
        method: [r[method]["seconds"] for r in runs.values() if method in r] for method in methods
    }
    known = {m: np.nanmean(s) for m, s in spent.items() if np.isfinite(s).any()}
    print("\nMean CPU seconds per run: " + ", ".join(f"{m} {s:.0f}" for m, s in known.items()))
    print("The paper on sonar with 2,000 evaluations: GA-MO-FE 8 minutes, BO-MO-FE 10 hours.")


def print_differences(runs: Curves, methods: list[str], quarter: int, marks: list[int]) -> None:
    """Print how far the default is ahead of each method after all of its evaluations."""
    complete = {key: r for key, r in runs.items() if set(methods) <= set(r)}
    rows = []
    for method in methods:
        for mark in (quarter, len(marks) - 1) if method != DEFAULT else ():
            found = {
                key: r[DEFAULT]["domhv"][mark] - r[method]["domhv"][-1]
                for key, r in complete.items()
            }
            tasks = dict.fromkeys(task for task, _ in found)
            means = [np.mean([d for (t, _), d in found.items() if t == task]) for task in tasks]
            error = np.std(means, ddof=1) / len(means) ** 0.5 if len(means) > 1 else float("nan")
            rows.append(
                [
                    f"default at {marks[mark]}, {method} at {marks[-1]}",
                    f"{np.mean(means):+.4f} ± {error:.4f}",
                    f"{sum(d > 0 for d in means)} of {len(means)}",
                    f"{sum(d > 0 for d in found.values())} of {len(found)}",
                ]
            )
    print("\n### Default minus published: domHV_gen, mean over tasks with its standard error\n")
    print(markdown_table(["methods", "difference", "tasks ahead", "runs ahead"], rows))


def print_size(args: argparse.Namespace) -> None:
    """Print what was run, and what the paper ran."""
    rows = "all rows" if args.rows >= 10**9 else f"searched on at most {args.rows} rows"
    print(
        f"\nSize: at most {args.seeds} of 10 outer folds, {args.folds} inner folds, {rows}, "
        f"{args.trials:,} evaluations. The paper: 10, 10, all rows, 2,000."
    )


def ranks(args: argparse.Namespace) -> None:
    """Print Figure 3: mean ranks of the paper's four methods and beside them the default's."""
    print_ranks(args, list(FIGURE_3), FIGURE_3, "Figure 3")


def ablation(args: argparse.Namespace) -> None:
    """Print Figure 8: mean ranks of the six variants."""
    print_ranks(args, list(VARIANTS), FIGURE_8, "Figure 8")


def print_ranks(
    args: argparse.Namespace,
    methods: list[str],
    paper: dict[str, tuple[float, ...]],
    title: str,
) -> None:
    """Print mean ranks over tasks, of the means over outer folds."""
    given = args.methods.split(";")
    chosen = methods if title == "Figure 8" else [m for m in methods if m in given]
    runs = by_task(collect(args, chosen))
    complete = {key: r for key, r in runs.items() if set(chosen) <= set(r)}
    if not complete or len(chosen) < 2:
        print(f"\nNo task has runs of {chosen}.")
        return
    marks = next(iter(complete.values()))[chosen[0]]["marks"]
    means = []
    for task in dict.fromkeys(t for t, _ in complete):
        mine = [r for (t, _), r in complete.items() if t == task]
        means.append([np.mean([r[m]["domhv"] for r in mine], axis=0) for m in chosen])
    mean_ranks = rankdata(np.array(means), axis=1).mean(axis=0)
    print_size(args)
    rows = []
    for method, line in zip(chosen, mean_ranks):
        cells = [f"{rank:.2f}" for rank in line]
        beside = [f"{paper[method][MARKS.index(m)]:.2f}" if m in MARKS else "-" for m in marks]
        rows.append([method, *(f"{a} (paper {b})" for a, b in zip(cells, beside))])
    print(f"\n### {title}: mean rank over {len(means)} tasks, {len(chosen)} is best\n")
    print(markdown_table(["method", *(f"at {m}" for m in marks)], rows))
    if len(means) > 1:
        print(f"\nAt {marks[-1]}, 1 is best:\n{compare_ranks(np.array(means)[:, :, -1], chosen)}")


def errors(args: argparse.Namespace) -> None:
    """Print Figure 5: test error of the trial with the lowest inner error."""
    runs = by_task(collect(args, args.methods.split(";")))
    methods = args.methods.split(";")
    complete = {key: r for key, r in runs.items() if set(methods) <= set(r)}
    if not complete:
        return
    rows = []
    for k, what in enumerate(LEARNERS):
        mine = [r for (task, _), r in complete.items() if task.endswith(f":{what}")]
        for method in methods if mine else ():
            curve = np.mean([r[method]["error"] for r in mine], axis=0)
            paper = FIGURE_5.get(method)
            beside = "-" if paper is None else f"{paper[k]:.4f}"
            rows.append([f"{what}, {method}", len(mine), *(f"{v:.4f}" for v in curve), beside])
    marks = next(iter(complete.values()))[methods[0]]["marks"]
    print("\n### Figure 5: test error of the trial with the lowest inner error\n")
    header = ["learner, method", "runs", *(f"at {m}" for m in marks), "paper, 14 sets, at 2,000"]
    print(markdown_table(header, rows))


PARTS = {"tables": tables, "ranks": ranks, "errors": errors, "ablation": ablation}


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--parts", default="tables,ranks,errors", help="parts to run")
    options.add_argument("--tasks", default="sonar:svm,wdbc:svm,sonar:knn,wdbc:knn")
    options.add_argument(
        "--methods", default=f"{DEFAULT};GA-MO-FE;BO-MO-FE;GA-MO", help="separated by ;"
    )
    options.add_argument("--trials", type=int, default=500, help="evaluations per run")
    options.add_argument("--rows", type=int, default=10**9, help="rows to search on at most")
    options.add_argument("--folds", type=int, default=10, help="inner folds")
    options.add_argument("--keep", type=Path, help="file of completed runs, not repeated")
    options.add_argument(
        "--finished", action="store_true", help="only print the runs in --keep, run nothing"
    )
    args = options.parse_args()
    if args.quick:
        args.seeds, args.trials, args.folds, args.rows = 1, 90, 3, 120
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    for part in args.parts.split(","):
        PARTS[part](args)


if __name__ == "__main__":
    main()
