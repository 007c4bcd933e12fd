"""The lexicographic best that LexiFlowSampler finds, and what others find in as many trials.

The tasks are those of Zhang et al. (2023), section 4, on data at hand: (a) XGBoost, loss then
disparity, on german_credit and compas; (b) XGBoost with filter selection on prostata_ge: error,
number of features, instability; (c) random forest with filter selection on madelon, bioresponse
and scikit-learn's breast cancer data (which needs no folder): validation error then features, and
the test error; (d) a network on fashion-mnist_sub: error then parameters.

All methods see the same folds. Targets (equation 8) are computed over the trials of all methods
and seeds together; each run is judged by its best trial under these common targets.

    python -m benchmarks.lexiflow --data DIR --trials 150 --seeds 5 --jobs 2
    python -m benchmarks.lexiflow --quick
"""

from __future__ import annotations

import importlib.util
import statistics
import sys
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import sklearn
from optuna.samplers import NSGAIISampler, RandomSampler, TPESampler

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    LexiFlowSampler,
    SingleFilterFeatures,
    spaces,
)
from optuna_mofs.fronts.lexicographic import named_order
from optuna_mofs.measures import disparity

Job = tuple[str, str, str, int, int, bool]


@dataclass(frozen=True)
class Task:
    """An objective, what is wanted of it, and data it did not see."""

    objective: FeatureSelectionObjective
    tolerances: dict[str, float]
    goals: dict[str, float] = field(default_factory=dict)
    test: tuple[Any, Any] | None = None

    @property
    def preference(self) -> LexicographicPreference:
        """The preference over the objective's measures in their order."""
        return LexicographicPreference(tolerances=self.tolerances, goals=self.goals)


# ---- tasks --------------------------------------------------------------------------------------


def german_credit(folder: Path, quick: bool) -> Task:
    """(a) Disparity between women and men."""
    import pandas as pd

    frame = pd.read_csv(folder / "german_credit.csv.gz")
    sex = frame["personal_status_sex"].isin(["A92", "A95"])
    return _fair(pd.get_dummies(frame.drop(columns="class")), frame["class"] == 1, sex, quick)


def compas(folder: Path, quick: bool) -> Task:
    """(a) Disparity between African-Americans and others."""
    import pandas as pd

    frame = pd.read_csv(folder / "compas-scores-two-years.csv.gz")
    used = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"]
    X = pd.get_dummies(frame[[*used, "priors_count", "c_charge_degree"]])
    return _fair(X, frame["two_year_recid"] == 0, frame["race"] == "African-American", quick)


def _fair(X: Any, y: Any, sensitive: Any, quick: bool) -> Task:
    rows = np.random.default_rng(0).permutation(len(y))[: 400 if quick else 10**9]
    X, y, sensitive = X.iloc[rows].astype(float), y.iloc[rows], sensitive.iloc[rows]
    estimator, space = spaces.learner("xgboost", random_state=0)
    objective = FeatureSelectionObjective(
        estimator,
        X,
        y.astype(int),
        space=space,
        features=None,
        measures=["geometric_mean_loss", disparity(sensitive)],
        cv=3,
    )
    return Task(objective, {"geometric_mean_loss": 0.05})


def prostata(folder: Path, quick: bool) -> Task:
    """(b) Few and stable genes."""
    data = load(folder, "prostata_ge")
    X = data["X"][:, :1000] if quick else data["X"]
    estimator, space = spaces.learner("xgboost", random_state=0)
    objective = FeatureSelectionObjective(
        estimator,
        X,
        data["y"],
        space=space,
        features=SingleFilterFeatures(ranks="fold"),
        filters=("anova_f", "information_gain", "auc"),
        measures=["error", "count", "instability"],
    )
    return Task(objective, {"error": 0.01}, {"count": 500.0})


