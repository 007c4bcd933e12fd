"""One trial of a front on rows that the search has not seen: which rule picks the best model?

A quarter of the rows is held out. Masks and hyperparameters of a linear model and an SVM are
searched on the others with the default objective (five folds); each rule then picks one trial,
whose model is fitted on all rows of the search and tested on the held-out rows.

    python -m benchmarks.picks --data DIR --seeds 3 --keep picks.json
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
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split

from benchmarks.common import load, markdown_table, parser  # first: it sets threads
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    Front,
    ParEGOSampler,
    pareto_front,
    spaces,
)
from optuna_mofs.fronts import one_standard_error_index

NAMES = ("sonar", "wdbc", "semeion_binary", "spambase", "waveform_binary", "hill-valley")
BUNDLED = ("wine", "digits", "diabetes", "friedman")
SAMPLERS = {
    "FilterEnsembleNSGA2Sampler": FilterEnsembleNSGA2Sampler,
    "ParEGOSampler": ParEGOSampler,
}
MAX_ROWS = 700


def table(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray, str]:
    """Return X, y and the task of a data set, at most :data:`MAX_ROWS` rows."""
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
    rows = rng.permutation(len(X))[:MAX_ROWS]
    return X[rows], y[rows], task


def without_floor(front: Front) -> Any:
    """Apply the one-standard-error rule without a smallest standard error."""
    trials = [trial for trial in front if trial.user_attrs["n_features"]]
    errors = [trial.values[0] for trial in trials]
    folds = [np.array(trial.user_attrs["fold_scores"]["error"]) for trial in trials]
    spreads = [np.std(f, ddof=1) / np.sqrt(len(f)) for f in folds]
    sizes = [trial.user_attrs["n_features"] for trial in trials]
    return trials[one_standard_error_index(errors, sizes, spreads)]


RULES: dict[str, Callable[[Front], Any]] = {
    "lowest error": lambda front: front.best(),
    "knee": lambda front: front.knee(),
    "one standard error": without_floor,
    "default pick": lambda front: front.pick(),
}


def run(name: str, learner: str, sampler: str, seed: int, args: Any) -> dict[str, list[float]]:
    """Return held-out error, number of features and cross-validated error per rule."""
    X, y, task = table(name, args.data)
    stratify = y if task == "classification" else None
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=0.25, random_state=seed, stratify=stratify
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
    options.add_argument("--keep", type=Path, metavar="FILE", help="keep runs, to continue later")
    args = options.parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore", ConvergenceWarning)
    names = [*NAMES, *BUNDLED]
    if args.quick:
        names, args.trials, args.seeds = ["wine", "friedman"], 20, 1
    runs = json.loads(args.keep.read_text()) if args.keep and args.keep.exists() else {}
    for seed in range(args.seeds):
        for name in names:
            is_regression = name in ("diabetes", "friedman")
            for learner in ("ridge" if is_regression else "logistic_regression", "svm"):
                for sampler in SAMPLERS:
                    key = f"{name} {learner} {sampler} {seed}"
                    if key not in runs:
                        runs[key] = run(name, learner, sampler, seed, args)
                        if args.keep:
                            args.keep.write_text(json.dumps(runs))
    for sampler in SAMPLERS:
        chosen = [found for key, found in runs.items() if f" {sampler} " in key]
        print(f"\n{sampler}, {len(chosen)} runs of {args.trials} trials\n")
        print(markdown_table(_HEADER, [_row(rule, chosen) for rule in RULES]))


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
