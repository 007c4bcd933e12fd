"""Learners by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from optuna.distributions import BaseDistribution

from optuna_mofs._imports import optional_import
from optuna_mofs._validation import check_choice, did_you_mean

Space = dict[str, BaseDistribution]
Task = Literal["classification", "regression"]

_TASKS = ("classification", "regression")
# Early stopping of boosting as in Binder et al. (2020), Table 3.
MAX_ROUNDS = 2000
_PATIENCE = 10
_MAX_CATEGORIES = 20  # of a one-hot encoded column; rare ones share one


@dataclass(frozen=True)
class LearnerSpec:
    """Estimators of one learner, their preprocessing, and the ranges of their parameters.

    Args:
        name: Name of the learner, and of its step in a pipeline.
        ranges: Distributions by parameter name, for both tasks.
        classifier: Class, or its dotted path, which is imported when first used; None if the
            learner is for regression only.
        regressor: The same for regression.
        classification_ranges: Further ranges of the classifier.
        regression_ranges: Further ranges of the regressor.
        options: Constructor arguments of both classes.
        preprocessing: ``"standardize"`` puts the estimator behind a scaler and an imputer,
            ``"impute"`` behind an imputer; None for estimators that accept missing values.
        standardize_target: Whether a regression target is standardized, so that penalties and
            tolerances do not depend on its unit.
        early_stopping: Whether it is an XGBoost, LightGBM or CatBoost estimator, whose
            ``n_estimators`` can be chosen by
            :class:`~optuna_mofs.learners.EarlyStoppingClassifier`.
    """

    name: str
    ranges: Mapping[str, BaseDistribution]
    classifier: str | type | None = None
    regressor: str | type | None = None
    classification_ranges: Mapping[str, BaseDistribution] = field(default_factory=dict)
    regression_ranges: Mapping[str, BaseDistribution] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    preprocessing: Literal["standardize", "impute"] | None = None
    standardize_target: bool = False
    early_stopping: bool = False

    def __post_init__(self) -> None:
        if not self.tasks:
            raise ValueError(f"Learner {self.name!r} needs a classifier, a regressor or both.")

    def space(
        self, prefix: str = "", *, task: Task = "classification", early_stopping: bool = False
    ) -> Space:
        """Return the ranges of the hyperparameters.

        Args:
            prefix: Put before each name, for example ``"svc__"`` for a step of a pipeline.
            task: ``"classification"`` or ``"regression"``.
            early_stopping: Leave out ``n_estimators``, which early stopping chooses.
        """
        check_choice("task", task, _TASKS)
        if early_stopping and not self.early_stopping:
            able = [name for name, spec in _LEARNERS.items() if spec.early_stopping]
            raise ValueError(f"early_stopping=True is for {able} only, got {self.name!r}.")
        is_class = task == "classification"
        more = self.classification_ranges if is_class else self.regression_ranges
        ranges = {**self.ranges, **more}
        if early_stopping:
            ranges.pop("n_estimators", None)
        return {prefix + name: distribution for name, distribution in ranges.items()}

    @property
    def tasks(self) -> list[str]:
        """The tasks of the learner."""
        classes = zip(_TASKS, (self.classifier, self.regressor))
        return [task for task, found in classes if found is not None]

    def build(self, task: Task, *, early_stopping: bool = False) -> tuple[Any, str]:
        """Return the estimator, and the prefix of the learner's parameters in it."""
        found = self.classifier if task == "classification" else self.regressor
        if isinstance(found, str):
            module, _, class_name = found.rpartition(".")
            extra = "boosting" if self.early_stopping else None
            found = getattr(optional_import(module, extra), class_name)
        assert found is not None, "get_learner has checked the task"
        model, prefix = found(**self.options), ""
        if self.early_stopping:
            from optuna_mofs.learners import EarlyStoppingClassifier, EarlyStoppingRegressor

            # Without early stopping the wrapper still encodes labels and hides column names.
            is_class = task == "classification"
            wrapper = EarlyStoppingClassifier if is_class else EarlyStoppingRegressor
            if early_stopping:
                model.set_params(n_estimators=MAX_ROUNDS)
            return wrapper(model, patience=_PATIENCE if early_stopping else None), "booster__"
        if self.preprocessing is not None:
            model, prefix = preprocessed(self.name, model, self.preprocessing), f"{self.name}__"
        if task == "regression" and self.standardize_target:
            from sklearn.compose import TransformedTargetRegressor
            from sklearn.preprocessing import StandardScaler

            model = TransformedTargetRegressor(regressor=model, transformer=StandardScaler())
            prefix = f"regressor__{prefix}"
        return model, prefix