def forest(folder: Path | None, quick: bool, *, name: str) -> Task:
    """(c) Validation error, then features; the test data are a quarter."""
    if name == "breast_cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
    else:
        data = load(folder, name)
        X, y = np.asarray(data["X"], dtype=float), data["y"]
    order = np.random.default_rng(0).permutation(len(y))[: 400 if quick else 3000]
    test, train = np.split(order, [len(order) // 4])
    estimator, _ = spaces.learner("random_forest", random_state=0)
    from optuna.distributions import FloatDistribution, IntDistribution

    p = X.shape[1]
    space = {  # Table 4, with fewer trees
        "max_features": FloatDistribution(min(0.1, p**-0.5), 1.0),
        "n_estimators": IntDistribution(4, 32 if quick else 256, log=True),
        "max_leaf_nodes": IntDistribution(4, len(train), log=True),
    }
    objective = FeatureSelectionObjective(
        estimator,
        X[train],
        y[train],
        space=space,
        features=SingleFilterFeatures(ranks="all"),
        filters=("anova_f", "information_gain", "auc"),
        measures=["error", "count"],
        cv=3,
    )
    return Task(objective, {"error": 0.01}, test=(X[test], y[test]))


def fashion(folder: Path, quick: bool) -> Task:
    """(d) A small network that is about as good as the best."""
    data = load(folder, "fashion-mnist_sub")
    X, y = np.asarray(data["X"], dtype=float) / 255.0, data["y"]
    rng = np.random.default_rng(0)
    held = data["is_test"].astype(bool)
    train = rng.permutation(np.flatnonzero(~held))[: 500 if quick else 6000]
    valid = rng.permutation(np.flatnonzero(held))[: 300 if quick else 2000]
    estimator, space = spaces.learner("mlp", random_state=0)
    estimator.set_params(mlp__max_iter=5 if quick else 20)
    kept = np.concatenate([train, valid])
    split = (np.arange(len(train)), np.arange(len(train), len(kept)))
    objective = FeatureSelectionObjective(
        estimator,
        X[kept],
        y[kept],
        space=space,
        features=None,
        measures=["error", "parameter_count"],
        cv=[split],
    )
    return Task(objective, {"error": len(valid) ** -0.5})


TASKS: dict[str, Callable[..., Task]] = {
    "a: german_credit": german_credit,
    "a: compas": compas,
    "b: prostata_ge": prostata,
    "c: madelon": lambda folder, quick: forest(folder, quick, name="madelon"),
    "c: bioresponse": lambda folder, quick: forest(folder, quick, name="bioresponse"),
    "c: breast_cancer": lambda folder, quick: forest(folder, quick, name="breast_cancer"),
    "d: fashion-mnist_sub": fashion,
}


# ---- methods ------------------------------------------------------------------------------------

#: Name of a method: sampler of (task, seed), or None for FLAML.
METHODS: dict[str, Callable[[Task, int], Any] | None] = {
    "LexiFlowSampler": lambda task, seed: LexiFlowSampler(task.preference, seed=seed),
    "FLAML's LexiFlow": None,
    "TPESampler + pick": lambda task, seed: TPESampler(seed=seed),
    "NSGAIISampler + pick": lambda task, seed: NSGAIISampler(seed=seed, population_size=20),
    "random + pick": lambda task, seed: RandomSampler(seed=seed),
    # CFO looks at the first value only: with no tolerance there is no room for the others.
    "first objective only": lambda task, seed: LexiFlowSampler(seed=seed),
}


class Timed:
    """A sampler whose own time is counted."""

    def __init__(self, sampler: Any) -> None:
        self.seconds = 0.0
        for name in ("infer_relative_search_space", "sample_relative", "sample_independent"):
            setattr(sampler, name, self._timed(getattr(sampler, name)))

    def _timed(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            start = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.seconds += time.perf_counter() - start

        return run


@dataclass(frozen=True)
class Run:
    """Values of all trials, and milliseconds in the sampler by trial."""

    values: np.ndarray
    milliseconds: float


@lru_cache(maxsize=1)
def task_of(name: str, folder: str, quick: bool) -> Task:
    return TASKS[name](None if folder == "None" else Path(folder), quick)


def run(job: Job) -> tuple[Job, Run, list[float]]:
    """One method on one task, and the test error of its own lexicographic best."""
    folder, name, method, seed, n_trials, quick = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    task = task_of(name, folder, quick)
    make = METHODS[method]
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        sampler = RandomSampler(seed=seed) if make is None else make(task, seed)
        clock = Timed(sampler)
        study = task.objective.create_study(sampler=sampler)
        if make is None:
            from benchmarks.peers.flaml_lexico import run_flaml

            run_flaml(
                task.objective,
                study,
                tolerances=task.tolerances,
                goals=task.goals,
                n_trials=n_trials,
                seed=seed,
            )
        else:
            study.optimize(task.objective, n_trials=n_trials)
    done = [t for t in study.get_trials(deepcopy=False)[:n_trials] if t.values is not None]
    test = []
    if task.test is not None:
        best = task.preference.best(study)
        model = task.objective.refit(best)
        test = [float(np.mean(model.predict(task.test[0]) != task.test[1]))]
    values = np.array([t.values for t in done])
    spent = float("nan") if make is None else 1000 * clock.seconds / n_trials
    return job, Run(values, spent), test


# ---- report -------------------------------------------------------------------------------------


def report(task: Task, runs: dict[str, list[Run]], test: dict[str, list[float]]) -> str:
    """A table of one task: a line a method, judged by the targets common to all."""
    names = task.objective.metric_names
    order = named_order(names, [1.0] * len(names), tolerances=task.tolerances, goals=task.goals)
    everything = np.concatenate([r.values for rs in runs.values() for r in rs])
    targets = order.targets(everything)
    picks = {
        method: np.array([r.values[order.ranking(r.values, targets)[0]] for r in rs])
        for method, rs in runs.items()
    }
    methods = list(runs)
    places = []
    for seed in range(min(len(rs) for rs in runs.values())):
        points = np.array([picks[m][seed] for m in methods])
        lifted = order.lifted(points, targets).tolist()
        # Mean place among equals: 1 + those that are better + half of the others that are equal.
        places.append([1 + sum(b < a for b in lifted) + (lifted.count(a) - 1) / 2 for a in lifted])
    rows = []
    for method, place in zip(methods, np.mean(places, axis=0)):
        reached = picks[method][:, 0] <= targets[0] + 1e-12
        later = picks[method][reached]
        row = [method, f"{int(reached.sum())} of {len(reached)}"]
        row.append(f"{statistics.median(picks[method][:, 0]):.4f}")
        row += [
            f"{statistics.median(later[:, k]):.4g}" if len(later) else "-"
            for k in range(1, len(names))
        ]
        row.append(f"{place:.2f}")
        if test:
            row.append(f"{statistics.mean(test[method]):.4f}" if test.get(method) else "-")
        row.append(f"{statistics.median(r.milliseconds for r in runs[method]):.1f}")
        rows.append(row)
    header = ["method", "reach the target", *names, "mean rank"]
    header += ["test error"] if test else []
    shown = ", ".join(f"{n} {t:.4g}" for n, t in zip(names, targets))
    table = markdown_table([*header, "ms a trial in the sampler"], rows)
    return f"Common targets: {shown}\n\n{table}"


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--tasks", help="only these, semicolon separated parts of names")
    options.add_argument("--methods", help="only these, semicolon separated parts of names")
    options.add_argument("--trials", type=int, default=150)
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    args = options.parse_args()
    trials = min(args.trials, 25) if args.quick else args.trials
    seeds = min(args.seeds, 2) if args.quick else args.seeds
    tasks = _chosen(list(TASKS), args.tasks)
    if args.data is None:
        tasks = [name for name in tasks if "breast_cancer" in name]
    methods = _chosen(list(METHODS), args.methods)
    if importlib.util.find_spec("flaml") is None:
        print("flaml is not installed and left out (pip install flaml).", file=sys.stderr)
        methods = [m for m in methods if METHODS[m] is not None]
    for name in tasks:
        jobs = [
            (str(args.data), name, method, seed, trials, args.quick)
            for method in methods
            for seed in range(seeds)
        ]
        runs: dict[str, list[Run]] = {method: [] for method in methods}
        test: dict[str, list[float]] = {}
        with ProcessPoolExecutor(args.jobs) as pool:
            for (_, _, method, seed, _, _), found, errors in pool.map(run, jobs):
                runs[method].append(found)
                if errors:
                    test.setdefault(method, []).extend(errors)
                print(f"{name} {method} {seed}", file=sys.stderr, flush=True)
        task = task_of(name, str(args.data), args.quick)
        print(f"\n### {name}, {trials} trials, {seeds} seeds\n\n{report(task, runs, test)}")


def _chosen(names: list[str], parts: str | None) -> list[str]:
    if not parts:
        return names
    return [name for name in names if any(part in name for part in parts.split(";"))]


if __name__ == "__main__":
    main()
