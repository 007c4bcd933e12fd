"""The tasks of ``benchmarks.papers.zhang_2023``: those of section 4 of that paper, made small.

The search spaces are those of the paper's Tables 3 to 5 with fewer trees and epochs, and rows and
features are subsampled where there are many, so that one evaluation takes about 30 ms on one core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

from benchmarks.common import load
from optuna_mofs import (
    FeatureSelectionObjective,
    LexicographicPreference,
    SingleFilterFeatures,
    spaces,
)
from optuna_mofs.measures import disparity

FILTERS = ("anova_f", "information_gain", "auc")


@dataclass(frozen=True)
class Task:
    """An objective, a preference over its measures, and test data."""

    objective: Any
    tolerances: dict[str, float]
    goals: dict[str, float] = field(default_factory=dict)
    test: tuple[Any, Any] | None = None

    @property
    def preference(self) -> LexicographicPreference:
        """Preference over the objective's measures in their order."""
        return LexicographicPreference(tolerances=self.tolerances, goals=self.goals)


def _boosting(rows: int) -> tuple[Any, dict[str, BaseDistribution]]:
    """XGBoost with the space of Table 5; at most 32 trees."""
    from xgboost import XGBClassifier

    space: dict[str, BaseDistribution] = {
        "n_estimators": IntDistribution(4, 32, log=True),
        "max_leaves": IntDistribution(4, rows, log=True),
        "max_depth": CategoricalDistribution([0, 6, 12]),
        "min_child_weight": FloatDistribution(0.001, 128, log=True),
        "learning_rate": FloatDistribution(1 / 1024, 1, log=True),
        "subsample": FloatDistribution(0.1, 1),
        "colsample_bytree": FloatDistribution(0.01, 1),
        "colsample_bylevel": FloatDistribution(0.01, 1),
        "reg_alpha": FloatDistribution(1 / 1024, 1024, log=True),
        "reg_lambda": FloatDistribution(1 / 1024, 1024, log=True),
    }
    estimator = XGBClassifier(
        tree_method="hist", grow_policy="lossguide", max_bin=16, n_jobs=1, random_state=0
    )
    return estimator, space


def _forest(columns: int, rows: int, trees: int) -> tuple[Any, dict[str, BaseDistribution]]:
    """Random forest with the space of Table 4 and fewer trees."""
    space: dict[str, BaseDistribution] = {
        "max_features": FloatDistribution(min(0.1, columns**-0.5), 1.0),
        "n_estimators": IntDistribution(4, trees, log=True),
        "max_leaf_nodes": IntDistribution(4, rows, log=True),
    }
    return RandomForestClassifier(random_state=0), space


# ---- (a) loss, then disparity -------------------------------------------------------------------


def german_credit(folder: Path | None, quick: bool) -> Task:
    """(a) Disparity between women and men."""
    import pandas as pd

    assert folder is not None
    frame = pd.read_csv(folder / "german_credit.csv.gz")
    sex = frame["personal_status_sex"].isin(["A92", "A95"])
    return _fair(pd.get_dummies(frame.drop(columns="class")), frame["class"] == 1, sex, quick)


def compas(folder: Path | None, quick: bool) -> Task:
    """(a) Disparity between African-Americans and others."""
    import pandas as pd

    assert folder is not None
    frame = pd.read_csv(folder / "compas-scores-two-years.csv.gz")
    used = ["sex", "age", "race", "juv_fel_count", "juv_misd_count", "juv_other_count"]
    X = pd.get_dummies(frame[[*used, "priors_count", "c_charge_degree"]])
    return _fair(X, frame["two_year_recid"] == 0, frame["race"] == "African-American", quick)


def _fair(X: Any, y: Any, sensitive: Any, quick: bool) -> Task:
    rows = np.random.default_rng(0).permutation(len(y))[: 300 if quick else 600]
    X, y, sensitive = X.iloc[rows].astype(float), y.iloc[rows], sensitive.iloc[rows]
    estimator, space = _boosting(len(rows))
    objective = FeatureSelectionObjective(
        estimator,
        X.to_numpy(),
        y.astype(int),
        space=space,
        representation=None,
        measures=["geometric_mean_loss", disparity(sensitive)],
        cv=2,
    )
    return Task(objective, {"geometric_mean_loss": 0.05})


# ---- (b) error, features, instability -----------------------------------------------------------


def prostata(folder: Path | None, quick: bool) -> Task:
    """(b) Few and stable genes, among 800 random ones."""
    data = load(folder, "prostata_ge")
    p = data["X"].shape[1]
    columns = np.sort(np.random.default_rng(0).permutation(p)[: 700 if quick else 800])
    estimator, space = _boosting(len(data["y"]))
    objective = FeatureSelectionObjective(
        estimator,
        data["X"][:, columns],
        data["y"],
        space=space,
        representation=SingleFilterFeatures(ranks="fold"),
        filters=FILTERS,
        measures=["error", "n_features", "instability"],
        cv=2,
    )
    return Task(objective, {"error": 0.01}, {"n_features": 500.0})


