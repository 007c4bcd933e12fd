"""Does a search on other rows select the same features?

- ``planted``: rows whose target depends on six of fifty columns. How often do searches on
  subsamples of half of the rows select each of the six, and each of the others?
- ``peers``: Nogueira's stability index of the default pick over subsamples of half of the rows of
  six data sets, against RFECV, lasso paths and Boruta on the same subsamples. A stable set can be
  a bad one, so the error of a logistic regression of the set is printed too: cross-validated
  inside the subsample, and on the rows outside.

    python -m benchmarks.stability --data DIR --keep stability.json
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.storages import JournalStorage
from optuna.storages.journal import JournalFileBackend
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import RFECV
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.common import markdown_table, parser  # first: it sets threads
from benchmarks.honesty import table
from optuna_mofs import FeatureSelectionObjective, resampled_fronts, spaces
from optuna_mofs.stability import ResampledFronts, draw_rows, nogueira_stability

N_PLANTED = 6
PLANTED = ("classification", "regression")
SETS = ("sonar", "wdbc", "wine", "german_credit", "spambase", "waveform_binary")
MAX_ROWS = 400
TITLES = {
    "index": "stability",
    "size": "features",
    "inner": "inner error",
    "outer": "error on other rows",
}
PEERS = ("RFECV", "lasso path, best C", "Boruta")


def planted(task: str) -> tuple[Any, Any]:
    """Return rows whose target depends on the first six of fifty columns, equally strongly."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 50))
    score = X[:, :N_PLANTED] @ np.array([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    if task == "classification":
        return X, (score + rng.logistic(scale=0.5, size=400) > 0).astype(int)
    return X, score + rng.standard_normal(400)


def searches(objective: Any, given: Any, name: str) -> ResampledFronts:
    """Search on subsamples; with ``--keep``, an interrupted call is continued."""
    kept: dict[str, Any] = {}
    if given.keep is not None:
        backend = JournalFileBackend(str(given.keep.with_suffix(".log")))
        kept = {"storage": JournalStorage(backend), "study_name": f"{name}, {given.trials}"}
    return resampled_fronts(
        objective,
        n_trials=given.trials,
        n_resamples=given.resamples,
        show_progress_bar=False,
        **kept,
    )


def run_planted(task: str, given: Any) -> dict[str, Any]:
    """Return the selection frequencies in searches on subsamples."""
    X, y = planted(task)
    learner = "logistic_regression" if task == "classification" else "ridge"
    estimator, space = spaces.get_learner(learner, task, random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space)
    found = searches(objective, given, task)
    result = {}
    for name, size in (("pick", None), (f"at most {N_PLANTED} features", N_PLANTED)):
        frequency = found.selection_frequency(size)
        index = found.stability(size)
        result[name] = {
            "planted": [frequency[f"x{j}"] for j in range(N_PLANTED)],
            "noise": [frequency[f"x{j}"] for j in range(N_PLANTED, X.shape[1])],
            "index": [index.value, index.low, index.high],
            "size": float(found.sizes[found.members(size)].mean()),
        }
    return result


def logistic() -> Any:
    """Return the estimator of all methods."""
    return make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000))


def select(peer: str, X: Any, y: Any, seed: int) -> Any:
    """Return the mask that a peer selects."""
    scaled = StandardScaler().fit_transform(X)
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    if peer == "RFECV":
        return RFECV(LogisticRegression(max_iter=2000), cv=folds).fit(scaled, y).support_
    if peer == "lasso path, best C":
        path = LogisticRegressionCV(
            Cs=20, penalty="l1", solver="liblinear", cv=folds, random_state=seed
        )
        return np.any(path.fit(scaled, y).coef_ != 0, axis=0)
    from boruta import BorutaPy

    forest = RandomForestClassifier(100, max_depth=5, class_weight="balanced", random_state=seed)
    return BorutaPy(forest, n_estimators=100, max_iter=40, random_state=seed).fit(X, y).support_


