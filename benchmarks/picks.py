"""One trial of a front on rows that the search has not seen: which rule picks the best model?

Features and hyperparameters of a linear model and an SVM are searched on at most 300 rows with the
default objective (five folds); each rule then picks one trial, whose model is fitted on these rows
and tested on others, a quarter of all rows or up to 500. The data sets of :data:`KEPT_OUT` took no
part in the choice of the default pick, nor did these seeds.

    python -m benchmarks.picks --data DIR --seeds 2 --keep picks.json
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from sklearn import datasets
from sklearn.model_selection import train_test_split

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    Front,
    ParEGOSampler,
    fold_scores,
    pareto_front,
    spaces,
)
from optuna_mofs.fronts import one_standard_error_index
from optuna_mofs.fronts._honest import SelectionBootstrap, unit_losses
from optuna_mofs.study._losses import read_losses

NAMES = ("sonar", "wdbc", "semeion_binary", "spambase", "waveform_binary", "hill-valley")
BUNDLED = ("wine", "digits", "diabetes", "friedman")
KEPT_OUT = ("ida_heart", "ida_image", "fashion-mnist_sub")
SAMPLERS = {
    "FilterEnsembleNSGA2Sampler": FilterEnsembleNSGA2Sampler,
    "ParEGOSampler": ParEGOSampler,
}
MAX_SEARCH_ROWS, MAX_TEST_ROWS = 300, 500


def table(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return X, y and the task of a data set."""
    rng = np.random.default_rng(0)
    task = "regression" if name in ("diabetes", "friedman") else "classification"
    if name == "friedman":
        X, y = datasets.make_friedman1(400, 60, noise=2.0, random_state=1)
    elif name in BUNDLED:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        X = np.hstack([X, rng.standard_normal((len(X), 20))])
    else:
        data = load(folder, name)
        X, y = data["X"].astype(float), data["y"]
    return X, y, task


def without_floor(front: Front) -> Any:
    """Apply the one-standard-error rule without a smallest standard error."""
    trials = [trial for trial in front if trial.user_attrs["n_features"]]
    errors = [trial.values[0] for trial in trials]
    folds = [np.array(fold_scores(trial)["error"]) for trial in trials]
    spreads = [np.std(f, ddof=1) / np.sqrt(len(f)) for f in folds]
    sizes = [trial.user_attrs["n_features"] for trial in trials]
    return trials[one_standard_error_index(errors, sizes, spreads)]


def by_honest_values(front: Front) -> Any:
    """Return the sparsest trial whose honest value is within one standard error of the best."""
    pairs = zip(front, front.honest().members)
    known = [(trial, member.value) for trial, member in pairs if trial.user_attrs["n_features"]]
    trials, values = zip(*known)
    best = read_losses(trials[int(np.argmin(values))])
    assert best is not None
    losses = best.values[np.isfinite(best.values)]
    spread = np.std(losses, ddof=1) / np.sqrt(best.n_rows)
    floor = 0.02 * front.baselines.constant[0]
    sizes = [trial.user_attrs["n_features"] for trial in trials]
    return trials[one_standard_error_index(values, sizes, max(spread, floor))]


def median_of_bootstraps(front: Front) -> Any:
    """Return the best trial of the median size that one standard error picks in bootstraps."""
    study = front.study
    trials = [trial for trial in study.get_trials(deepcopy=False) if trial.values is not None]
    found = [(t, losses) for t in trials if (losses := read_losses(t)) is not None]
    n_kept = min(len(losses.values) for _, losses in found)
    units = unit_losses(np.array([losses.values[:n_kept] for _, losses in found]))
    sizes = np.array([trial.user_attrs["n_features"] for trial, _ in found])
    bootstrap = SelectionBootstrap(units, sizes, n_bootstraps=400, seed=0)
    chosen = sizes[bootstrap.one_standard_error(0.02 * front.baselines.constant[0])]
    return front.best(max_features=int(max(1, np.median(chosen[chosen > 0]))))


#: The reference is the second one.
RULES: dict[str, Callable[[Front], Any]] = {
    "lowest error": lambda front: front.best(),
    "one standard error": lambda front: front.one_standard_error(),
    "one standard error, no floor": without_floor,
    "knee": lambda front: front.knee(),
    "honest values, one standard error": by_honest_values,
    "median size of one standard error in bootstraps": median_of_bootstraps,
    "default pick": lambda front: front.pick(),
}


def run(name: str, learner: str, sampler: str, seed: int, args: Any) -> dict[str, list[float]]:
    """Return held-out error, number of features and cross-validated error per rule."""
    X, y, task = table(name, args.data)
    stratify = y if task == "classification" else None
    n_search = min(MAX_SEARCH_ROWS, int(0.75 * len(X)))
    n_test = min(MAX_TEST_ROWS, len(X) - n_search)
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=n_search, test_size=n_test, random_state=seed, stratify=stratify
    )
    estimator, space = spaces.get_learner(learner, task, random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space, random_state=seed)
    study = objective.create_study(sampler=SAMPLERS[sampler](seed=seed))
    study.optimize(objective, n_trials=args.trials)
    front = pareto_front(study)
    found = {}
    for rule, pick in RULES.items():
        trial = pick(front)
        error = 1 - objective.refit(trial).score(X_test, y_test)
        found[rule] = [error, trial.user_attrs["n_features"], trial.values[0]]
    return found


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--trials", type=int, default=80, help="trials per search (%(default)s)")
    options.add_argument(
        "--samplers", default=",".join(SAMPLERS), help="names of samplers (%(default)s)"
    )
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    names = [*NAMES, *BUNDLED, *KEPT_OUT]
    samplers = args.samplers.split(",")
    if args.quick:
        names, args.trials, args.seeds = ["wine", "friedman"], 20, 1
    runs = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    for seed in range(args.seeds):
        for name in names:
            is_regression = name in ("diabetes", "friedman")
            for learner in ("ridge" if is_regression else "logistic_regression", "svm"):
                for sampler in samplers:
                    key = f"{name} {learner} {sampler} {seed}"
                    if key not in runs:
                        runs[key] = run(name, learner, sampler, seed, args)
                        if args.keep:
                            args.keep.write_text(json.dumps(runs))
    for sampler in samplers:
        chosen = {key: found for key, found in runs.items() if f" {sampler} " in key}
        kept = [found for key, found in chosen.items() if key.split()[0] in KEPT_OUT]
        for title, some in (
            ("", [*chosen.values()]),
            (", data sets kept out of the choice", kept),
        ):
            if some:
                print(f"\n{sampler}{title}, {len(some)} runs of {args.trials} trials\n")
                print(markdown_table(_HEADER, [_row(rule, some) for rule in RULES]))


_HEADER = (
    "rule",
    "held-out error",
    "features (geometric mean)",
    "cross-validated error too low by",
    "held-out error minus that of one standard error",
    "not worse",
)


def _row(rule: str, chosen: list[dict[str, list[float]]]) -> list[object]:
    error, size, inner = np.array([found[rule] for found in chosen]).T
    gap = error - np.array([found["one standard error"][0] for found in chosen])
    spread = np.std(gap, ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else 0.0
    features = np.exp(np.log(np.maximum(size, 0.5)).mean())
    return [
        rule,
        f"{error.mean():.4f}",
        f"{features:.1f}",
        f"{(error - inner).mean():.4f}",
        f"{gap.mean():+.4f} (se {spread:.4f})",
        f"{np.mean(gap <= 1e-12):.0%}",
    ]


if __name__ == "__main__":
    main()
