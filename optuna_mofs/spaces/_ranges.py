"""Ranges of hyperparameters: dictionaries of Optuna distributions, keyed by parameter name.

Where Binder et al. (2020), Table 3, names a range it is used as printed, under the scikit-learn
name of the parameter. Elsewhere what acts multiplicatively has a wide range on a log scale, and
what costs time without a trade-off (the number of trees of a forest) is left out.
"""

from __future__ import annotations

from typing import Literal

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

Space = dict[str, BaseDistribution]
Task = Literal["classification", "regression"]


def _log(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high, log=True)


def _log_int(low: int, high: int) -> IntDistribution:
    return IntDistribution(low, high, log=True)


def _prefixed(prefix: str, space: Space) -> Space:
    return {prefix + name: distribution for name, distribution in space.items()}


def check_task(task: str) -> None:
    """Refuse anything but the two tasks there are."""
    if task not in ("classification", "regression"):
        raise ValueError(f"task={task!r} is unknown; use 'classification' or 'regression'.")


def svm(prefix: str = "", *, task: Task = "classification") -> Space:
    """Support vector machine with Gaussian kernel (Table 3; its sigma is ``gamma`` here).

    Args:
        prefix: Put before each name, for example ``"svc__"`` for a step of a pipeline.
        task: Regression adds ``epsilon``, meant for a standardized target.

    Example:
        >>> sorted(svm(prefix="svc__"))
        ['svc__C', 'svc__gamma']
    """
    check_task(task)
    space: Space = {"C": _log(2**-10, 2**10), "gamma": _log(2**-10, 2**10)}
    if task == "regression":
        space["epsilon"] = _log(1e-3, 1.0)
    return _prefixed(prefix, space)


def kernel_knn(prefix: str = "") -> Space:
    """Kernel k-nearest neighbors (Table 3), for :mod:`optuna_mofs.learners`' own classes."""
    kernels = ("rectangular", "optimal", "triangular", "biweight")
    space: Space = {
        "n_neighbors": IntDistribution(1, 50),
        "distance": FloatDistribution(1.0, 100.0),
        "kernel": CategoricalDistribution(kernels),
    }
    return _prefixed(prefix, space)


def xgboost(prefix: str = "", *, early_stopping: bool = False) -> Space:
    """XGBoost (Table 3; eta, lambda and alpha under their scikit-learn names).

    Args:
        prefix: Put before each name, for example ``"booster__"``.
        early_stopping: Leave out ``n_estimators``, which early stopping chooses.
    """
    space: Space = {
        "n_estimators": IntDistribution(1, 2000),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "gamma": _log(2**-7, 2**6),
        "max_depth": IntDistribution(3, 20),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "colsample_bylevel": FloatDistribution(0.5, 1.0),
        "reg_lambda": _log(2**-10, 2**10),
        "reg_alpha": _log(2**-10, 2**10),
        "subsample": FloatDistribution(0.5, 1.0),
    }
    if early_stopping:
        del space["n_estimators"]
    return _prefixed(prefix, space)


def lightgbm(prefix: str = "", *, early_stopping: bool = False) -> Space:
    """LightGBM, in keeping with :func:`xgboost`; trees grow by leaves, so those are searched.

    LightGBM ignores ``subsample`` unless ``subsample_freq`` is set: give the estimator
    ``subsample_freq=1``, as :func:`learner` does.

    Args:
        prefix: Put before each name, for example ``"booster__"``.
        early_stopping: Leave out ``n_estimators``, which early stopping chooses.
    """
    space: Space = {
        "n_estimators": IntDistribution(1, 2000),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "num_leaves": _log_int(2, 256),
        "min_child_samples": _log_int(1, 64),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "reg_lambda": _log(2**-10, 2**10),
        "reg_alpha": _log(2**-10, 2**10),
        "subsample": FloatDistribution(0.5, 1.0),
    }
    if early_stopping:
        del space["n_estimators"]
    return _prefixed(prefix, space)


def random_forest(prefix: str = "") -> Space:
    """Random forest: the three parameters that Probst et al. (2019) find worth tuning.

    Columns tried at a split, rows of a tree, and the size of leaves. ``max_samples`` needs
    ``bootstrap=True``, which is the default.
    """
    space: Space = {
        "max_features": FloatDistribution(0.05, 1.0),
        "max_samples": FloatDistribution(0.3, 1.0),
        "min_samples_leaf": _log_int(1, 32),
    }
    return _prefixed(prefix, space)


def extra_trees(prefix: str = "") -> Space:
    """Extremely randomized trees; each tree sees all rows, so only splits and leaves remain."""
    space: Space = {
        "max_features": FloatDistribution(0.05, 1.0),
        "min_samples_leaf": _log_int(1, 32),
        "min_samples_split": _log_int(2, 64),
    }
    return _prefixed(prefix, space)


def decision_tree(prefix: str = "", *, task: Task = "classification") -> Space:
    """One CART tree, grown to a depth and pruned by cost and complexity.

    Args:
        prefix: Put before each name.
        task: For regression ``criterion`` is left out, and ``ccp_alpha`` is meant for a
            standardized target.
    """
    check_task(task)
    space: Space = {
        "max_depth": IntDistribution(1, 30),
        "min_samples_leaf": _log_int(1, 64),
        "min_samples_split": _log_int(2, 128),
        "ccp_alpha": _log(1e-5, 0.1),
    }
    if task == "classification":
        space["criterion"] = CategoricalDistribution(("gini", "entropy"))
    return _prefixed(prefix, space)


def logistic_regression(prefix: str = "") -> Space:
    """Logistic regression with L2 penalty; sparsity is the search's affair, not the penalty's."""
    return _prefixed(prefix, {"C": _log(2**-10, 2**10)})


def mlp(prefix: str = "") -> Space:
    """Network of equal layers, for :class:`optuna_mofs.learners.LayeredMLPClassifier`."""
    space: Space = {
        "n_layers": IntDistribution(1, 3),
        "n_units": _log_int(8, 256),
        "activation": CategoricalDistribution(("relu", "tanh")),
        "alpha": _log(1e-6, 10.0),
        "learning_rate_init": _log(1e-4, 1e-1),
    }
    return _prefixed(prefix, space)


def knn(prefix: str = "") -> Space:
    """scikit-learn's k-nearest neighbors, with the two exponents that are fast."""
    space: Space = {
        "n_neighbors": IntDistribution(1, 50),
        "weights": CategoricalDistribution(("uniform", "distance")),
        "p": IntDistribution(1, 2),
    }
    return _prefixed(prefix, space)


def ridge(prefix: str = "") -> Space:
    """Ridge regression, or the ridge classifier."""
    return _prefixed(prefix, {"alpha": _log(1e-4, 1e4)})


def elastic_net(prefix: str = "") -> Space:
    """Elastic net, meant for a standardized target (then ``alpha = 1`` leaves next to nothing)."""
    space: Space = {"alpha": _log(1e-4, 1.0), "l1_ratio": FloatDistribution(0.05, 1.0)}
    return _prefixed(prefix, space)
