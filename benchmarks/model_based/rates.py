"""Parts (a) and (b): false negatives and false positives of classifiers."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import moocore
import numpy as np
import optuna
import sklearn
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import GPSampler, TPESampler
from optuna.trial import Trial
from scipy.stats import qmc, rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from benchmarks.common import Spread, markdown_table
from benchmarks.model_based.runs import Job, Result, table
from benchmarks.peers.smac_parego import run_smac
from optuna_mofs import ParEGOSampler, SMSEGOSampler
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.study._feature_sets import suggest

#: Distribution of each parameter, and the category and value that it depends on.
Space = dict[str, tuple[Any, tuple[str, Any] | None]]
Params = dict[str, Any]
Values = tuple[float, ...]
Evaluate = Callable[[Params], Values]
#: Parameters, values, and seconds in the sampler of each trial.
Run = tuple[list[Params], list[Values], list[float]]

WEIGHT = FloatDistribution(2**-7, 2**7, log=True)
WIDE = FloatDistribution(2**-15, 2**15, log=True)


def space_of(part: str, p: int) -> Space:
    """Return the space of part (a), or of part (b): Figure 1 of the paper."""
    if part == "a":
        return {"C": (WIDE, None), "gamma": (WIDE, None), "weight": (WEIGHT, None)}
    return {
        "learner": (CategoricalDistribution(("svm", "forest", "logistic")), None),
        "weight": (WEIGHT, None),
        "C": (WIDE, ("learner", "svm")),
        "gamma": (WIDE, ("learner", "svm")),
        "mtry": (IntDistribution(1, p), ("learner", "forest")),
        "leaf": (IntDistribution(1, 100, log=True), ("learner", "forest")),
        "penalty": (WIDE, ("learner", "logistic")),
    }


def estimator(params: Params) -> Any:
    """Return the classifier with some parameters."""
    weight = {0: 1.0, 1: params["weight"]}
    what = params.get("learner", "svm")
    if what == "svm":
        # Bounded: with a large C on a large scale the solver does not converge.
        return SVC(C=params["C"], gamma=params["gamma"], class_weight=weight, max_iter=20_000)
    if what == "forest":
        return RandomForestClassifier(
            15,
            max_features=params["mtry"],
            min_samples_leaf=params["leaf"],
            class_weight=weight,
            random_state=0,
        )
    return LogisticRegression(C=1 / params["penalty"], class_weight=weight, max_iter=100)


def rates(y: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Return the false negative and the false positive rate."""
    return float((predicted[y == 1] == 0).mean()), float((predicted[y == 0] == 1).mean())


class Tuning:
    """One half of a data set to tune on, the other to test on; the folds depend on the seed.

    Args:
        job: Data, number of rows and folds, and seed.
    """

    def __init__(self, job: Job) -> None:
        X, y = table(job.folder, job.task)
        kept = np.random.default_rng(job.seed).permutation(len(y))[: job.rows]
        halves = train_test_split(
            X[kept], y[kept], test_size=0.5, stratify=y[kept], random_state=job.seed
        )
        scaler = StandardScaler().fit(halves[0])
        self.X, self.X_test = scaler.transform(halves[0]), scaler.transform(halves[1])
        self.y, self.y_test = halves[2], halves[3]
        split = StratifiedKFold(job.folds, shuffle=True, random_state=job.seed)
        self.folds = list(split.split(self.X, self.y))

    def __call__(self, params: Params) -> tuple[float, float]:
        """Return cross-validated rates."""
        predicted = np.zeros(len(self.y))
        for train, test in self.folds:
            model = estimator(params).fit(self.X[train], self.y[train])
            predicted[test] = model.predict(self.X[test])
        return rates(self.y, predicted)

    def test(self, params: Params) -> tuple[float, float]:
        """Return the rates on the other half."""
        model = estimator(params).fit(self.X, self.y)
        return rates(self.y_test, model.predict(self.X_test))


def suggest_active(trial: Trial, space: Space) -> Params:
    """Suggest the parameters that are active."""
    params: Params = {}
    for name, (distribution, condition) in space.items():
        if condition is None or params.get(condition[0]) == condition[1]:
            params[name] = suggest(trial, name, distribution)
    return params


def run_optuna(make: Callable[[int], Any], space: Space, evaluate: Evaluate, job: Job) -> Run:
    """Run a study."""
    study = optuna.create_study(directions=["minimize"] * 2, sampler=make(job.seed))
    params, values, seconds = [], [], []
    for _ in range(job.trials):
        before = time.thread_time()
        trial = study.ask()
        params.append(suggest_active(trial, space))
        seconds.append(time.thread_time() - before)
        values.append(evaluate(params[-1]))
        study.tell(trial, values[-1])
    return params, values, seconds


