"""ParEGOSampler and SMSEGOSampler against what people use today.

(a) False negatives and false positives of a support vector machine, and (b) of the joint,
conditional space of three learners, as in Horn and Bischl (2016), section III: tuned by
cross-validation on one half of the data, the front measured on the other half, values scaled to
[0, 1] over all methods of a data set and seed, hypervolume with reference (1.1, 1.1).
(c) Error and fraction of features by filter ensembles (BO-MO-FE), single filters (BO-MO) and the
genetic algorithm, as in Binder et al. (2020), reference (1, 1).
(d) Fit and 5,000 predictions with spread of several forests at 500 trials of 10 parameters.

    python -m benchmarks.model_based --data DIR --parts a,b,c,d --seeds 5 --jobs 2
    python -m benchmarks.model_based --quick
"""

from __future__ import annotations

import importlib.util
import sys
import time
import warnings
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import moocore
import numpy as np
import optuna
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import GPSampler, RandomSampler, TPESampler
from optuna.trial import Trial
from scipy.stats import qmc, rankdata
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import ExtraTreesRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.common import Spread, load, markdown_table, parser  # first: it sets threads
from benchmarks.nsga2 import learner
from benchmarks.peers.smac_parego import run_smac
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    ParEGOSampler,
    SingleFilterFeatures,
    SMSEGOSampler,
)
from optuna_mofs.parameters import ParameterSpace
from optuna_mofs.samplers.model_based import Forest

#: Distribution of each parameter, and the category and value that it depends on.
Space = dict[str, tuple[Any, tuple[str, Any] | None]]
Params = dict[str, Any]

WEIGHT = FloatDistribution(2**-7, 2**7, log=True)
WIDE = FloatDistribution(2**-15, 2**15, log=True)
BREAST_CANCER = "breast_cancer"


def space_of(part: str, p: int) -> Space:
    """The space of part (a), or of part (b): Figure 1 of the paper."""
    if part == "a":
        return {"C": (WIDE, None), "gamma": (WIDE, None), "weight": (WEIGHT, None)}
    names = ("svm", "forest", "logistic")
    return {
        "learner": (CategoricalDistribution(names), None),
        "weight": (WEIGHT, None),
        "C": (WIDE, ("learner", "svm")),
        "gamma": (WIDE, ("learner", "svm")),
        "mtry": (IntDistribution(1, p), ("learner", "forest")),
        "leaf": (IntDistribution(1, 100, log=True), ("learner", "forest")),
        "penalty": (WIDE, ("learner", "logistic")),
    }


def estimator(params: Params) -> Any:
    """The classifier that parameters stand for."""
    weight = {0: 1.0, 1: params["weight"]}
    what = params.get("learner", "svm")
    if what == "svm":
        # A bound on the iterations: C = 2^15 on one scale too large never ends.
        return SVC(C=params["C"], gamma=params["gamma"], class_weight=weight, max_iter=20_000)
    if what == "forest":
        return RandomForestClassifier(
            100,
            max_features=params["mtry"],
            min_samples_leaf=params["leaf"],
            class_weight=weight,
            random_state=0,
        )
    return LogisticRegression(C=1 / params["penalty"], class_weight=weight, max_iter=300)


