"""Ready learners: an estimator and its space, with the right prefixes."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Any

from optuna.distributions import BaseDistribution

from optuna_mofs._imports import optional_import
from optuna_mofs.spaces import _ranges
from optuna_mofs.spaces._ranges import Space, Task

# Most rounds of boosting under early stopping (Binder et al. 2020, Table 3).
_MOST_ROUNDS = 2000
_PATIENCE = 10

Built = tuple[Any, str]  # the estimator, and the prefix of its learner's parameters


def _piped(name: str, model: Any, *, scale: bool = True) -> Built:
    """Put the model behind what it needs: comparable columns without gaps."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if scale:
        # Zero after standardization is the mean; an own pass for the means is saved.
        filled = SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)
        steps = [("scaler", StandardScaler()), ("imputer", filled), (name, model)]
    else:
        steps = [("imputer", SimpleImputer(keep_empty_features=True)), (name, model)]
    return Pipeline(steps), f"{name}__"


def _standardized_target(built: Built) -> Built:
    """Make penalties and tolerances independent of the target's unit."""
    from sklearn.compose import TransformedTargetRegressor
    from sklearn.preprocessing import StandardScaler

    estimator, prefix = built
    wrapped = TransformedTargetRegressor(regressor=estimator, transformer=StandardScaler())
    return wrapped, f"regressor__{prefix}"


def _svm(task: Task) -> Built:
    from sklearn.svm import SVC, SVR

    if task == "classification":
        return _piped("svm", SVC())
    return _standardized_target(_piped("svm", SVR()))


def _kernel_knn(task: Task) -> Built:
    from optuna_mofs.learners import KernelKNeighborsClassifier, KernelKNeighborsRegressor

    classes = task == "classification"
    model = KernelKNeighborsClassifier() if classes else KernelKNeighborsRegressor()
    return _piped("kernel_knn", model, scale=False)


def _knn(task: Task) -> Built:
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    classes = task == "classification"
    return _piped("knn", KNeighborsClassifier() if classes else KNeighborsRegressor())


def _boosted(task: Task, early_stopping: bool, library: str, short: str, **options: Any) -> Built:
    from optuna_mofs.learners import EarlyStoppingClassifier, EarlyStoppingRegressor

    kind = "Classifier" if task == "classification" else "Regressor"
    booster = getattr(optional_import(library, "boosting"), short + kind)(n_jobs=1, **options)
    if early_stopping:
        booster.set_params(n_estimators=_MOST_ROUNDS)
    # Without early stopping the wrapper still encodes labels and hides column names.
    wrapper = EarlyStoppingClassifier if task == "classification" else EarlyStoppingRegressor
    return wrapper(booster, patience=_PATIENCE if early_stopping else None), "booster__"


def _xgboost(task: Task, early_stopping: bool) -> Built:
    return _boosted(task, early_stopping, "xgboost", "XGB", verbosity=0)


def _lightgbm(task: Task, early_stopping: bool) -> Built:
    return _boosted(task, early_stopping, "lightgbm", "LGBM", verbose=-1, subsample_freq=1)


def _random_forest(task: Task) -> Built:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    classes = task == "classification"
    return (RandomForestClassifier if classes else RandomForestRegressor)(n_jobs=1), ""


def _extra_trees(task: Task) -> Built:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    classes = task == "classification"
    return (ExtraTreesClassifier if classes else ExtraTreesRegressor)(n_jobs=1), ""


def _decision_tree(task: Task) -> Built:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    if task == "classification":
        return DecisionTreeClassifier(), ""
    return _standardized_target((DecisionTreeRegressor(), ""))


def _logistic_regression(task: Task) -> Built:
    from sklearn.linear_model import LogisticRegression

    return _piped("logistic_regression", LogisticRegression(max_iter=1000))


def _ridge(task: Task) -> Built:
    from sklearn.linear_model import Ridge, RidgeClassifier

    return _piped("ridge", RidgeClassifier() if task == "classification" else Ridge())


def _elastic_net(task: Task) -> Built:
    from sklearn.linear_model import ElasticNet

    # scikit-learn's default penalty of 1 would leave nothing of a standardized target.
    return _standardized_target(_piped("elastic_net", ElasticNet(alpha=0.01, max_iter=5000)))