def run_set(name: str, method: str, given: Any) -> dict[str, Any]:
    """Return the sets that a method selects on subsamples, and their errors."""
    X, y, _ = table(name, given.data, MAX_ROWS)
    y = np.unique(y, return_inverse=True)[1]
    if len(np.unique(y)) > 2:
        y = (y == np.bincount(y).argmax()).astype(int)  # for the lasso path
    estimator, space = spaces.get_learner("logistic_regression", random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space)
    if method == "default pick":
        found = searches(objective, given, name)
        masks = found.masks[found.members()]
        own = found.test[found.members()].tolist()
    else:
        samples = [
            draw_rows(objective.all_data, "subsample", 0.5, [0, k]) for k in range(given.resamples)
        ]
        masks = np.array([select(method, X[rows], y[rows], k) for k, rows in enumerate(samples)])
        own = []
    inner, outer = [], []
    for k, mask in enumerate(masks):
        rows = draw_rows(objective.all_data, "subsample", 0.5, [0, k])
        others = np.setdiff1d(np.arange(len(y)), rows)
        if not mask.any():
            share = float(np.mean(y[rows]))
            inner.append(min(share, 1 - share))
            outer.append(float(np.mean(y[others] != round(share))))
            continue
        folds = StratifiedKFold(5, shuffle=True, random_state=0)
        part = X[:, mask]
        inner.append(1 - cross_val_score(logistic(), part[rows], y[rows], cv=folds).mean())
        outer.append(1 - logistic().fit(part[rows], y[rows]).score(part[others], y[others]))
    index = nogueira_stability(masks)
    return {
        "index": [index.value, index.low, index.high],
        "size": float(masks.sum(axis=1).mean()),
        "inner": float(np.mean(inner)),
        "outer": float(np.mean(outer)),
        "tuned": float(np.mean(own)) if own else None,
    }


def print_tables(results: dict[str, Any]) -> None:
    """Print the tables of the runs so far."""
    rows = []
    for task in PLANTED:
        for name, found in results.get(f"planted|{task}", {}).items():
            rows.append(
                [
                    f"{task}, {name}",
                    f"{min(found['planted']):.2f}",
                    f"{np.mean(found['planted']):.2f}",
                    f"{max(found['noise']):.2f}",
                    f"{np.mean(found['noise']):.3f}",
                    f"{found['size']:.1f}",
                    _interval(found["index"]),
                ]
            )
    if rows:
        header = ["target, set", "planted, least", "mean", "noise, most", "mean", "features"]
        print(markdown_table([*header, "stability"], rows), end="\n\n")
    methods = ("default pick", *PEERS)
    complete = [
        name for name in SETS if all(f"peers|{name}|{method}" in results for method in methods)
    ]
    if not complete:
        return
    for key, title in (
        ("index", "stability"),
        ("size", "features"),
        ("inner", "inner error"),
        ("outer", "error on other rows"),
    ):
        rows = []
        for name in complete:
            found = [results[f"peers|{name}|{method}"][key] for method in methods]
            shown = [_interval(v) if key == "index" else f"{v:.3f}" for v in found]
            rows.append([name, *shown])
        means = [
            np.mean([np.ravel(results[f"peers|{name}|{method}"][key])[0] for name in complete])
            for method in methods
        ]
        rows.append(["mean", *(f"{mean:.3f}" for mean in means)])
        print(markdown_table([title, *methods], rows), end="\n\n")


def _interval(values: Sequence[float]) -> str:
    return f"{values[0]:.2f} [{values[1]:.2f}, {values[2]:.2f}]"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing, and print the tables."""
    options = parser(__doc__ or "")
    options.add_argument("--keep", type=Path, metavar="FILE", help="results, to continue")
    options.add_argument("--trials", type=int, default=50, help="per search")
    options.add_argument("--resamples", type=int, default=10, help="per data set")
    options.add_argument("--parts", default="planted,peers", help="planted, peers")
    given = options.parse_args(arguments)
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    if given.quick:
        given.trials, given.resamples = 5, 2
    results = json.loads(given.keep.read_text()) if given.keep and given.keep.exists() else {}
    parts = given.parts.split(",")
    jobs: list[tuple[str, ...]] = [("planted", task) for task in PLANTED if "planted" in parts]
    if "peers" in parts and (given.data is not None or not given.quick):
        jobs += [("peers", name, method) for name in SETS for method in ("default pick", *PEERS)]
    for job in jobs:
        key = "|".join(job)
        if key in results:
            continue
        if job[0] == "planted":
            results[key] = run_planted(job[1], given)
        else:
            results[key] = run_set(job[1], job[2], given)
        if given.keep:
            given.keep.write_text(json.dumps(results))
    print_tables(results)


if __name__ == "__main__":
    main()
