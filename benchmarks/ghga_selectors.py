"""Error and size of GHGASampler, RFECV and SequentialFeatureSelector with equal budgets.

All methods get the same training rows; one evaluation is a 5-fold cross-validation, five fits.
GHGASampler gets as many evaluations as the selector of scikit-learn used, and the error of the
selected features is measured on held-out rows.

    python -m benchmarks.ghga_selectors --data DIR --tasks madelon,diabetes --seeds 3
    python -m benchmarks.ghga_selectors --data DIR --tasks madelon --against RFECV

The regression set is scikit-learn's diabetes data with all squares and products (65 features).
"""

from __future__ import annotations

import json
import sys
import warnings
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.common import Spread, load, markdown_table, parser  # first: it sets threads

# isort: split
import numpy as np
import optuna
import sklearn
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.feature_selection import RFECV, SequentialFeatureSelector
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import PolynomialFeatures, StandardScaler

from optuna_mofs import FeatureSelectionObjective, GHGASampler, optima

TOLERANCE = 0.005
SELECTORS = ("RFECV", "SequentialFeatureSelector")
#: Task, split, maximum number of training rows, selectors separated by commas.
Job = tuple[str, int, int, str]
#: Method, evaluations, size, test error.
Result = tuple[str, int, int, float]


def task(name: str, folder: Path | None) -> tuple[np.ndarray, np.ndarray, Any, Any]:
    """Return data, model, and the model that ranks features for RFECV (k-NN cannot)."""
    if name == "diabetes":
        X, y = load_diabetes(return_X_y=True)
        X = PolynomialFeatures(2, include_bias=False).fit_transform(X)
        return X, y, LinearRegression(), LinearRegression()
    data = load(folder, name)
    ranker = ExtraTreesClassifier(50, max_depth=8, random_state=0)
    return np.asarray(data["X"], dtype=float), data["y"], KNeighborsClassifier(), ranker


def selected_by_rfecv(X: np.ndarray, y: np.ndarray, ranker: Any) -> tuple[np.ndarray, int]:
    """Return features and number of evaluations: the sizes that were cross-validated."""
    chosen = RFECV(clone(ranker), step=max(1, X.shape[1] // 100), cv=5).fit(X, y)
    return chosen.support_, len(chosen.cv_results_["n_features"])


def selected_by_sfs(X: np.ndarray, y: np.ndarray, model: Any) -> tuple[np.ndarray, int]:
    """Return features and number of evaluations: every remaining feature, at every step."""
    chosen = SequentialFeatureSelector(clone(model), tol=TOLERANCE, cv=5).fit(X, y)
    size, p = int(chosen.get_support().sum()), X.shape[1]
    return chosen.get_support(), sum(p - k for k in range(min(size + 1, p)))


def selected_by_ghga(
    X: np.ndarray, y: np.ndarray, model: Any, evaluations: int, seed: int
) -> np.ndarray:
    """Return the smallest set within the tolerance after some evaluations."""
    objective = FeatureSelectionObjective(clone(model), X, y, cv=5)
    sampler = GHGASampler(seed=seed, tolerance=TOLERANCE, n_trials=evaluations)
    study = objective.create_study(sampler=sampler)
    study.optimize(objective, n_trials=evaluations)
    return optima(study, TOLERANCE).masks[0]


def compare(job: Job, folder: str | None) -> tuple[Job, list[Result]]:
    """Return the results of all methods on one split."""
    name, seed, rows, against = job
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.filterwarnings("ignore")
    X, y, model, ranker = task(name, Path(folder) if folder else None)
    stratify = y if name != "diabetes" else None
    X, X_test, y, y_test = train_test_split(
        X, y, train_size=min(rows, int(0.7 * len(y))), random_state=seed, stratify=stratify
    )
    scaler = StandardScaler().fit(X)
    X, X_test = scaler.transform(X), scaler.transform(X_test)
    results: list[Result] = []

    def add_result(method: str, mask: np.ndarray, evaluations: int) -> None:
        error = 1 - clone(model).fit(X[:, mask], y).score(X_test[:, mask], y_test)
        results.append((method, evaluations, int(mask.sum()), float(error)))

    with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
        for method in against.split(","):
            if method == "RFECV":
                mask, spent = selected_by_rfecv(X, y, ranker)
            else:
                mask, spent = selected_by_sfs(X, y, model)
            add_result(method, mask, spent)
            mask = selected_by_ghga(X, y, model, spent, seed)
            add_result(f"GHGASampler, budget of {method}", mask, spent)
        add_result("all features", np.ones(X.shape[1], dtype=bool), 1)
    return job, results


def main() -> None:
    options = parser(__doc__ or "", seeds=3)
    options.add_argument("--tasks", default="madelon,diabetes")
    options.add_argument("--against", default=",".join(SELECTORS), help=" or ".join(SELECTORS))
    options.add_argument("--rows", type=int, default=600, help="maximum number of training rows")
    options.add_argument("--jobs", type=int, default=2, help="parallel splits")
    options.add_argument(
        "--keep", type=Path, help="file that collects the results; splits in it are not repeated"
    )
    args = options.parse_args()
    if not set(args.against.split(",")) <= set(SELECTORS):
        options.error(f"--against must be {' or '.join(SELECTORS)}, got {args.against!r}.")
    tasks = ["diabetes"] if args.quick else args.tasks.split(",")
    seeds = 1 if args.quick else args.seeds
    jobs: list[Job] = [
        (name, seed, args.rows, args.against) for name in tasks for seed in range(seeds)
    ]
    done: dict[Job, list[Result]] = {}
    if args.keep is not None and args.keep.exists():
        done = {tuple(job): found for job, found in map(json.loads, args.keep.open())}
    todo = [job for job in jobs if job not in done]
    folder = None if args.data is None else str(args.data)
    with ProcessPoolExecutor(args.jobs) as pool:
        for job, results in pool.map(compare, todo, [folder] * len(todo)):
            done[job] = results
            print(*job, results, file=sys.stderr, flush=True)
            if args.keep is not None:
                with args.keep.open("a") as file:
                    file.write(json.dumps([job, results]) + "\n")
    for name in tasks:
        runs = [done[job] for job in jobs if job[0] == name]
        rows = [
            [found[0][0], *(str(Spread.of(list(column))) for column in list(zip(*found))[1:])]
            for found in zip(*runs)
        ]
        print(f"\n### {name}: median [minimum, maximum] of {len(runs)} splits\n")
        print(markdown_table(["method", "evaluations", "features", "test error"], rows))


if __name__ == "__main__":
    main()
