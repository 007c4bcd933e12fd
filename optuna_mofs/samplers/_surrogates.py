"""Surrogate models: ``predict(X)`` returns mean and standard deviation."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.ensemble import BaggingRegressor, ExtraTreesRegressor, RandomForestRegressor
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeRegressor, ExtraTreeRegressor

from optuna_mofs._typing import Array
from optuna_mofs._validation import did_you_mean
from optuna_mofs.samplers._gaussian_process import OrdinaryKriging

#: Ensembles that predict the mean of their members.
_AVERAGING = (RandomForestRegressor, ExtraTreesRegressor, BaggingRegressor)


class Surrogate(Protocol):
    """A regression model with predictive uncertainty."""

    def fit(self, X: Array, y: Array) -> Surrogate:
        """Fit the model to rows, the best first, and finite targets; return it."""

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of each row."""


#: Function of a generator that returns an unfitted model.
SurrogateFactory = Callable[[np.random.Generator], Surrogate]


class Forest:
    """Extremely randomized trees; the standard deviation is that of their predictions.

    Horn and Bischl (2016) use a random forest. Trees with random cut points on all rows were as
    good or better in less than half the time (``docs/benchmarks/model_based.md``). They are fitted
    one by one, which skips the checks that scikit-learn's forest does per tree.

    Args:
        rng: Generator.
        n_trees: Number of trees.
        min_samples_leaf: Minimum number of rows in a leaf.
        max_features: Fraction of the columns that a split may choose from.
        min_samples_split: Minimum number of rows of a node that is split.
        random_forest: Whether trees have the best cut points and are fitted to bootstrap samples.

    Example:
        >>> X = np.linspace(0, 1, 50)[:, None]
        >>> mean, sd = Forest(np.random.default_rng(0)).fit(X, X[:, 0]).predict(X)
        >>> bool(np.abs(mean - X[:, 0]).max() < 0.1)
        True
    """

    def __init__(
        self,
        rng: np.random.Generator,
        *,
        n_trees: int = 40,
        min_samples_leaf: int = 2,
        max_features: float = 0.7,
        min_samples_split: int = 2,
        random_forest: bool = False,
    ) -> None:
        self._rng = rng
        self._n_trees = n_trees
        self._random_forest = random_forest
        self._options = {
            "min_samples_leaf": min_samples_leaf,
            "max_features": max_features,
            "min_samples_split": min_samples_split,
        }

    def fit(self, X: Array, y: Array) -> Forest:
        """Fit the trees."""
        X32 = np.ascontiguousarray(X, dtype=np.float32)
        y64 = np.ascontiguousarray(y, dtype=np.float64)
        seeds = self._rng.integers(2**31, size=self._n_trees)
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            trees = [self._fitted_tree(X32, y64, int(seed)) for seed in seeds]
        self._trees = [tree.tree_ for tree in trees]
        return self

    def _fitted_tree(self, X: Array, y: Array, seed: int) -> Any:
        if not self._random_forest:
            tree = ExtraTreeRegressor(**self._options, random_state=seed)
            return tree.fit(X, y, check_input=False)
        drawn = self._rng.integers(len(X), size=len(X))
        tree = DecisionTreeRegressor(**self._options, random_state=seed)
        return tree.fit(X[drawn], y[drawn], check_input=False)

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation over the trees."""
        X32 = np.ascontiguousarray(X, dtype=np.float32)
        predictions = np.empty((len(self._trees), len(X)))
        for i, tree in enumerate(self._trees):
            predictions[i] = tree.predict(X32).ravel()
        return predictions.mean(axis=0), predictions.std(axis=0)


def paper_forest(rng: np.random.Generator) -> Forest:
    """Return the forest of Horn and Bischl (2016) and of the code of Binder et al. (2020).

    It has 500 trees, each of which considers a third of the columns and splits nodes of more than
    five rows, the defaults of R's package for regression.
    """
    return Forest(
        rng,
        n_trees=500,
        min_samples_leaf=1,
        max_features=1 / 3,
        min_samples_split=6,
        random_forest=True,
    )


class OutOfRangeImputer:
    """A surrogate that gets inactive numbers (NaN) as a value outside the range of the others.

    Horn and Bischl (2016), section II b: ``max + 2 (max - min)`` of the training rows, so that a
    tree separates them by one cut.
    """

    def __init__(self, model: Surrogate) -> None:
        self._model = model

    def fit(self, X: Array, y: Array) -> OutOfRangeImputer:
        """Compute the fill values and fit the surrogate."""
        active = ~np.isnan(X)
        high = X.max(axis=0, where=active, initial=0.0)
        low = X.min(axis=0, where=active, initial=1.0)
        span = np.where(high > low, high - low, 1.0)
        #: Value that replaces NaN, by column.
        self.fill_values = np.maximum(high, low) + 2 * span
        self._model.fit(self._filled(X), y)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of each row."""
        return self._model.predict(self._filled(X))

    def _filled(self, X: Array) -> Array:
        missing = np.isnan(X)
        return np.where(missing, self.fill_values, X) if missing.any() else X


