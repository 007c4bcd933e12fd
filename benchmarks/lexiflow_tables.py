"""Task (c) in little time: forests with filter selection, looked up in precomputed tables.

The space of the paper's Table 4 and the number of features are cut into cells. All of them are
cross-validated once (a forest of n trees is the first n of a larger one), and an evaluation looks
up the nearest cell. A run takes only as long as its sampler, so long comparisons are cheap.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from scipy.stats import rankdata
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import f_classif
from sklearn.model_selection import StratifiedKFold

from benchmarks.common import load
from benchmarks.lexiflow_tasks import Task
from optuna_mofs import FeatureTable, SingleFilterFeatures
from optuna_mofs.study._description import MeasureDescription, StudyDescription

TREES = 12
SIZES = 14
MAX_FEATURES = (0.1, 0.3, 1.0)
LEAVES = (4, 12, 36)
FILTERS = ("anova_f", "auc")


class TableObjective:
    """Error and number of features of the nearest cell.

    Args:
        errors: Filters × sizes × max_features × leaves × trees.
        sizes: Numbers of features, ascending.
        ranks: Relative rank of each feature by each filter, 1 for the best.
    """

    metric_names = ("error", "n_features")

    def __init__(self, errors: np.ndarray, sizes: np.ndarray, ranks: np.ndarray) -> None:
        self.errors, self.sizes = errors, sizes
        p = ranks.shape[1]
        self.table = FeatureTable(tuple(f"x{j}" for j in range(p)), filters=FILTERS, ranks=ranks)
        self.features = SingleFilterFeatures(ranks="all").bind(self.table)
        self.space: dict[str, BaseDistribution] = {
            "max_features": FloatDistribution(MAX_FEATURES[0], 1.0, log=True),
            "n_estimators": IntDistribution(2, TREES, log=True),
            "max_leaf_nodes": IntDistribution(LEAVES[0], LEAVES[-1], log=True),
        }

    def create_study(self, *, sampler: Any) -> optuna.Study:
        """Return an empty study with the description of the space."""
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        measures = (
            MeasureDescription("error", worst=1.0),
            MeasureDescription("n_features", worst=float(self.sizes[-1])),
        )
        StudyDescription(self.table, self.features, self.space, measures).write(study)
        study.set_metric_names(list(self.metric_names))
        return study

    def __call__(self, trial: optuna.Trial) -> tuple[float, float]:
        """Look up what the trial suggests."""
        chosen = {n: trial._suggest(n, d) for n, d in self.features.distributions.items()}
        hyper = {n: trial._suggest(n, d) for n, d in self.space.items()}
        count = int(np.count_nonzero(self.features.choose(chosen)))
        if count == 0:
            return 0.5, 0.0
        size = _nearest(self.sizes, count)
        error = self.errors[
            FILTERS.index(chosen["filter"]),
            size,
            _nearest(MAX_FEATURES, hyper["max_features"]),
            _nearest(LEAVES, hyper["max_leaf_nodes"]),
            hyper["n_estimators"] - 1,
        ]
        return float(error), float(self.sizes[size])


def _nearest(values: Any, value: float) -> int:
    return int(np.argmin(np.abs(np.log(values) - np.log(value))))


def compute(X: np.ndarray, y: np.ndarray) -> dict[str, np.ndarray]:
    """Return all cells: two-fold errors of forests on the best features by each filter."""
    ranks = filter_ranks(X, y)
    p = X.shape[1]
    sizes = np.unique(np.round(np.geomspace(1, p, SIZES)).astype(int))
    errors = np.zeros((len(FILTERS), len(sizes), len(MAX_FEATURES), len(LEAVES), TREES))
    folds = list(StratifiedKFold(2, shuffle=True, random_state=0).split(X, y))
    for cell in np.ndindex(*errors.shape[:-1]):
        f, s, m, leaves = cell
        columns = np.argsort(-ranks[f], kind="stable")[: sizes[s]]
        for train, test in folds:
            forest = RandomForestClassifier(
                TREES,
                max_features=MAX_FEATURES[m],
                max_leaf_nodes=LEAVES[leaves],
                random_state=0,
            ).fit(X[train][:, columns], y[train])
            votes = [tree.predict_proba(X[test][:, columns])[:, 1] for tree in forest.estimators_]
            predicted = np.cumsum(votes, axis=0) / np.arange(1, TREES + 1)[:, None] > 0.5
            errors[cell] += np.sum(predicted != (y[test] == forest.classes_[1]), axis=1)
    return {"errors": errors / len(y), "sizes": sizes, "ranks": ranks}


def filter_ranks(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return relative ranks of the features by ANOVA F and by the area under the curve."""
    positive = y == np.unique(y)[1]
    order = rankdata(X, axis=0)
    area = np.abs(order[positive].mean(axis=0) - order[~positive].mean(axis=0))
    scores = np.array([np.nan_to_num(f_classif(X, y)[0]), area])
    ranks: np.ndarray = (rankdata(scores, axis=1) - 1) / max(1, X.shape[1] - 1)
    return ranks


# ---- data ---------------------------------------------------------------------------------------


def breast_cancer(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return X, y


def like_madelon(folder: Path | None) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        400,
        100,
        n_informative=5,
        n_redundant=15,
        n_clusters_per_class=8,
        flip_y=0.02,
        random_state=0,
    )
    return X, y


def stored(folder: Path | None, *, name: str) -> tuple[np.ndarray, np.ndarray]:
    data = load(folder, name)
    rng = np.random.default_rng(0)
    columns = np.sort(rng.permutation(data["X"].shape[1])[:300])
    rows = rng.permutation(len(data["y"]))[:400]
    return np.asarray(data["X"][rows][:, columns], dtype=float), data["y"][rows]


#: All of these were used to choose the sampler's settings.
STORED = (
    "madelon",
    "bioresponse",
    "ida_image",
    "hill-valley",
    "sonar",
    "waveform_binary",
    "spambase",
    "semeion_binary",
)

DATA: dict[str, Callable[[Path | None], tuple[np.ndarray, np.ndarray]]] = {
    "breast_cancer": breast_cancer,
    "like madelon": like_madelon,
    **{name: partial(stored, name=name) for name in STORED},
}


def table_task(folder: Path | None, quick: bool, *, name: str, kept: Path) -> Task:
    """Return the task of a table, which is computed if the folder does not have it."""
    file = kept / f"{name.replace(' ', '_')}.npz"
    if not file.exists():
        X, y = DATA[name](folder)
        kept.mkdir(parents=True, exist_ok=True)
        np.savez_compressed(file, **compute(X, y))
    with np.load(file) as arrays:
        objective = TableObjective(**arrays)
    return Task(objective, {"error": 0.01})


def table_tasks(kept: Path) -> dict[str, Callable[[Path | None, bool], Task]]:
    """Return tasks by name; those of scikit-learn's data need no data folder."""
    return {f"table: {name}": partial(table_task, name=name, kept=kept) for name in DATA}
