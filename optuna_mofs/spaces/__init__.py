"""Ready-made hyperparameter spaces, and learners that come with theirs."""

from __future__ import annotations

from optuna_mofs.spaces._ranges import (
    Space,
    decision_tree,
    elastic_net,
    extra_trees,
    kernel_knn,
    knn,
    lightgbm,
    logistic_regression,
    mlp,
    random_forest,
    ridge,
    svm,
    xgboost,
)
from optuna_mofs.spaces._ready import get_learner, learner_names

__all__ = [
    "Space",
    "decision_tree",
    "elastic_net",
    "extra_trees",
    "get_learner",
    "kernel_knn",
    "knn",
    "learner_names",
    "lightgbm",
    "logistic_regression",
    "mlp",
    "random_forest",
    "ridge",
    "svm",
    "xgboost",
]