def run_latin(space: Space, evaluate: Evaluate, job: Job) -> Run:
    """Evaluate a Latin hypercube over all parameters, of which the active ones are used."""
    joint = SearchSpace({name: d for name, (d, _) in space.items()})
    cube = qmc.LatinHypercube(len(joint), seed=job.seed).random(job.trials)
    params = []
    for row in joint.from_unit(cube):
        point = joint.decode(row)
        active = {
            name: point[name]
            for name, (_, condition) in space.items()
            if condition is None or point[condition[0]] == condition[1]
        }
        params.append(active)
    return params, [evaluate(p) for p in params], [0.0] * job.trials


METHODS: dict[str, Callable[[Space, Evaluate, Job], Run]] = {
    "ParEGOSampler": partial(run_optuna, lambda s: ParEGOSampler(seed=s)),
    "SMSEGOSampler": partial(run_optuna, lambda s: SMSEGOSampler(seed=s)),
    "ParEGOSampler, forest": partial(
        run_optuna, lambda s: ParEGOSampler(seed=s, surrogate="forest")
    ),
    "TPESampler": partial(run_optuna, lambda s: TPESampler(seed=s)),
    "GPSampler": partial(run_optuna, lambda s: GPSampler(seed=s)),
    "SMAC3 ParEGO": lambda space, evaluate, job: run_smac(space, evaluate, job.trials, job.seed),
    "Latin hypercube": run_latin,
}
#: Package that a method needs.
NEEDS = {"GPSampler": "torch", "SMAC3 ParEGO": "smac"}


def run(job: Job) -> Result:
    """Return values of all trials, of the front on the other half, and seconds per proposal."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        tuning = Tuning(job)
        space = space_of(job.part, tuning.X.shape[1])
        params, values, seconds = METHODS[job.method](space, tuning, job)
        front = np.flatnonzero(moocore.is_nondominated(np.array(values)))
        tested = [tuning.test(params[i]) for i in front]
    # The mean: SMAC3 fits once for several proposals.
    late = seconds[-max(1, job.trials // 10) :]
    return {
        "tuned": np.round(values, 5).tolist(),
        "tested": np.round(tested, 5).tolist(),
        "seconds": float(np.mean(late)),
    }


def scaled_volumes(runs: list[np.ndarray]) -> list[float]:
    """Return hypervolumes of one data set and seed, scaled over all methods (section III)."""
    fronts = [run[moocore.is_nondominated(run)] for run in runs]
    union = np.concatenate(fronts)
    low, high = union.min(axis=0), union.max(axis=0)
    span = np.where(high > low, high - low, 1.0)
    return [float(moocore.hypervolume((front - low) / span, ref=[1.1, 1.1])) for front in fronts]


def report(found: dict[Job, Result], jobs: list[Job]) -> None:
    """Print one table per data set, and median ranks.

    Slow methods may have fewer runs; ranks compare runs with the same seeds.
    """
    tasks, methods = (list(dict.fromkeys(getattr(j, k) for j in jobs)) for k in ("task", "method"))
    trials = jobs[0].trials
    columns = {
        f"tuning, {trials // 2}": lambda r: np.array(r["tuned"][: trials // 2]),
        f"tuning, {trials}": lambda r: np.array(r["tuned"]),
        f"test, {trials}": lambda r: np.array(r["tested"]),
    }
    volumes: dict[tuple[str, int], dict[str, list[float]]] = {}
    for task, seed in dict.fromkeys((job.task, job.seed) for job in jobs):
        here = {j.method: found[j] for j in jobs if (j.task, j.seed) == (task, seed)}
        scaled = [scaled_volumes([of(r) for r in here.values()]) for of in columns.values()]
        volumes[task, seed] = dict(zip(here, map(list, zip(*scaled))))
    for task in tasks:
        rows = []
        for method in methods:
            runs = [v[method] for (t, _), v in volumes.items() if t == task and method in v]
            if not runs:
                continue
            spreads = [Spread.of(column) for column in zip(*runs)]
            texts = (f"{s.median:.3f} [{s.low:.3f}, {s.high:.3f}]" for s in spreads)
            rows.append([method, len(runs), *texts])
        print(f"\n### {task}\n")
        print(markdown_table(["hypervolume", "runs", *columns], rows))
    spent = {m: np.median([found[j]["seconds"] for j in jobs if j.method == m]) for m in methods}
    everywhere = [m for m in methods if all(m in v for v in volumes.values())]
    for names in dict.fromkeys((tuple(everywhere), tuple(methods))):
        rows_of = [[v[m] for m in names] for v in volumes.values() if set(names) <= set(v)]
        middle = np.median(rankdata(-np.array(rows_of), axis=1), axis=0)
        rows = [
            [m, *(f"{rank:.1f}" for rank in line), f"{spent[m]:.3f}"]
            for m, line in zip(names, middle)
        ]
        print(f"\n### Median rank (1 is best) of {len(names)} methods in {len(rows_of)} runs\n")
        print(markdown_table(["method", *columns, "seconds per late proposal"], rows))