# ---- (c) validation error, then features; and the test error ------------------------------------


def _forest_task(X: Any, y: Any, *, rows: int, trees: int, test: bool = True) -> Task:
    order = np.random.default_rng(0).permutation(len(y))
    train = order[: min(rows, len(y) * 3 // 4 if test else len(y))]
    estimator, space = _forest(X.shape[1], len(train), trees)
    objective = FeatureSelectionObjective(
        estimator,
        X[train],
        y[train],
        space=space,
        representation=SingleFilterFeatures(ranks="all"),
        filters=FILTERS,
        measures=["error", "n_features"],
        cv=2,
    )
    held = order[len(train) :]
    return Task(objective, {"error": 0.01}, test=(X[held], y[held]) if test else None)


def filtered_forest(folder: Path | None, quick: bool, *, name: str) -> Task:
    """(c) The remaining rows are the test data; at most 200 random features."""
    data = load(folder, name)
    p = data["X"].shape[1]
    columns = np.sort(np.random.default_rng(0).permutation(p)[:200])
    X = np.asarray(data["X"][:, columns], dtype=float)
    return _forest_task(X, data["y"], rows=200 if quick else 300, trees=8)


def breast_cancer(folder: Path | None, quick: bool) -> Task:
    """Probe: scikit-learn's breast cancer data (wdbc)."""
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return _forest_task(X, y, rows=300 if quick else 10**9, trees=8, test=False)


def like_madelon(folder: Path | None, quick: bool) -> Task:
    """Probe: synthetic data, a few relevant features among many."""
    from sklearn.datasets import make_classification

    X, y = make_classification(
        300 if quick else 400,
        50,
        n_informative=5,
        n_redundant=15,
        n_clusters_per_class=8,
        flip_y=0.02,
        random_state=0,
    )
    return _forest_task(X, y, rows=10**9, trees=8, test=False)


# ---- (d) error, then parameters -----------------------------------------------------------------


class Network(MLPClassifier):
    """A network of one to three layers of the same width, as in Table 3."""

    def __init__(
        self,
        layers: int = 1,
        units: int = 16,
        epochs: int = 10,
        learning_rate_init: float = 1e-3,
        alpha: float = 1e-4,
        random_state: int | None = None,
    ) -> None:
        self.layers = layers
        self.units = units
        self.epochs = epochs
        super().__init__(
            hidden_layer_sizes=(units,) * layers,
            max_iter=epochs,
            learning_rate_init=learning_rate_init,
            alpha=alpha,
            random_state=random_state,
        )

    def fit(self, X: Any, y: Any) -> Network:
        """Fit with the current sizes."""
        self.hidden_layer_sizes = (self.units,) * self.layers
        self.max_iter = self.epochs
        super().fit(X, y)
        return self


def fashion(folder: Path | None, quick: bool, *, table_3: bool = False) -> Task:
    """(d) A small network that is about as good as the best.

    ``table_3``: the paper's space, with dropout and a learning rate per layer, and floating-point
    operations instead of parameters.
    """
    data = load(folder, "fashion-mnist_sub")
    rng = np.random.default_rng(0)
    held = data["is_test"].astype(bool)
    train = rng.permutation(np.flatnonzero(~held))[: 300 if quick else 500]
    valid = rng.permutation(np.flatnonzero(held))[: 300 if quick else 1000]
    kept = np.concatenate([train, valid])
    # Every fourth pixel each way: 49 inputs.
    images = np.asarray(data["X"][kept], dtype=float).reshape(-1, 28, 28)[:, ::4, ::4]
    split = (np.arange(len(train)), np.arange(len(train), len(kept)))
    network, space = (
        Network(random_state=0),
        {
            "epochs": IntDistribution(1, 10),
            "layers": IntDistribution(1, 3),
            "units": IntDistribution(4, 32, log=True),
            "learning_rate_init": FloatDistribution(1e-5, 1e-1, log=True),
            "alpha": FloatDistribution(1e-6, 1, log=True),
        },
    )
    if table_3:
        network, space = spaces.get_learner("dropout_mlp", random_state=0)
    objective = FeatureSelectionObjective(
        network,
        images.reshape(len(kept), -1) / 255.0,
        data["y"][kept],
        space=space,
        representation=None,
        measures=["error", "flops" if table_3 else "parameter_count"],
        cv=[split],
    )
    return Task(objective, {"error": len(valid) ** -0.5})


def _named(name: str) -> Callable[[Path | None, bool], Task]:
    return lambda folder, quick: filtered_forest(folder, quick, name=name)


#: Tasks by name; the probes need no folder.
TASKS: dict[str, Callable[[Path | None, bool], Task]] = {
    "a: german_credit": german_credit,
    "a: compas": compas,
    "b: prostata_ge": prostata,
    "c: madelon": _named("madelon"),
    "c: bioresponse": _named("bioresponse"),
    "d: fashion-mnist_sub": fashion,
    "d: fashion-mnist_sub, FLOPs": partial(fashion, table_3=True),
    "probe: breast_cancer": breast_cancer,
    "probe: like madelon": like_madelon,
}
