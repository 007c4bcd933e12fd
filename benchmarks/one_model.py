"""One model: the script of five lines against what people type to select features.

A quarter of the rows is held out. On the others, each method selects features and tunes a logistic
regression or an SVM with the ranges of ``optuna_mofs.spaces``; its model is tested on the held-out
rows. The reported error is what the method itself says: the honest error of ours, the best
cross-validated error of all others. The data sets of ``benchmarks.honesty.KEPT_OUT`` took no part
in any choice of a default.

``SequentialFeatureSelector`` is left out for more than 110 columns and ``BorutaPy`` for more than
2,000, where they would take minutes per run; ``RFECV`` eliminates 5 % of more than 110 columns per
step. Differences are over the runs that both methods have, and their standard errors are over data
sets, because runs of one set share rows.

    python -m benchmarks.one_model --data DIR --seeds 3 --keep one_model.json
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ["OPTUNA_MOFS_CACHE"] = "0"  # every run pays for its own filters

import numpy as np
import optuna
from scipy.stats import loguniform
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFECV, SelectKBest, SequentialFeatureSelector
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    RandomizedSearchCV,
    StratifiedKFold,
    cross_val_score,
    train_test_split,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import KEPT_OUT, table
from optuna_mofs import FeatureSelectionSearchCV, spaces
from optuna_mofs.fronts import one_standard_error_index

NAMES = (
    "sonar",
    "wdbc",
    "semeion_binary",
    "madelon",
    "german_credit",
    "spambase",
    "hill-valley",
    "waveform_binary",
    "bioresponse",
    "prostata_ge",
    "wine",
    "digits",
    *KEPT_OUT,
)
LEARNERS = ("logistic_regression", "svm")
MAX_ROWS = 700
#: Elimination by single features and greedy selection, which fits every remaining feature in each
#: step, are for tables that are not wider.
MAX_SEQUENTIAL = 110
#: Columns from which methods that would take minutes per run are left out.
LIMITS = {"SequentialFeatureSelector": MAX_SEQUENTIAL, "BorutaPy": 2_000}

#: Selected columns, model fitted on the table with all columns, and reported error.
Found = tuple[np.ndarray, Any, float]
#: Held-out error, number of features, reported error and CPU seconds by task.
Tasks = dict[str, np.ndarray]


class Task:
    """One split of a data set, and a learner.

    Args:
        X: Rows of the search.
        y: Their classes.
        learner: Name in ``optuna_mofs.spaces``.
        seed: Seed of folds and searches.
        n_trials: Trials of our search.
        n_iter: Configurations of a random search of hyperparameters.
    """

    def __init__(
        self, X: Any, y: Any, learner: str, seed: int, *, n_trials: int, n_iter: int
    ) -> None:
        self.X, self.y, self.seed = X, y, seed
        self.n_trials, self.n_iter = n_trials, n_iter
        self.learner = learner
        self.estimator, self.space = spaces.get_learner(learner, random_state=0)
        self.folds = StratifiedKFold(5, shuffle=True, random_state=seed)

    @property
    def ranges(self) -> dict[str, Any]:
        """The ranges of the hyperparameters for a random search; all are on a log scale."""
        return {name: loguniform(d.low, d.high) for name, d in self.space.items()}

    def tune(self, estimator: Any, ranges: dict[str, Any], n_iter: int, X: Any) -> Any:
        """Return a fitted random search."""
        search = RandomizedSearchCV(
            estimator, ranges, n_iter=n_iter, cv=self.folds, random_state=self.seed
        )
        return search.fit(X, self.y)

    def tuned_on(self, columns: np.ndarray) -> Found:
        """Tune the learner on some columns, on all if there are none."""
        columns = columns if len(columns) else np.arange(self.X.shape[1])
        search = self.tune(self.estimator, self.ranges, self.n_iter, self.X[:, columns])
        return columns, search, 1 - search.best_score_


# ---- methods ------------------------------------------------------------------------------------


def ours(task: Task, **options: Any) -> Found:
    """Run the script of the README."""
    search = FeatureSelectionSearchCV(
        task.estimator, task.space, n_trials=task.n_trials, random_state=task.seed, **options
    ).fit(task.X, task.y)
    return chosen(search)


def ours_with_racing(task: Task) -> Found:
    """Run the same, and stop trials between folds that can hardly join the front."""
    return ours(task, racing=True)


def chosen(search: FeatureSelectionSearchCV) -> Found:
    """Return the chosen model of a search of ours."""
    expected = search.honest_score_.value
    if np.isnan(expected):
        expected = search.best_score_
    return search.get_support(indices=True), search, 1 - expected


def all_features(task: Task) -> Found:
    """Tune the learner with all features."""
    return task.tuned_on(np.arange(task.X.shape[1]))


def l1_path(task: Task) -> np.ndarray:
    """Take the sparsest logistic regression within one standard error of the best of its path."""
    plain = LogisticRegression(l1_ratio=1.0, solver="liblinear", max_iter=300, random_state=0)
    many = len(np.unique(task.y)) > 2
    errors, spreads, masks = [], [], []
    for cost in np.geomspace(1e-3, 1e2, 20):
        model = clone(plain).set_params(C=cost)
        pipe = make_pipeline(StandardScaler(), OneVsRestClassifier(model) if many else model)
        folds = 1 - cross_val_score(pipe, task.X, task.y, cv=task.folds)
        final = pipe.fit(task.X, task.y)[-1]
        parts = final.estimators_ if many else [final]
        masks.append(np.any([part.coef_[0] != 0 for part in parts], axis=0))
        errors.append(folds.mean())
        spreads.append(folds.std(ddof=1) / np.sqrt(len(folds)))
    chosen = one_standard_error_index(errors, [mask.sum() for mask in masks], spreads)
    return np.flatnonzero(masks[chosen])


def rfecv(task: Task) -> np.ndarray:
    """Eliminate features by a logistic regression; 20 steps on wide tables."""
    n_columns = task.X.shape[1]
    selector = RFECV(
        LogisticRegression(max_iter=300),
        step=1 if n_columns <= MAX_SEQUENTIAL else 0.05,
        cv=task.folds,
    )
    selector.fit(StandardScaler().fit_transform(task.X), task.y)
    return np.flatnonzero(selector.support_)


def select_k_best(task: Task) -> Found:
    """Tune the number of features by ANOVA together with the learner, in one pipeline."""
    n_columns = task.X.shape[1]
    sizes = np.unique(np.geomspace(1, n_columns, 30).round().astype(int)).tolist()
    pipe = Pipeline([("select", SelectKBest()), ("model", task.estimator)])
    ranges = {"select__k": sizes, **{f"model__{n}": d for n, d in task.ranges.items()}}
    search = task.tune(pipe, ranges, 2 * task.n_iter, task.X)
    columns = np.flatnonzero(search.best_estimator_[0].get_support())
    return columns, search, 1 - search.best_score_


def sequential(task: Task) -> Found:
    """Add features one by one while the learner with its own parameters improves."""
    selector = SequentialFeatureSelector(
        task.estimator, n_features_to_select="auto", tol=1e-3, cv=task.folds
    ).fit(task.X, task.y)
    return task.tuned_on(np.flatnonzero(selector.support_))


def boruta(task: Task) -> np.ndarray:
    """Take the features that a forest prefers to their permuted copies."""
    from boruta import BorutaPy

    forest = RandomForestClassifier(max_depth=5, class_weight="balanced", random_state=0)
    selector = BorutaPy(forest, n_estimators="auto", max_iter=50, random_state=task.seed)
    selector.fit(np.asarray(task.X, dtype=float), np.asarray(task.y))
    return np.flatnonzero(selector.support_ | selector.support_weak_)


OURS, BEST, CPU_UNIT = "FeatureSelectionSearchCV", "the same, refit='best'", "RFECV"
METHODS: dict[str, Callable[[Task], Found]] = {
    OURS: ours,
    "the same, racing=True": ours_with_racing,
    "all features": all_features,
    "SelectKBest": select_k_best,
    "SequentialFeatureSelector": sequential,
}
#: Selections that do not depend on the learner: made once per split, and their CPU seconds count
#: for each learner.
SELECTORS: dict[str, Callable[[Task], np.ndarray]] = {
    "L1 path, one standard error": l1_path,
    "RFECV": rfecv,
    "BorutaPy": boruta,
}
ALL = (*METHODS, *SELECTORS)
_selected: dict[tuple[str, int, str], tuple[np.ndarray, float]] = {}


def run(
    name: str, learner: str, seed: int, method: str, args: Any
) -> dict[str, list[float] | None]:
    """Return held-out error, number of features, reported error and CPU seconds by method."""
    X, y, _ = table(name, args.data, MAX_ROWS)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.25, random_state=seed, stratify=y)
    if X.shape[1] > LIMITS.get(method, np.inf):
        return {method: None}
    task = Task(X, y, learner, seed, n_trials=args.trials, n_iter=args.iterations)
    earlier, key = 0.0, (name, seed, method)
    start = time.process_time()
    if method in SELECTORS:
        if key not in _selected:
            columns = SELECTORS[method](task)
            _selected[key] = columns, time.process_time() - start
            start = time.process_time()
        columns, earlier = _selected[key]
        found = task.tuned_on(columns)
    else:
        found = METHODS[method](task)
    seconds = earlier + time.process_time() - start

    def tested(columns: np.ndarray, model: Any, reported: float) -> list[float]:
        narrow = X_test if model.n_features_in_ == X_test.shape[1] else X_test[:, columns]
        return [1 - model.score(narrow, y_test), len(columns), reported, seconds]

    results: dict[str, list[float] | None] = {method: tested(*found)}
    if method == OURS:
        results[BEST] = tested(*chosen(found[1].select(refit="best")))
    return results


def jobs(args: Any) -> Iterator[tuple[str, tuple[str, str, int, str]]]:
    """Return all runs, one seed after the other."""
    for seed in range(args.seeds):
        for name in args.names:
            for method in args.methods:
                for learner in args.learners:
                    yield f"{name}|{learner}|{seed}|{method}", (name, learner, seed, method)


# ---- tables -------------------------------------------------------------------------------------


def _geometric(sizes: np.ndarray) -> float:
    return float(np.exp(np.log(np.maximum(sizes, 0.5)).mean()))


def _mean_and_error(gaps: dict[str, float]) -> tuple[float, float]:
    """Return the mean of differences by task, and its standard error over data sets."""
    by_set: dict[str, list[float]] = {}
    for task, gap in gaps.items():
        by_set.setdefault(task.split("|")[0], []).append(gap)
    # Of a single data set, over its runs.
    draws = [np.mean(found) for found in by_set.values()] if len(by_set) > 1 else [*gaps.values()]
    error = float(np.std(draws, ddof=1)) / len(draws) ** 0.5 if len(draws) > 1 else 0.0
    return float(np.mean(list(gaps.values()))), error


def by_method(runs: dict[str, Any]) -> dict[str, Tasks]:
    """Return the runs of each method by task."""
    found: dict[str, Tasks] = {m: {} for m in (OURS, BEST, *ALL)}
    for key, values in runs.items():
        task, _, method = key.rpartition("|")
        if values is not None and method in found:
            found[method][task] = np.array(values)
    return found


def _gap(tasks: Tasks, ours: Tasks) -> tuple[float, float]:
    shared = sorted(tasks.keys() & ours.keys())
    return _mean_and_error({t: float(tasks[t][0] - ours[t][0]) for t in shared})


def print_bars(runs: dict[str, Any]) -> None:
    """Print which of the goals of the default search are met."""
    methods = by_method(runs)
    ours = methods[OURS]
    for method in (*METHODS, *SELECTORS):
        if (
            method.startswith("the same")
            or method == OURS
            or not methods[method].keys() & ours.keys()
        ):
            continue
        gap, error = _gap(methods[method], ours)
        least = 0.0 if method == CPU_UNIT else error
        print(f"- held-out error below {method}: {_verdict(gap > 0 and gap >= least)}")
    shared = sorted(methods[CPU_UNIT].keys() & ours.keys())
    if shared:
        sizes, other = (
            _geometric(np.array([m[t][1] for t in shared])) for m in (ours, methods[CPU_UNIT])
        )
        seconds, limit = (sum(m[t][3] for t in shared) for m in (ours, methods[CPU_UNIT]))
        print(f"- at most .4 of the features of {CPU_UNIT}: {_verdict(sizes <= 0.4 * other)}")
        print(f"- no more CPU seconds than {CPU_UNIT}: {_verdict(seconds <= limit)}")


def _verdict(is_met: bool) -> str:
    return "met" if is_met else "missed"


def print_methods(runs: dict[str, Any]) -> None:
    """Print one row per method; every comparison is on the tasks that both have."""
    methods = by_method(runs)
    rows = []
    for method, tasks in methods.items():
        if not tasks:
            continue
        error, size, reported, _ = np.array(list(tasks.values())).T
        shared = sorted(tasks.keys() & methods[OURS].keys())
        gap, spread = _gap(tasks, methods[OURS])
        sizes = np.array([[tasks[t][1], methods[OURS][t][1]] for t in shared]).T
        timed = sorted(tasks.keys() & methods[CPU_UNIT].keys())
        seconds = [sum(m[t][3] for t in timed) for m in (tasks, methods[CPU_UNIT])]
        rows.append(
            [
                method,
                len(tasks),
                f"{100 * error.mean():.1f}",
                "" if method == OURS else f"{100 * gap:+.1f} ± {100 * spread:.1f}",
                f"{_geometric(size):.1f}",
                "" if method == OURS else f"{_geometric(sizes[0]) / _geometric(sizes[1]):.2f}",
                f"{100 * (error - reported).mean():+.1f}",
                f"{seconds[0] / seconds[1]:.2f}" if timed else "-",
            ]
        )
    print(markdown_table(_HEADER, rows))


_HEADER = (
    "method",
    "runs",
    "held-out error, %",
    "minus ours",
    "features (geometric mean)",
    "relative to ours",
    "reported error too low by",
    f"CPU relative to {CPU_UNIT}",
)


def print_data_sets(runs: dict[str, Any]) -> None:
    """Print the held-out error and the features of each method by data set."""
    methods = {method: tasks for method, tasks in by_method(runs).items() if tasks}
    rows = []
    for name in dict.fromkeys(key.split("|")[0] for key in runs):
        row: list[object] = [f"{name} (kept out)" if name in KEPT_OUT else name]
        for tasks in methods.values():
            values = np.array([v for task, v in tasks.items() if task.split("|")[0] == name])
            row.append(
                f"{100 * values[:, 0].mean():.1f} ({_geometric(values[:, 1]):.0f})"
                if len(values)
                else "-"
            )
        rows.append(row)
    print("\nHeld-out error in % (features) by data set\n")
    print(markdown_table(["data set", *methods], rows))


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--names", nargs="+", default=NAMES, help="data sets (default: all)")
    options.add_argument("--learners", nargs="+", default=LEARNERS, choices=LEARNERS)
    options.add_argument("--methods", nargs="+", default=ALL, choices=ALL)
    options.add_argument("--trials", type=int, default=100, help="trials of ours (%(default)s)")
    options.add_argument(
        "--iterations", type=int, default=30, help="configurations of others (%(default)s)"
    )
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    args = options.parse_args()
    if args.quick:
        args.names, args.learners, args.seeds = ["wine"], ["logistic_regression"], 1
        args.trials, args.iterations = 12, 3
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    runs = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    for key, job in jobs(args):
        if key not in runs:
            task = key.rpartition("|")[0]
            runs |= {f"{task}|{method}": found for method, found in run(*job, args).items()}
            if args.keep:
                args.keep.write_text(json.dumps(runs))
    wanted = {key for key, _ in jobs(args)}
    if OURS in args.methods:
        wanted |= {key.replace(OURS, BEST) for key in wanted if key.endswith(OURS)}
    # The file can have runs of other data sets.
    runs = {key: values for key, values in runs.items() if key in wanted}
    print_methods(runs)
    print("\nGoals (by at least one standard error, except RFECV)\n")
    print_bars(runs)
    print_data_sets(runs)


if __name__ == "__main__":
    main()