def _mlp(task: Task) -> Built:
    from optuna_mofs.learners import LayeredMLPClassifier, LayeredMLPRegressor

    options: dict[str, Any] = {"max_iter": 300, "tol": 1e-3}
    if task == "classification":
        return _piped("mlp", LayeredMLPClassifier(**options))
    return _standardized_target(_piped("mlp", LayeredMLPRegressor(**options)))


_BUILDERS: dict[str, Callable[..., Built]] = {
    "decision_tree": _decision_tree,
    "elastic_net": _elastic_net,
    "extra_trees": _extra_trees,
    "kernel_knn": _kernel_knn,
    "knn": _knn,
    "lightgbm": _lightgbm,
    "logistic_regression": _logistic_regression,
    "mlp": _mlp,
    "random_forest": _random_forest,
    "ridge": _ridge,
    "svm": _svm,
    "xgboost": _xgboost,
}
_ONLY: dict[str, Task] = {"elastic_net": "regression", "logistic_regression": "classification"}
_EARLY_STOPPING = frozenset({"lightgbm", "xgboost"})
_SPACE_BY_TASK = frozenset({"decision_tree", "svm"})


def _guess(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.4)
    return f"; did you mean {close[0]!r}?" if close else "."


def learner_names(task: Task | None = None) -> list[str]:
    """Names that :func:`learner` knows, all of them or those for one task.

    Example:
        >>> "svm" in learner_names(), "logistic_regression" in learner_names("regression")
        (True, False)
    """
    if task is not None:
        _ranges.check_task(task)
    return [name for name in _BUILDERS if task is None or _ONLY.get(name, task) == task]


def get_learner(
    name: str,
    task: Task = "classification",
    random_state: int | None = None,
    *,
    early_stopping: bool = False,
    **overrides: Any,
) -> tuple[Any, Space]:
    """Return a ready estimator and the space of its hyperparameters.

    The estimator runs on one thread, takes missing values, works on any number of columns, and is
    a pipeline where the learner needs standardized columns. For regression the target
    is standardized too where penalties depend on its unit.

    Args:
        name: One of :func:`learner_names`.
        task: ``"classification"`` or ``"regression"``.
        random_state: Seed given to every part that takes one.
        early_stopping: For ``"xgboost"`` and ``"lightgbm"``: let a share of the training rows
            choose the number of rounds (at most 2000, patience 10) instead of searching it.
        **overrides: By parameter name. A plain value is fixed and leaves the space; an Optuna
            distribution replaces or extends the space.

    Returns:
        The estimator, and a dictionary of Optuna distributions whose keys ``set_params`` takes.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> cost = FloatDistribution(0.1, 10, log=True)
        >>> estimator, space = get_learner("svm", gamma="scale", C=cost)
        >>> space
        {'svm__C': FloatDistribution(high=10.0, log=True, low=0.1, step=None)}
        >>> estimator.get_params()["svm__gamma"]
        'scale'
    """
    if name not in _BUILDERS:
        known = learner_names()
        raise ValueError(f"{name!r} is no known learner {known}{_guess(name, known)}")
    if name not in learner_names(task):
        raise ValueError(
            f"{name!r} is for {_ONLY[name]} only; for {task} use one of {learner_names(task)}."
        )
    if early_stopping and name not in _EARLY_STOPPING:
        raise ValueError(
            f"early_stopping=True is not for {name!r}; use it with {sorted(_EARLY_STOPPING)}."
        )
    stopping = {"early_stopping": early_stopping} if name in _EARLY_STOPPING else {}
    by_task = {"task": task} if name in _SPACE_BY_TASK else {}
    estimator, prefix = _BUILDERS[name](task, **stopping)
    space: Space = getattr(_ranges, name)(prefix, **stopping, **by_task)
    known_parameters = estimator.get_params()
    fixed: dict[str, Any] = {}
    for key, value in overrides.items():
        full = prefix + key if prefix + key in known_parameters else key
        if full not in known_parameters:
            own = [n.removeprefix(prefix) for n in known_parameters if n.startswith(prefix)]
            raise ValueError(f"{key!r} is no parameter of {name!r}{_guess(key, own)}")
        if isinstance(value, BaseDistribution):
            space[full] = value
        else:
            fixed[full] = value
            space.pop(full, None)
    if random_state is not None:
        seeds = [n for n in known_parameters if n.rpartition("__")[2] == "random_state"]
        estimator.set_params(**dict.fromkeys(seeds, random_state))
    estimator.set_params(**fixed)
    return estimator, space
