"""Learners and the ranges of their hyperparameters.

:func:`get_learner` returns an estimator with the ranges of its hyperparameters. ``svm(prefix)``,
``knn(prefix)`` and so on return the ranges alone, as a dictionary of Optuna distributions by
parameter name. A :class:`LearnerSpec` defines a learner.
"""

from optuna_mofs.spaces._learners import (
    catboost,
    decision_tree,
    dropout_mlp,
    elastic_net,
    extra_trees,
    hist_gradient_boosting,
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
from optuna_mofs.spaces._registry import (
    LearnerSpec,
    get_learner,
    learner_names,
    register_learner,
)
from optuna_mofs.spaces._rosales_2014 import rosales_2014_learners

__all__ = [
    "LearnerSpec",
    "catboost",
    "decision_tree",
    "dropout_mlp",
    "elastic_net",
    "extra_trees",
    "get_learner",
    "hist_gradient_boosting",
    "kernel_knn",
    "knn",
    "learner_names",
    "lightgbm",
    "logistic_regression",
    "mlp",
    "random_forest",
    "register_learner",
    "ridge",
    "rosales_2014_learners",
    "svm",
    "xgboost",
]
