"""The sampler that users get without arguments, against all others, on rows that nobody saw.

Every method searches the same rows with the same folds and as many evaluations; a quarter of the
rows is held out. Printed are the hypervolume of error and fraction of features, reference (1, 1),
by the inner cross-validation and on the held-out rows, and the mean rank among the methods. The
data sets of :data:`benchmarks.honesty.KEPT_OUT` took no part in any choice of a default.

    python -m benchmarks.flagship --data DIR --seeds 5 --keep flagship.json
"""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import optuna
from sklearn.model_selection import train_test_split

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import DEFAULT, KEPT_OUT, MAX_ROWS, front_values, learner, table
from benchmarks.peers import other_packages
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    LexicographicPreference,
    LexiFlowSampler,
    MOEADSampler,
    ParEGOSampler,
    SMSEGOSampler,
)
from optuna_mofs.features import FilterEnsembleFeatures, MaskFeatures, SingleFilterFeatures
from optuna_mofs.samplers import FeatureSetSearch, NSGA2Settings, RandomDesign
from optuna_mofs.samplers.lexiflow import LexiFlowSettings
from optuna_mofs.samplers.moead import MOEADSettings

MARKS = (50, 100, 200, 400)


def masks(**options: Any) -> dict[str, Any]:
    """Return options of an objective that searches masks on all rows of the search."""
    return {"representation": "mask", "holdout": None, **options}


def path(ranking: Any) -> dict[str, Any]:
    """Return options of an objective that selects the best features of one ranking."""
    chosen = SingleFilterFeatures(ranks="all")
    return {"representation": chosen, "filters": [ranking], "holdout": None}


#: Function of (objective, study, number of trials, seed) that fills a study.
Fill = Callable[[FeatureSelectionObjective, optuna.Study, int, int], None]


def lexiflow(seed: int, settings: LexiFlowSettings) -> LexiFlowSampler:
    """Return a sampler that looks for a small error first, then for few features."""
    return LexiFlowSampler(
        LexicographicPreference(tolerances=[0.02, 0.0]), settings=settings, seed=seed
    )


def plain(kind: Callable[..., Any], seed: int) -> Any:
    """Return a sampler that starts at random hyperparameters and masks, as it did before."""
    design = RandomDesign(("ensemble", "prefix", "geometric", "wide"), plain=True)
    settings = MOEADSettings if kind is MOEADSampler else LexiFlowSettings
    return kind(seed=seed, settings=settings(initial_design=design))


@dataclass(frozen=True)
class Method:
    """A search: options of the objective, and a function of the seed that returns a sampler."""

    options: Callable[[], dict[str, Any]]
    sampler: Callable[[int], Any]
    #: "ours", "peer", "path" (one ranking whose best features are tuned), "all" (no selection, for
    #: the error only), or "variant" of the default, which takes no part in a run of all methods.
    group: str = "ours"
    #: Number of trials that run at the same time.
    n_workers: int = 1
    #: Runs the search of a package that is no sampler of Optuna.
    fill: Fill | None = None