class SklearnSurrogate:
    """A scikit-learn regressor with predictive uncertainty.

    The uncertainty is that of ``predict(X, return_std=True)`` (Gaussian processes, Bayesian
    ridge), or the standard deviation over the members of an ensemble that averages them (forests,
    bagging). In a pipeline, the last step is such a regressor. It is cloned, and its
    ``random_state`` is drawn.
    """

    def __init__(self, estimator: Any, rng: np.random.Generator) -> None:
        self._estimator = clone(estimator)
        regressor = _last_step(self._estimator)
        if "random_state" in regressor.get_params(deep=False):
            regressor.set_params(random_state=int(rng.integers(2**31)))

    def fit(self, X: Array, y: Array) -> SklearnSurrogate:
        """Fit the regressor."""
        self._estimator.fit(X, y)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation of each row."""
        regressor = _last_step(self._estimator)
        if regressor is not self._estimator and len(self._estimator) > 1:
            X = self._estimator[:-1].transform(X)
        if not isinstance(regressor, _AVERAGING):
            mean, sd = regressor.predict(X, return_std=True)
            return mean, sd
        members = regressor.estimators_
        # Members of a bagging ensemble may have been fitted to some of the columns.
        columns = getattr(regressor, "estimators_features_", [slice(None)] * len(members))
        predictions = np.array([m.predict(X[:, c]) for m, c in zip(members, columns)])
        return predictions.mean(axis=0), predictions.std(axis=0)


def get_surrogate(surrogate: Any) -> SurrogateFactory:
    """Return a function that makes unfitted surrogates.

    ``"auto"`` is a forest; on up to 200 columns :class:`TrainingData` takes a Gaussian process.
    """
    if surrogate == "gaussian_process":
        return lambda rng: OrdinaryKriging()
    if surrogate == "paper_forest":
        return lambda rng: OutOfRangeImputer(paper_forest(rng))
    if surrogate in ("auto", "forest"):
        return lambda rng: OutOfRangeImputer(Forest(rng))
    if hasattr(surrogate, "get_params") and hasattr(surrogate, "fit"):
        regressor = _last_step(surrogate)
        predict = getattr(type(regressor), "predict", None)
        has_std = callable(predict) and "return_std" in inspect.signature(predict).parameters
        if not (has_std or isinstance(regressor, _AVERAGING)):
            raise ValueError(
                "surrogate must predict its uncertainty: expected a regressor whose predict() "
                "takes return_std, a random forest, extra trees or bagging, or a pipeline that "
                f"ends in one, got {surrogate!r}. Try 'forest' or 'gaussian_process'."
            )
        return lambda rng: OutOfRangeImputer(SklearnSurrogate(surrogate, rng))
    if callable(surrogate):
        return lambda rng: OutOfRangeImputer(surrogate())
    names = ["auto", "forest", "gaussian_process", "paper_forest"]
    raise ValueError(
        f"surrogate must be one of {names}, a scikit-learn regressor or a function that returns "
        f"a model, got {surrogate!r}.{did_you_mean(surrogate, names)}"
    )


def _last_step(estimator: Any) -> Any:
    return estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