def rates(y: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """False negative and false positive rate."""
    return float((predicted[y == 1] == 0).mean()), float((predicted[y == 0] == 1).mean())


class Tuning:
    """One half of a data set to tune on, the other to measure; the folds are the seed's.

    Args:
        folder: Folder of the data.
        name: Data set.
        rows: Most rows to use.
        seed: Of the halves and folds.
        folds: Number of folds.
    """

    def __init__(self, folder: str, name: str, rows: int, seed: int, folds: int) -> None:
        X, y = table(folder, name)
        kept = np.random.default_rng(seed).permutation(len(y))[:rows]
        halves = train_test_split(
            X[kept], y[kept], test_size=0.5, stratify=y[kept], random_state=seed
        )
        scaler = StandardScaler().fit(halves[0])
        self.X, self.X_test = scaler.transform(halves[0]), scaler.transform(halves[1])
        self.y, self.y_test = halves[2], halves[3]
        split = StratifiedKFold(folds, shuffle=True, random_state=seed)
        self.folds = list(split.split(self.X, self.y))

    def __call__(self, params: Params) -> tuple[float, float]:
        """Cross-validated rates."""
        predicted = np.zeros(len(self.y))
        for train, test in self.folds:
            model = estimator(params).fit(self.X[train], self.y[train])
            predicted[test] = model.predict(self.X[test])
        return rates(self.y, predicted)

    def test(self, params: Params) -> tuple[float, float]:
        """Rates on the other half."""
        model = estimator(params).fit(self.X, self.y)
        return rates(self.y_test, model.predict(self.X_test))


@lru_cache(maxsize=8)
def table(folder: str, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Data with two classes; the rarer one is 1."""
    if name == BREAST_CANCER:
        X, y = load_breast_cancer(return_X_y=True)
    else:
        data = load(Path(folder) if folder else None, name)
        X, y = np.asarray(data["X"], dtype=float), data["y"]
    labels, counts = np.unique(y, return_counts=True)
    return X, (y == labels[counts.argmin()]).astype(int)


def suggest(trial: Trial, space: Space) -> Params:
    """Ask for the parameters that are active."""
    params: Params = {}
    for name, (distribution, condition) in space.items():
        if condition is None or params.get(condition[0]) == condition[1]:
            params[name] = trial._suggest(name, distribution)
    return params


Run = tuple[list[Params], list[tuple[float, ...]], list[float]]


def run_optuna(make: Callable[[int], Any], space: Space, tuning: Tuning, n: int, seed: int) -> Run:
    """Parameters, values and seconds in the sampler of each trial."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=make(seed))
    params, values, seconds = [], [], []
    for _ in range(n):
        before = time.thread_time()
        trial = study.ask()
        params.append(suggest(trial, space))
        seconds.append(time.thread_time() - before)
        values.append(tuning(params[-1]))
        study.tell(trial, values[-1])
    return params, values, seconds


def run_latin(space: Space, tuning: Tuning, n: int, seed: int) -> Run:
    """A Latin hypercube over all parameters, of which the active ones are used."""
    joint = ParameterSpace({name: d for name, (d, _) in space.items()})
    cube = qmc.LatinHypercube(len(joint), seed=seed).random(n)
    params = []
    for row in joint.from_unit(cube):
        point = joint.decode(row)
        active = {
            name: point[name]
            for name, (_, condition) in space.items()
            if condition is None or point[condition[0]] == condition[1]
        }
        params.append(active)
    return params, [tuning(p) for p in params], [0.0] * n


METHODS: dict[str, Callable[[Space, Tuning, int, int], Run]] = {
    "ParEGOSampler": partial(run_optuna, lambda s: ParEGOSampler(seed=s)),
    "SMSEGOSampler": partial(run_optuna, lambda s: SMSEGOSampler(seed=s)),
    "ParEGOSampler, forest": partial(
        run_optuna, lambda s: ParEGOSampler(seed=s, surrogate="forest")
    ),
    "TPESampler": partial(run_optuna, lambda s: TPESampler(seed=s)),
    "TPESampler, multivariate": partial(
        run_optuna, lambda s: TPESampler(seed=s, multivariate=True, group=True)
    ),
    "GPSampler": partial(run_optuna, lambda s: GPSampler(seed=s)),
    "SMAC3 ParEGO": run_smac,
    "Latin hypercube": run_latin,
}
NEEDS = {"GPSampler": "torch", "SMAC3 ParEGO": "smac"}

Job = tuple[str, str, str, int, int, int, str, int]
Curves = dict[tuple[str, str], list[dict[str, Any]]]


def run_rates(job: Job) -> tuple[Job, dict[str, Any]]:
    """One run of part (a) or (b)."""
    part, folder, name, rows, folds, n, method, seed = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    tuning = Tuning(folder, name, rows, seed, folds)
    space = space_of(part, tuning.X.shape[1])
    params, values, seconds = METHODS[method](space, tuning, n, seed)
    front = np.flatnonzero(moocore.is_nondominated(np.array(values)))
    tested = np.array([tuning.test(params[i]) for i in front])
    late = seconds[-max(1, n // 10) :]
    return job, {"tuned": np.array(values), "tested": tested, "seconds": float(np.median(late))}


def run_features(job: Job) -> tuple[Job, dict[str, Any]]:
    """One run of part (c)."""
    _, folder, task, rows, folds, n, method, seed = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    form, make = FEATURE_METHODS[method]
    made = feature_objective(folder, task, rows, folds, form)
    study = made.create_study(sampler=make(seed))
    study.optimize(made, n_trials=n)
    values = np.array([t.values if t.values is not None else (1.0, 1.0) for t in study.trials])
    return job, {"tuned": values}


FEATURE_METHODS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "BO-MO-FE: ParEGOSampler, filter ensemble": ("ensemble", lambda s: ParEGOSampler(seed=s)),
    "SMSEGOSampler, filter ensemble": ("ensemble", lambda s: SMSEGOSampler(seed=s)),
    "BO-MO: ParEGOSampler, single filter": ("single", lambda s: ParEGOSampler(seed=s)),
    "ParEGOSampler, masks": ("mask", lambda s: ParEGOSampler(seed=s)),
    "FilterEnsembleNSGA2Sampler": ("mask", lambda s: FilterEnsembleNSGA2Sampler(seed=s)),
    "TPESampler, filter ensemble": ("ensemble", lambda s: TPESampler(seed=s)),
    "random, filter ensemble": ("ensemble", lambda s: RandomSampler(seed=s)),
}


@lru_cache(maxsize=4)
def feature_objective(
    folder: str, task: str, rows: int, folds: int, form: str
) -> FeatureSelectionObjective:
    """The objective of a task with one of the representations; the filters are shared."""
    name, what = task.split(":")
    X, y = table(folder, name)
    kept = np.random.default_rng(0).permutation(len(y))[:rows]
    model, space = learner(what)
    features = {
        "mask": MaskFeatures,
        "ensemble": lambda: FilterEnsembleFeatures(ranks="all"),
        "single": lambda: SingleFilterFeatures(ranks="all"),
    }[form]()
    made = FeatureSelectionObjective(
        model, X[kept], y[kept], space=space, features=features, cv=folds
    )
    if form != "mask":
        made.ranking = feature_objective(folder, task, rows, folds, "mask").ranking
    return made


def scaled_volumes(runs: list[np.ndarray]) -> list[float]:
    """Hypervolumes as in section III, of one data set and seed: scaled over all methods."""
    union = np.concatenate(runs)
    low, high = union.min(axis=0), union.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return [float(moocore.hypervolume((run - low) / span, ref=[1.1, 1.1])) for run in runs]


def report_rates(found: Curves, names: list[str], methods: list[str], marks: list[int]) -> None:
    """Tables of parts (a) and (b)."""
    columns: dict[str, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for name in names:
        for runs in zip(*(found[name, m] for m in methods)):
            for mark in marks:
                volumes = scaled_volumes([run["tuned"][:mark] for run in runs])
                columns[name][f"tuning, {mark}"].append(volumes)
            tested = scaled_volumes([run["tested"] for run in runs])
            columns[name][f"test, {marks[-1]}"].append(tested)
    ranks = defaultdict(list)
    for name in names:
        header = ["hypervolume at trial", *columns[name]]
        print(f"\n### {name}\n")
        rows = []
        for i, method in enumerate(methods):
            spreads = [Spread.of([v[i] for v in seeds]) for seeds in columns[name].values()]
            rows.append(
                [method, *(f"{s.median:.3f} [{s.least:.3f}, {s.most:.3f}]" for s in spreads)]
            )
        print(markdown_table(header, rows))
        for column, seeds in columns[name].items():
            ranks[column] += [rankdata(-np.array(v)) for v in seeds]
    print("\n### Median rank (1 is best) over data sets and seeds, and seconds a late proposal\n")
    middle = {column: np.median(values, axis=0) for column, values in ranks.items()}
    rows = []
    for i, method in enumerate(methods):
        spent = float(np.median([run["seconds"] for name in names for run in found[name, method]]))
        rows.append([method, *(f"{v[i]:.1f}" for v in middle.values()), f"{spent:.3f}"])
    print(markdown_table(["method", *middle, "seconds"], rows))


def report_features(found: Curves, tasks: list[str], methods: list[str], marks: list[int]) -> None:
    """Tables of part (c)."""
    ranks = defaultdict(list)
    for task in tasks:
        rows = []
        volumes = np.array(
            [
                [
                    [moocore.hypervolume(run["tuned"][:mark], ref=[1, 1]) for mark in marks]
                    for run in found[task, method]
                ]
                for method in methods
            ]
        )
        for method, runs in zip(methods, volumes):
            spreads = [Spread.of(column) for column in runs.T.tolist()]
            rows.append(
                [method, *(f"{s.median:.4f} [{s.least:.4f}, {s.most:.4f}]" for s in spreads)]
            )
        print(f"\n### {task}\n")
        print(markdown_table(["hypervolume at trial", *map(str, marks)], rows))
        for k, mark in enumerate(marks):
            ranks[mark] += list(rankdata(-volumes[:, :, k], axis=0).T)
    print("\n### Mean rank (1 is best) over tasks and seeds\n")
    means = [np.mean(ranks[mark], axis=0) for mark in marks]
    rows = [[m, *(f"{v[i]:.2f}" for v in means)] for i, m in enumerate(methods)]
    print(markdown_table(["method", *map(str, marks)], rows))


def forests(repeats: int) -> None:
    """Part (d): fit and 5,000 predictions with spread, in milliseconds of one core."""
    rng = np.random.default_rng(0)
    X, X_new = rng.random((500, 10)), rng.random((5000, 10))
    truth = [((part[:, :4] - 0.3) ** 2).sum(axis=1) for part in (X, X_new)]
    y = truth[0] + 0.05 * rng.standard_normal(500)

    def of(model: Any) -> Callable[[], np.ndarray]:
        def run() -> np.ndarray:
            fitted = model().fit(X, y)
            return np.mean([tree.predict(X_new) for tree in fitted.estimators_], axis=0)

        return run

    def lightgbm() -> np.ndarray:
        lgb = importlib.import_module("lightgbm")
        options = {
            "boosting": "rf",
            "bagging_freq": 1,
            "bagging_fraction": 0.632,
            "feature_fraction": 0.7,
            "min_data_in_leaf": 2,
            "num_leaves": 256,
            "num_threads": 1,
            "verbose": -1,
        }
        booster = lgb.train(options, lgb.Dataset(X, y), 40)
        leaves = booster.predict(X_new, pred_leaf=True, num_threads=1)
        outputs = [
            np.array([booster.get_leaf_output(i, k) for k in range(int(column.max()) + 1)])[column]
            for i, column in enumerate(leaves.T)
        ]
        return np.mean(outputs, axis=0)

    shared = {"n_estimators": 40, "min_samples_leaf": 2, "max_features": 0.7, "n_jobs": 1}
    kinds: dict[str, Callable[[], np.ndarray]] = {
        "RandomForestRegressor": of(lambda: RandomForestRegressor(**shared)),
        "ExtraTreesRegressor": of(lambda: ExtraTreesRegressor(**shared)),
        "LightGBM, rf mode": lightgbm,
        "our Forest": lambda: Forest(np.random.default_rng(0)).fit(X, y).predict(X_new)[0],
    }
    if importlib.util.find_spec("lightgbm") is None:
        del kinds["LightGBM, rf mode"]
    rows = []
    for name, run in kinds.items():
        spent = []
        for _ in range(repeats):
            before = time.thread_time()
            mean = run()
            spent.append(1000 * (time.thread_time() - before))
        fits = np.corrcoef(mean, truth[1])[0, 1]
        rows.append([name, str(Spread.of(spent)), f"{fits:.3f}"])
    print("\n## (d) Forests of 40 trees, 500 trials, 10 parameters, 5,000 predictions\n")
    print(markdown_table(["forest", "ms", "correlation with the truth"], rows))


def collect(
    run: Callable[[Job], tuple[Job, dict[str, Any]]], jobs: list[Job], workers: int
) -> Curves:
    """All runs, in order of their seeds."""
    found: Curves = defaultdict(list)
    with ProcessPoolExecutor(workers) as pool:
        for job, made in pool.map(run, jobs):
            found[job[2], job[6]].append(made)
            print(f"{job[0]} {job[2]} {job[6]} seed {job[7]}", file=sys.stderr, flush=True)
    return found


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--parts", default="a,b,c,d", help="which of a, b, c, d")
    options.add_argument("--sets", default="spambase,phoneme,waveform_binary")
    options.add_argument(
        "--tasks",
        default="sonar:svm,sonar:knn,wdbc:svm,wdbc:knn,madelon:svm,madelon:knn",
        help="data:learner pairs of part (c)",
    )
    options.add_argument("--rows", type=int, default=1500, help="use at most this many rows")
    options.add_argument("--folds", type=int, default=10, help="folds of parts (a) and (b)")
    options.add_argument("--jobs", type=int, default=2, help="runs at a time")
    options.add_argument("--methods", help="only these, semicolon separated parts of names")
    args = options.parse_args()
    budgets = {"a": [80, 160], "b": [150, 300], "c": [100, 400]}
    seeds = args.seeds
    if args.quick:
        budgets, seeds, args.rows, args.folds = {key: [14, 20] for key in "abc"}, 1, 240, 3
        if args.data is None:
            args.sets, args.tasks = BREAST_CANCER, f"{BREAST_CANCER}:knn"
        else:
            args.sets, args.tasks = "phoneme", "sonar:knn"
    for part in args.parts.split(","):
        if part == "d":
            forests(3 if args.quick else 15)
            continue
        everything = FEATURE_METHODS if part == "c" else METHODS
        methods = [m for m in everything if importlib.util.find_spec(NEEDS.get(m, "optuna"))]
        for lacking in sorted(set(everything) - set(methods)):
            print(f"{lacking} is left out: there is no {NEEDS[lacking]}.", file=sys.stderr)
        if args.methods:
            methods = [m for m in methods if any(part in m for part in args.methods.split(";"))]
        names = (args.tasks if part == "c" else args.sets).split(",")
        folds = 5 if part == "c" and not args.quick else args.folds
        jobs: list[Job] = [
            (part, str(args.data or ""), name, args.rows, folds, budgets[part][-1], method, seed)
            for name in names
            for method in methods
            for seed in range(seeds)
        ]
        title = {"a": "SVM", "b": "Three learners in one space", "c": "Features"}[part]
        found = collect(run_features if part == "c" else run_rates, jobs, args.jobs)
        print(f"\n## ({part}) {title}")
        report = report_features if part == "c" else report_rates
        report(found, names, methods, budgets[part])


if __name__ == "__main__":
    main()