METHODS = {
    "default": Method(dict, lambda seed: FilterEnsembleNSGA2Sampler(seed=seed)),
    "default, 16 workers": Method(
        dict, lambda seed: FilterEnsembleNSGA2Sampler(seed=seed), "variant", n_workers=16
    ),
    "default, no start by single filters": Method(
        dict,
        lambda seed: FilterEnsembleNSGA2Sampler(
            seed=seed, settings=NSGA2Settings(initial_design=RandomDesign(single_filters=False))
        ),
        "variant",
    ),
    "default, hyperparameters near good trials only": Method(
        dict,
        lambda seed: FilterEnsembleNSGA2Sampler(
            seed=seed, settings=NSGA2Settings(set_search=FeatureSetSearch(fresh_share=0.0))
        ),
        "variant",
    ),
    "default, no return to feature sets": Method(
        dict,
        lambda seed: FilterEnsembleNSGA2Sampler(
            seed=seed, settings=NSGA2Settings(return_to_sets=False)
        ),
        "variant",
    ),
    "default before these parts": Method(
        dict,
        lambda seed: FilterEnsembleNSGA2Sampler(
            seed=seed,
            settings=NSGA2Settings(
                initial_design=RandomDesign(single_filters=False),
                set_search=FeatureSetSearch(fresh_share=0.0),
                return_to_sets=False,
            ),
        ),
        "variant",
    ),
    "default, two exceptions": Method(
        lambda: {"representation": FilterEnsembleFeatures(exceptions=2)},
        lambda seed: FilterEnsembleNSGA2Sampler(seed=seed),
        "variant",
    ),
    "default on masks": Method(masks, lambda seed: FilterEnsembleNSGA2Sampler(seed=seed)),
    "genetic algorithm": Method(
        dict, lambda seed: FilterEnsembleNSGA2Sampler(surrogate=None, seed=seed)
    ),
    "genetic algorithm on masks": Method(
        masks, lambda seed: FilterEnsembleNSGA2Sampler(surrogate=None, seed=seed)
    ),
    "ParEGOSampler": Method(dict, lambda seed: ParEGOSampler(seed=seed)),
    "SMSEGOSampler": Method(dict, lambda seed: SMSEGOSampler(seed=seed)),
    "MOEADSampler": Method(dict, lambda seed: MOEADSampler(seed=seed)),
    "MOEADSampler, plain start": Method(dict, partial(plain, MOEADSampler), "variant"),
    "MOEADSampler on masks": Method(masks, lambda seed: MOEADSampler(seed=seed)),
    "MOEADSampler on masks, plain start": Method(masks, partial(plain, MOEADSampler), "variant"),
    "LexiFlowSampler": Method(dict, partial(lexiflow, settings=LexiFlowSettings()), "variant"),
    "LexiFlowSampler, plain start": Method(dict, partial(plain, lexiflow), "variant"),
    "LexiFlowSampler on masks": Method(
        masks, partial(lexiflow, settings=LexiFlowSettings()), "variant"
    ),
    "LexiFlowSampler on masks, plain start": Method(masks, partial(plain, lexiflow), "variant"),
    "GA-MO-FE (paper)": Method(
        masks, lambda seed: FilterEnsembleNSGA2Sampler.from_paper(seed=seed), "peer"
    ),
    "TPE on the filter ensemble": Method(
        lambda: {"representation": FilterEnsembleFeatures.from_paper(), "holdout": None},
        lambda seed: optuna.samplers.TPESampler(seed=seed),
        "peer",
    ),
    "GPSampler on the filter ensemble": Method(
        lambda: {"representation": FilterEnsembleFeatures.from_paper(), "holdout": None},
        lambda seed: optuna.samplers.GPSampler(seed=seed),
        "peer",
    ),
    "TPE on bits": Method(
        lambda: masks(representation=MaskFeatures(form="bits")),
        lambda seed: optuna.samplers.TPESampler(seed=seed),
        "peer",
    ),
    "NSGAIISampler on bits": Method(
        lambda: masks(representation=MaskFeatures(form="bits")),
        lambda seed: optuna.samplers.NSGAIISampler(seed=seed),
        "peer",
    ),
    "SMAC3 ParEGO on the filter ensemble": Method(
        lambda: {"representation": FilterEnsembleFeatures.from_paper(), "holdout": None},
        lambda seed: None,
        "peer",
        fill=other_packages.smac_parego,
    ),
    "pymoo NSGA-II on bits": Method(
        lambda: masks(representation=MaskFeatures(form="bits")),
        lambda seed: None,
        "peer",
        fill=other_packages.pymoo_nsga2,
    ),
    "MOFS-RFGA (moofs)": Method(masks, lambda seed: None, "peer", fill=other_packages.moofs_rfga),
    "forest elimination, k best tuned": Method(
        lambda: path("forest_elimination"),
        lambda seed: optuna.samplers.TPESampler(seed=seed),
        "path",
    ),
    "lasso path, k best tuned": Method(
        lambda: path("l1_path"), lambda seed: optuna.samplers.TPESampler(seed=seed), "path"
    ),
    "L0 path (abess), k best tuned": Method(
        lambda: path(other_packages.l0_path),
        lambda seed: optuna.samplers.TPESampler(seed=seed),
        "path",
    ),
    "all features tuned": Method(
        lambda: {"representation": None}, lambda seed: optuna.samplers.TPESampler(seed=seed), "all"
    ),
}


def run(name: str, method: Method, seed: int, args: Any) -> dict[str, Any]:
    """Return the values of a search after each number of trials, and CPU seconds per proposal."""
    X, y, task = table(name, args.data, MAX_ROWS)
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, random_state=seed, stratify=y if task == "classification" else None
    )
    estimator, space = learner({**DEFAULT, **KEPT_OUT}[name], task)
    objective = FeatureSelectionObjective(
        estimator, X, y, space=space, random_state=seed, **method.options()
    )
    sampler = method.sampler(seed)
    n_trials = max(args.marks)
    study = objective.create_study(sampler=sampler or optuna.samplers.RandomSampler(seed=seed))
    start = time.process_time()
    if method.fill is not None:
        method.fill(objective, study, n_trials, seed)
    elif method.n_workers == 1:
        study.optimize(objective, n_trials=n_trials)
    else:
        optimize_by_workers(objective, study, n_trials, method.n_workers)
    seconds = time.process_time() - start
    found: dict[str, Any] = front_values(objective, study, args.marks, X_test, y_test)
    return {**found, "cpu": seconds / n_trials}


def optimize_by_workers(objective: Any, study: Any, n_trials: int, n_workers: int) -> None:
    """Run trials of which so many are always running: each ends when the last one has started."""
    evaluated = [Event() for _ in range(n_trials)]

    def evaluate(trial: Any) -> Any:
        try:
            return objective(trial)
        finally:
            evaluated[trial.number].set()
            evaluated[min(trial.number + n_workers, n_trials) - 1].wait()

    study.optimize(evaluate, n_trials=n_trials, n_jobs=n_workers)


