"""Part (c): error and fraction of features."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import moocore
import numpy as np
import optuna
import sklearn
from optuna.samplers import TPESampler
from scipy.stats import rankdata

from benchmarks.common import Spread, markdown_table
from benchmarks.model_based.runs import Job, Result, table
from benchmarks.nsga2 import learner
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    MaskFeatures,
    ParEGOSampler,
    SingleFilterFeatures,
    SMSEGOSampler,
)
from optuna_mofs.samplers.model_based import ModelBasedSettings

#: Name of a method: representation and sampler of a seed.
METHODS: dict[str, tuple[str, Callable[[int], Any]]] = {
    "BO-MO-FE: ParEGOSampler, filter ensemble": ("ensemble", lambda s: ParEGOSampler(seed=s)),
    "the paper's filter ensemble: ParEGOSampler": ("paper", lambda s: ParEGOSampler(seed=s)),
    "BO-MO: ParEGOSampler, single filter": ("single", lambda s: ParEGOSampler(seed=s)),
    "ParEGOSampler, masks": ("mask", lambda s: ParEGOSampler(seed=s)),
    **{
        f"without larger sets: {form}": (
            form,
            lambda s: ParEGOSampler(
                settings=ModelBasedSettings(explore_larger_sets=False), seed=s
            ),
        )
        for form in ("ensemble", "single", "mask")
    },
    "SMSEGOSampler, filter ensemble": ("ensemble", lambda s: SMSEGOSampler(seed=s)),
    "FilterEnsembleNSGA2Sampler": ("mask", lambda s: FilterEnsembleNSGA2Sampler(seed=s)),
    "the paper's GA-MO-FE": (
        "mask",
        lambda s: FilterEnsembleNSGA2Sampler.from_paper("GA-MO-FE", seed=s),
    ),
    "TPESampler, filter ensemble": ("ensemble", lambda s: TPESampler(seed=s)),
}


@lru_cache(maxsize=4)
def objective(
    folder: str, task: str, rows: int, folds: int, form: str
) -> FeatureSelectionObjective:
    """Return the objective of a task with one of the representations; they share the filters."""
    name, what = task.split(":")
    X, y = table(folder, name)
    kept = np.random.default_rng(0).permutation(len(y))[:rows]
    model, space = learner(what)
    features = {
        "mask": MaskFeatures,
        "ensemble": lambda: FilterEnsembleFeatures(ranks="all"),
        "paper": lambda: FilterEnsembleFeatures(ranks="all", redundancy_penalty=False),
        "single": lambda: SingleFilterFeatures(ranks="all"),
    }[form]()
    made = FeatureSelectionObjective(
        model, X[kept], y[kept], space=space, representation=features, cv=folds
    )
    if form != "ensemble":
        made.ranking = objective(folder, task, rows, folds, "ensemble").ranking
    return made


def run(job: Job) -> Result:
    """Return the hypervolume after each trial; the reference point is (1, 1)."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    form, make = METHODS[job.method]
    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        made = objective(job.folder, job.task, job.rows, job.folds, form)
        study = made.create_study(sampler=make(job.seed))
        study.optimize(made, n_trials=job.trials)
    values = np.array([t.values if t.values is not None else (1.0, 1.0) for t in study.trials])
    volumes = [moocore.hypervolume(values[: k + 1], ref=[1, 1]) for k in range(job.trials)]
    return {"volumes": np.round(volumes, 6).tolist()}


def report(found: dict[Job, Result], jobs: list[Job]) -> None:
    """Print one table per task, and mean ranks of the medians.

    Methods that were not run on all of the tasks are left out.
    """
    tasks, methods = (list(dict.fromkeys(getattr(j, k) for j in jobs)) for k in ("task", "method"))
    pairs = {(j.task, j.method) for j in jobs}
    methods = [m for m in methods if all((t, m) in pairs for t in tasks)]
    trials = jobs[0].trials
    marks = [m for m in (50, 100, 200) if m < trials] + [trials]
    ranks = []
    for task in tasks:
        rows, middles = [], []
        for method in methods:
            runs = [found[j]["volumes"] for j in jobs if (j.task, j.method) == (task, method)]
            spreads = [Spread.of([run[mark - 1] for run in runs]) for mark in marks]
            middles.append([s.median for s in spreads])
            texts = (f"{s.median:.4f} [{s.low:.4f}, {s.high:.4f}]" for s in spreads)
            rows.append([method, len(runs), *texts])
        print(f"\n### {task}\n")
        print(markdown_table(["hypervolume at trial", "runs", *map(str, marks)], rows))
        ranks.append(rankdata(-np.array(middles), axis=0))
    print("\n### Mean rank of the medians over tasks (1 is best)\n")
    lines = np.mean(ranks, axis=0)
    rows = [[m, *(f"{rank:.2f}" for rank in line)] for m, line in zip(methods, lines)]
    print(markdown_table(["method", *map(str, marks)], rows))
