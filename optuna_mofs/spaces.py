"""Learners and the ranges of their hyperparameters.

One :class:`LearnerSpec` per learner names its estimators and the ranges of their parameters.
:func:`get_learner` returns an estimator with its ranges; ``svm(prefix)``, ``knn(prefix)`` and so
on return the ranges alone, as a dictionary of Optuna distributions by parameter name.

Ranges that Binder et al. (2020), Table 3, states are used as printed, under the scikit-learn name
of the parameter. Elsewhere, parameters that act multiplicatively have a wide range on a log scale,
and parameters that only trade time for accuracy (the number of trees of a forest) are left out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from optuna_mofs._imports import optional_import
from optuna_mofs._shared_space import SharedSpace
from optuna_mofs._validation import check_choice, did_you_mean

Space = dict[str, BaseDistribution]
Task = Literal["classification", "regression"]

_TASKS = ("classification", "regression")
# Early stopping of boosting as in Binder et al. (2020), Table 3.
_MAX_ROUNDS = 2000
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
                model.set_params(n_estimators=_MAX_ROUNDS)
            return wrapper(model, patience=_PATIENCE if early_stopping else None), "booster__"
        if self.preprocessing is not None:
            model, prefix = _pipeline(self.name, model, self.preprocessing), f"{self.name}__"
        if task == "regression" and self.standardize_target:
            from sklearn.compose import TransformedTargetRegressor
            from sklearn.preprocessing import StandardScaler

            model = TransformedTargetRegressor(regressor=model, transformer=StandardScaler())
            prefix = f"regressor__{prefix}"
        return model, prefix


def _pipeline(name: str, model: Any, preprocessing: str) -> Any:
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


def _learner(name: str, ranges: Space, **options: Any) -> Callable[..., Space]:
    return register_learner(LearnerSpec(name, ranges, **options))


def _log(low: float, high: float) -> FloatDistribution:
    return FloatDistribution(low, high, log=True)


def _log_int(low: int, high: int) -> IntDistribution:
    return IntDistribution(low, high, log=True)


# Symmetric trees. Columns of text and categories are passed on as categories.
catboost = _learner(
    "catboost",
    {
        "n_estimators": _log_int(10, _MAX_ROUNDS),
        "learning_rate": _log(0.01, 0.3),
        "depth": IntDistribution(2, 10),
        "l2_leaf_reg": _log(2**-3, 2**7),
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
        "min_samples_leaf": _log_int(1, 64),
        "min_samples_split": _log_int(2, 128),
        "ccp_alpha": _log(1e-5, 0.1),
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
        **{f"n_units_{k}": _log_int(4, 128) for k in (1, 2, 3)},
        **{f"dropout_{k}": FloatDistribution(0.2, 0.5) for k in (1, 2, 3)},
        **{f"learning_rate_{k}": _log(1e-5, 1e-1) for k in (1, 2, 3)},
    },
    classifier="optuna_mofs.learners.DropoutMLPClassifier",
    preprocessing="standardize",
)
# With a standardized target, a penalty of 1, scikit-learn's default, removes nearly everything.
elastic_net = _learner(
    "elastic_net",
    {"alpha": _log(1e-4, 1.0), "l1_ratio": FloatDistribution(0.05, 1.0)},
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
        "min_samples_leaf": _log_int(1, 32),
        "min_samples_split": _log_int(2, 64),
    },
    classifier="sklearn.ensemble.ExtraTreesClassifier",
    regressor="sklearn.ensemble.ExtraTreesRegressor",
    options={"n_jobs": 1},
)
# Categories are those of the table's types; missing values have a side of their own.
hist_gradient_boosting = _learner(
    "hist_gradient_boosting",
    {
        "max_iter": _log_int(10, 500),
        "learning_rate": _log(0.01, 0.5),
        "max_leaf_nodes": _log_int(2, 256),
        "min_samples_leaf": _log_int(1, 64),
        "l2_regularization": _log(2**-10, 2**10),
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
        "n_estimators": IntDistribution(1, _MAX_ROUNDS),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "num_leaves": _log_int(2, 256),
        "min_child_samples": _log_int(1, 64),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "reg_lambda": _log(2**-10, 2**10),
        "reg_alpha": _log(2**-10, 2**10),
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
    {"C": _log(2**-10, 2**10)},
    classifier="sklearn.linear_model.LogisticRegression",
    options={"max_iter": 1000},
    preprocessing="standardize",
)
mlp = _learner(
    "mlp",
    {
        "n_layers": IntDistribution(1, 3),
        "n_units": _log_int(8, 256),
        "activation": CategoricalDistribution(("relu", "tanh")),
        "alpha": _log(1e-6, 10.0),
        "learning_rate_init": _log(1e-4, 1e-1),
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
        "min_samples_leaf": _log_int(1, 32),
    },
    classifier="sklearn.ensemble.RandomForestClassifier",
    regressor="sklearn.ensemble.RandomForestRegressor",
    options={"n_jobs": 1},
)
ridge = _learner(
    "ridge",
    {"alpha": _log(1e-4, 1e4)},
    classifier="sklearn.linear_model.RidgeClassifier",
    regressor="sklearn.linear_model.Ridge",
    preprocessing="standardize",
)
# Table 3 of the paper, with a Gaussian kernel; its sigma is ``gamma`` here.
svm = _learner(
    "svm",
    {"C": _log(2**-10, 2**10), "gamma": _log(2**-10, 2**10)},
    classifier="sklearn.svm.SVC",
    regressor="sklearn.svm.SVR",
    regression_ranges={"epsilon": _log(1e-3, 1.0)},  # of a standardized target
    preprocessing="standardize",
    standardize_target=True,
)
# Table 3 of the paper; eta, lambda and alpha under their scikit-learn names.
xgboost = _learner(
    "xgboost",
    {
        "n_estimators": IntDistribution(1, _MAX_ROUNDS),
        "learning_rate": FloatDistribution(0.01, 0.2),
        "gamma": _log(2**-7, 2**6),
        "max_depth": IntDistribution(3, 20),
        "colsample_bytree": FloatDistribution(0.5, 1.0),
        "colsample_bylevel": FloatDistribution(0.5, 1.0),
        "reg_lambda": _log(2**-10, 2**10),
        "reg_alpha": _log(2**-10, 2**10),
        "subsample": FloatDistribution(0.5, 1.0),
    },
    classifier="xgboost.XGBClassifier",
    regressor="xgboost.XGBRegressor",
    options={"n_jobs": 1, "verbosity": 0},
    early_stopping=True,
)


def rosales_2014_learners(
    n_features: int, random_state: int | None = None, *, shared: bool = True
) -> dict[str, Any]:
    """Return the five model types of Rosales-Pérez et al. (2014), Table 1, with their spaces.

    For :class:`ModelTypeObjective`. They are those of WEKA and LIBSVM in terms of scikit-learn: a
    tree by entropy with pruning (cost-complexity instead of C4.5's confidence) and a minimum
    number of rows per leaf (``"j48"``), a tree with random features (``"random_tree"``), a forest
    of such trees, a network by gradient descent with momentum, and a support vector machine whose
    kernel is a parameter too. The paper gives no ranges.

    Args:
        n_features: Number of columns.
        random_state: Seed of every learner.
        shared: Whether the learners share their parameters, as in the paper (equation 12): each
            trial has the same five positions in [0, 1], and the first one means the first
            parameter of its learner. If not, each learner has parameters of its own.

    Example:
        >>> list(rosales_2014_learners(10))
        ['j48', 'network', 'random_forest', 'random_tree', 'svm']
    """
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    considered = IntDistribution(1, max(1, n_features))
    seed = {"random_state": random_state}
    network = MLPClassifier(solver="sgd", tol=0.0, n_iter_no_change=10_000, **seed)
    learners: dict[str, tuple[Any, Space]] = {
        "j48": (
            DecisionTreeClassifier(criterion="entropy", **seed),
            {"ccp_alpha": _log(1e-4, 0.1), "min_samples_leaf": IntDistribution(1, 20)},
        ),
        "network": (
            _pipeline("network", network, "standardize"),
            {
                "network__hidden_layer_sizes": IntDistribution(1, 50),
                "network__learning_rate_init": _log(1e-3, 0.5),
                "network__momentum": FloatDistribution(0.0, 0.95),
                "network__max_iter": _log_int(10, 300),
            },
        ),
        "random_forest": (
            RandomForestClassifier(**seed),
            {
                "n_estimators": _log_int(5, 100),
                "max_features": considered,
                "max_depth": IntDistribution(1, 20),
            },
        ),
        "random_tree": (
            DecisionTreeClassifier(criterion="entropy", **seed),
            {"max_features": considered, "max_depth": IntDistribution(1, 20)},
        ),
        "svm": (
            # Bounded: with a large penalty on noise the solver hardly ends.
            _pipeline("svm", SVC(max_iter=20_000, **seed), "standardize"),
            {
                "svm__kernel": CategoricalDistribution(("linear", "poly", "rbf")),
                "svm__degree": IntDistribution(1, 5),
                "svm__gamma": _log(2**-10, 2**4),
                "svm__coef0": FloatDistribution(0.0, 5.0),
                "svm__C": _log(2**-5, 2**10),
            },
        ),
    }
    if not shared:
        return learners
    count = max(len(space) for _, space in learners.values())
    return {name: (model, SharedSpace(space, count)) for name, (model, space) in learners.items()}


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