def _mean(values: Sequence[float]) -> str:
    spread = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
    return f"{np.mean(values):+.3f} ± {spread:.3f}"


def print_tables(runs: dict[str, Any], names: Sequence[str], marks: Sequence[int]) -> None:
    """Print hypervolume and ranks of the runs that all methods have."""
    present = [m for m in METHODS if any(key.split("|")[0] == m for key in runs)]
    methods = [m for m in present if METHODS[m].group != "all"]
    tasks = sorted({key.split("|", 1)[1] for key in runs})
    tasks = [t for t in tasks if all(f"{m}|{t}" in runs for m in methods)]
    tasks = [t for t in tasks if t.split("|")[0] in names]
    if not tasks:
        print("No task has runs of all methods yet.")
        return
    for column, where in enumerate(("inner", "new rows")):
        values = {
            mark: np.array([[runs[f"{m}|{t}"][str(mark)][column] for t in tasks] for m in methods])
            for mark in marks
        }
        ranks = {
            mark: (-v).argsort(axis=0).argsort(axis=0).mean(axis=1) for mark, v in values.items()
        }
        rows = [
            [
                m,
                *(f"{values[k][i].mean():.4f}" for k in marks),
                *(f"{1 + ranks[k][i]:.1f}" for k in marks),
            ]
            for i, m in enumerate(methods)
        ]
        header = [f"{where}, {len(tasks)} runs", *(f"{k} trials" for k in marks)]
        print("\n" + markdown_table([*header, *(f"rank at {k}" for k in marks)], rows))
        _print_bars(values, methods, marks, where)
    _print_errors(runs, present, tasks, marks)
    cpu = {m: np.mean([runs[f"{m}|{t}"]["cpu"] for t in tasks]) for m in methods}
    rows = [[m, f"{cpu[m] / cpu[methods[0]]:.2f}"] for m in methods]
    print("\n" + markdown_table(["CPU per trial, with evaluation", f"times {methods[0]}"], rows))


def _print_errors(
    runs: dict[str, Any], methods: Sequence[str], tasks: Sequence[str], marks: Sequence[int]
) -> None:
    """Print the error on new rows of the trial with the lowest cross-validated error."""
    rows = []
    for m in methods:
        found = [runs[f"{m}|{t}"] for t in tasks if f"{m}|{t}" in runs]
        if len(found) == len(tasks):
            errors = [np.mean([run[str(mark)][3] for run in found]) for mark in marks]
            rows.append([m, *(f"{error:.4f}" for error in errors)])
    header = [f"error on new rows of the best trial, {len(tasks)} runs"]
    print("\n" + markdown_table([*header, *(f"{mark} trials" for mark in marks)], rows))


def _print_bars(
    values: dict[int, np.ndarray], methods: Sequence[str], marks: Sequence[int], where: str
) -> None:
    if "default" not in methods:
        return
    ours = methods.index("default")
    groups = np.array([METHODS[m].group for m in methods])
    peers, paths = np.flatnonzero(groups == "peer"), np.flatnonzero(groups == "path")
    last = max(marks)
    if len(peers):
        best = peers[values[last][peers].mean(axis=1).argmax()]
        for mark in [k for k in (100, last) if k in values]:
            difference = values[mark][ours] - values[last][best]
            print(
                f"\n{where}: default at {mark} minus {methods[best]}, the best peer, at {last}: "
                f"{_mean(difference)}, above in {np.mean(difference > 0):.0%} of the runs."
            )
    for i in paths:
        for mark in marks:
            difference = values[mark][ours] - values[mark][i]
            print(
                f"{where}: default minus {methods[i]} at {mark}: {_mean(difference)}, "
                f"above in {np.mean(difference > 0):.0%} of the runs."
            )


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    options.add_argument("--methods", help="names of methods, separated by semicolons")
    options.add_argument("--names", help="names of data sets, separated by commas")
    options.add_argument("--trials", type=int, default=max(MARKS), help="trials of each run")
    args = options.parse_args()
    names = [*DEFAULT, *KEPT_OUT] if not args.names else args.names.split(",")
    every = [name for name, method in METHODS.items() if method.group != "variant"]
    methods = every if not args.methods else args.methods.split(";")
    args.marks = [mark for mark in MARKS if mark <= args.trials]
    if args.quick:
        names, args.marks, args.seeds = ["wine"], [20, 25], 1
        methods = ["default", "genetic algorithm", "TPE on the filter ensemble"]
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    kept = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    for seed in range(args.seeds):
        for name in names:
            for method in methods:
                key = f"{method}|{name}|{seed}"
                if key not in kept:
                    kept[key] = run(name, METHODS[method], seed, args)
                    if args.keep:
                        args.keep.write_text(json.dumps(kept))
    print_tables(kept, names, args.marks)
    print("\n### Data sets that took no part in any choice")
    print_tables(kept, [name for name in names if name in KEPT_OUT], args.marks)


if __name__ == "__main__":
    main()