def preprocessed(name: str, model: Any, preprocessing: str) -> Any:
    """Return a model behind an imputer, or a scaler and an imputer, as a pipeline."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import StandardScaler

    if preprocessing == "impute":
        return Pipeline([("imputer", SimpleImputer(keep_empty_features=True)), (name, model)])
    # After standardization the mean is 0, so that the imputer need not compute the means again.
    imputer = SimpleImputer(strategy="constant", fill_value=0, keep_empty_features=True)
    return Pipeline([("scaler", StandardScaler()), ("imputer", imputer), (name, model)])


_LEARNERS: dict[str, LearnerSpec] = {}


def register_learner(spec: LearnerSpec) -> Callable[..., Space]:
    """Make a learner available to :func:`get_learner`; return the function of its ranges.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> smoothing = FloatDistribution(1e-12, 1.0, log=True)
        >>> naive_bayes = register_learner(
        ...     LearnerSpec(
        ...         "naive_bayes",
        ...         {"var_smoothing": smoothing},
        ...         classifier="sklearn.naive_bayes.GaussianNB",
        ...         preprocessing="impute",
        ...     )
        ... )
        >>> estimator, space = get_learner("naive_bayes")
        >>> list(space)
        ['naive_bayes__var_smoothing']
        >>> del _LEARNERS["naive_bayes"]
    """
    _LEARNERS[spec.name] = spec
    return spec.space


def learner_names(task: Task | None = None) -> list[str]:
    """Return the names of all learners, or of those for one task.

    Example:
        >>> "svm" in learner_names(), "logistic_regression" in learner_names("regression")
        (True, False)
    """
    if task is not None:
        check_choice("task", task, _TASKS)
    return [name for name, spec in _LEARNERS.items() if task is None or task in spec.tasks]


def get_learner(
    name: str,
    task: Task = "classification",
    random_state: int | None = None,
    *,
    early_stopping: bool = False,
    one_hot: bool = False,
    **overrides: Any,
) -> tuple[Any, Space]:
    """Return an estimator and the ranges of its hyperparameters.

    The estimator runs on one thread, accepts missing values and any number of columns, and is a
    pipeline where the learner needs standardized columns. For regression the target is
    standardized too where penalties depend on its unit.

    Args:
        name: One of :func:`learner_names`.
        task: ``"classification"`` or ``"regression"``.
        random_state: Seed of every part that has one.
        early_stopping: For ``"xgboost"``, ``"lightgbm"`` and ``"catboost"``: choose the number of
            rounds (at most 2000, patience 10) on a share of the training rows instead of searching
            it.
        one_hot: Encode columns of texts and categories in a table, each by one column per
            category (at most 20: rare ones share one; a missing value is a category). The other
            columns are numbers. A feature is still a column of the table.
        **overrides: Values by parameter name. A plain value is fixed and leaves the space; an
            Optuna distribution replaces or extends the space.

    Returns:
        The estimator, and a dictionary of Optuna distributions by names that ``set_params``
        accepts.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> cost = FloatDistribution(0.1, 10, log=True)
        >>> estimator, space = get_learner("svm", gamma="scale", C=cost)
        >>> space
        {'svm__C': FloatDistribution(high=10.0, log=True, low=0.1, step=None)}
        >>> estimator.get_params()["svm__gamma"]
        'scale'

        >>> import pandas as pd
        >>> estimator, _ = get_learner("svm", one_hot=True)
        >>> table = pd.DataFrame({"city": ["Rome", "Oslo", None, "Oslo"], "age": [3, 1, 4, None]})
        >>> estimator.fit(table, [0, 1, 0, 1]).predict(table).tolist()
        [0, 1, 0, 1]
    """
    spec = _LEARNERS[check_choice("learner", name, _LEARNERS)]
    check_choice("task", task, _TASKS)
    known = learner_names(task)
    if name not in known:
        raise ValueError(f"{name!r} is for {spec.tasks[0]} only. For {task} use one of {known}.")
    estimator, prefix = spec.build(task, early_stopping=early_stopping)
    space = spec.space(prefix, task=task, early_stopping=early_stopping)
    parameters = estimator.get_params()
    fixed: dict[str, Any] = {}
    for key, value in overrides.items():
        full = prefix + key if prefix + key in parameters else key
        if full not in parameters:
            own = [n.removeprefix(prefix) for n in parameters if n.startswith(prefix)]
            raise ValueError(f"{name!r} has no parameter {key!r}.{did_you_mean(key, own)}")
        if isinstance(value, BaseDistribution):
            space[full] = value
        else:
            fixed[full] = value
            space.pop(full, None)
    if random_state is not None:
        seeds = [n for n in parameters if n.rpartition("__")[2] == "random_state"]
        estimator.set_params(**dict.fromkeys(seeds, random_state))
    estimator.set_params(**fixed)
    return _with_encoder(estimator, space) if one_hot else (estimator, space)


def _with_encoder(estimator: Any, space: Space) -> tuple[Any, Space]:
    """Return a learner that encodes those columns of texts and categories that are selected."""
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MAX_CATEGORIES, sparse_output=False
    )
    encode = ColumnTransformer(
        [("words", encoder, make_column_selector(dtype_exclude="number"))],
        remainder="passthrough",
        sparse_threshold=0,
    )
    if isinstance(estimator, Pipeline):
        return Pipeline([("categories", encode), *estimator.steps]), space
    pipeline = Pipeline([("categories", encode), ("model", estimator)])
    return pipeline, {f"model__{name}": values for name, values in space.items()}
