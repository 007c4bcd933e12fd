"""The learners of this package.

Ranges that Binder et al. (2020), Table 3, states are used as printed, under the scikit-learn name
of the parameter. Elsewhere, parameters that act multiplicatively have a wide range on a log scale,
and parameters that only trade time for accuracy (the number of trees of a forest) are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.spaces._registry import MAX_ROUNDS, LearnerSpec, Space, register_learner


def _learner(name: str, ranges: Space, **options: Any) -> Callable[..., Space]:
    return register_learner(LearnerSpec(name, ranges, **options))


def log(low: float, high: float) -> FloatDistribution:
    """Return a float distribution on a log scale."""
    return FloatDistribution(low, high, log=True)


def log_int(low: int, high: int) -> IntDistribution:
    """Return an integer distribution on a log scale."""
    return IntDistribution(low, high, log=True)


# Symmetric trees. Columns of text and categories are passed on as categories.
catboost = _learner(
    "catboost",
    {
        "n_estimators": log_int(10, MAX_ROUNDS),
        "learning_rate": log(0.01, 0.3),
        "depth": IntDistribution(2, 10),
        "l2_leaf_reg": log(2**-3, 2**7),
        "rsm": FloatDistribution(0.3, 1.0),
    },
    classifier="catboost.CatBoostClassifier",
    regressor="catboost.CatBoostRegressor",
    # It lists only parameters that are set; these are its defaults.
    options={
        "n_estimators": 1000,
        "learning_rate": 0.03,
        "depth": 6,
        "l2_leaf_reg": 3.0,
        "rsm": 1.0,
        "thread_count": 1,
        "verbose": False,
        "allow_writing_files": False,
    },
    early_stopping=True,
)
# One CART tree with bounded depth and cost-complexity pruning.
decision_tree = _learner(
    "decision_tree",
    {
        "max_depth": IntDistribution(1, 30),
        "min_samples_leaf": log_int(1, 64),
        "min_samples_split": log_int(2, 128),
        "ccp_alpha": log(1e-5, 0.1),
    },
    classifier="sklearn.tree.DecisionTreeClassifier",
    regressor="sklearn.tree.DecisionTreeRegressor",
    classification_ranges={"criterion": CategoricalDistribution(("gini", "entropy"))},
    standardize_target=True,
)
# Table 3 of Zhang et al. (2023).
dropout_mlp = _learner(
    "dropout_mlp",
    {
        "epochs": IntDistribution(1, 20),
        "n_layers": IntDistribution(1, 3),
        **{f"n_units_{k}": log_int(4, 128) for k in (1, 2, 3)},
        **{f"dropout_{k}": FloatDistribution(0.2, 0.5) for k in (1, 2, 3)},
        **{f"learning_rate_{k}": log(1e-5, 1e-1) for k in (1, 2, 3)},
    },
    classifier="optuna_mofs.learners.DropoutMLPClassifier",
    preprocessing="standardize",
)
# With a standardized target, a penalty of 1, scikit-learn's default, removes nearly everything.
elastic_net = _learner(
    "elastic_net",
    {"alpha": log(1e-4, 1.0), "l1_ratio": FloatDistribution(0.05, 1.0)},
    regressor="sklearn.linear_model.ElasticNet",
    options={"alpha": 0.01, "max_iter": 5000},
    preprocessing="standardize",
    standardize_target=True,
)
# Each extremely randomized tree is fitted to all rows, so only splits and leaves are tuned.
extra_trees = _learner(
    "extra_trees",
    {
        "max_features": FloatDistribution(0.05, 1.0),
        "min_samples_leaf": log_int(1, 32),
        "min_samples_split": log_int(2, 64),
    },
    classifier="sklearn.ensemble.ExtraTreesClassifier",
    regressor="sklearn.ensemble.ExtraTreesRegressor",
    options={"n_jobs": 1},
)
# Categories are those of the table's types; missing values have a side of their own.
hist_gradient_boosting = _learner(
    "hist_gradient_boosting",
    {
        "max_iter": log_int(10, 500),
        "learning_rate": log(0.01, 0.5),
        "max_leaf_nodes": log_int(2, 256),
        "min_samples_leaf": log_int(1, 64),
        "l2_regularization": log(2**-10, 2**10),
        "max_features": FloatDistribution(0.3, 1.0),
    },
    classifier="sklearn.ensemble.HistGradientBoostingClassifier",
    regressor="sklearn.ensemble.HistGradientBoostingRegressor",
    options={"early_stopping": False},
)
# Table 3 of the paper.
kernel_knn = _learner(
    "kernel_knn",
    {
        "n_neighbors": IntDistribution(1, 50),
        "distance": FloatDistribution(1.0, 100.0),
        "kernel": CategoricalDistribution(("rectangular", "optimal", "triangular", "biweight")),
    },
    classifier="optuna_mofs.learners.KernelKNeighborsClassifier",
    regressor="optuna_mofs.learners.KernelKNeighborsRegressor",
    preprocessing="impute",
)
# scikit-learn's k-nearest neighbors, with the two exponents that are fast.
knn = _learner(
    "knn",
    {
        "n_neighbors": IntDistribution(1, 50),
        "weights": CategoricalDistribution(("uniform", "distance")),
        "p": IntDistribution(1, 2),
    },
    classifier="sklearn.neighbors.KNeighborsClassifier",
    regressor="sklearn.neighbors.KNeighborsRegressor",
    preprocessing="standardize",
)
# Like XGBoost below, but trees grow by leaves. LightGBM ignores ``subsample`` unless
# ``subsample_freq`` is set: pass ``subsample_freq=1`` to an estimator of your own as well.
lightgbm = _learner(
    "lightgbm",
    {
        "n_estimators": IntDistribution(1, MAX_ROUNDS),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "num_leaves": log_int(2, 256),
        "min_child_samples": log_int(1, 64),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "reg_lambda": log(2**-10, 2**10),
        "reg_alpha": log(2**-10, 2**10),
        "subsample": FloatDistribution(0.5, 1.0),
    },
    classifier="lightgbm.LGBMClassifier",
    regressor="lightgbm.LGBMRegressor",
    options={"n_jobs": 1, "verbose": -1, "subsample_freq": 1},
    early_stopping=True,
)
# L2 penalty only: features are selected by the search, not by the penalty.
logistic_regression = _learner(
    "logistic_regression",
    {"C": log(2**-10, 2**10)},
    classifier="sklearn.linear_model.LogisticRegression",
    options={"max_iter": 1000},
    preprocessing="standardize",
)
mlp = _learner(
    "mlp",
    {
        "n_layers": IntDistribution(1, 3),
        "n_units": log_int(8, 256),
        "activation": CategoricalDistribution(("relu", "tanh")),
        "alpha": log(1e-6, 10.0),
        "learning_rate_init": log(1e-4, 1e-1),
    },
    classifier="optuna_mofs.learners.LayeredMLPClassifier",
    regressor="optuna_mofs.learners.LayeredMLPRegressor",
    options={"max_iter": 300, "tol": 1e-3},
    preprocessing="standardize",
    standardize_target=True,
)
# The three parameters that Probst et al. (2019) find most tunable: columns per split, rows per
# tree, and the size of leaves. ``max_samples`` needs ``bootstrap=True``, which is the default.
random_forest = _learner(
    "random_forest",
    {
        "max_features": FloatDistribution(0.05, 1.0),
        "max_samples": FloatDistribution(0.3, 1.0),
        "min_samples_leaf": log_int(1, 32),
    },
    classifier="sklearn.ensemble.RandomForestClassifier",
    regressor="sklearn.ensemble.RandomForestRegressor",
    options={"n_jobs": 1},
)
ridge = _learner(
    "ridge",
    {"alpha": log(1e-4, 1e4)},
    classifier="sklearn.linear_model.RidgeClassifier",
    regressor="sklearn.linear_model.Ridge",
    preprocessing="standardize",
)
# Table 3 of the paper, with a Gaussian kernel; its sigma is ``gamma`` here.
svm = _learner(
    "svm",
    {"C": log(2**-10, 2**10), "gamma": log(2**-10, 2**10)},
    classifier="sklearn.svm.SVC",
    regressor="sklearn.svm.SVR",
    regression_ranges={"epsilon": log(1e-3, 1.0)},  # of a standardized target
    preprocessing="standardize",
    standardize_target=True,
)
# Table 3 of the paper; eta, lambda and alpha under their scikit-learn names.
xgboost = _learner(
    "xgboost",
    {
        "n_estimators": IntDistribution(1, MAX_ROUNDS),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "gamma": log(2**-7, 2**6),
        "max_depth": IntDistribution(3, 20),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "colsample_bylevel": FloatDistribution(0.5, 1.0),
        "reg_lambda": log(2**-10, 2**10),
        "reg_alpha": log(2**-10, 2**10),
        "subsample": FloatDistribution(0.5, 1.0),
    },
    classifier="xgboost.XGBClassifier",
    regressor="xgboost.XGBRegressor",
    options={"n_jobs": 1, "verbosity": 0},
    early_stopping=True,
)
