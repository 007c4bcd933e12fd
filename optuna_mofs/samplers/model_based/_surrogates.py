"""Models of the objective that also say how sure they are.

One interface: ``fit(X, y)`` returns the model, ``predict(X)`` returns mean and standard deviation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import sklearn
from sklearn.base import clone
from sklearn.tree import ExtraTreeRegressor

from optuna_mofs._typing import Array
from optuna_mofs.samplers._gaussian_process import Kriging

#: Spaces of at most this many columns (a category has one for each choice, a feature set is one)
#: get Kriging.
KRIGING_COLUMNS = 20


class Surrogate(Protocol):
    """What a sampler asks of a model."""

    def fit(self, X: Array, y: Array) -> Surrogate:
        """Learn from rows, the best first, and finite targets; returns itself."""

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation of each row."""


#: Makes a fresh model of a generator.
SurrogateFactory = Callable[[np.random.Generator], Surrogate]


class Forest:
    """Extremely randomized trees; the spread of their predictions is the uncertainty.

    Horn and Bischl (2016) take a random forest. Trees with random cut points on all data were as
    good or better in less than half the time (``docs/samplers/model_based.md``); they are fitted
    and asked one by one, past the checks that scikit-learn's forest does for each tree.

    Args:
        rng: Generator.
        n_trees: Number of trees.
        min_leaf: Least number of trials in a leaf.
        max_features: Part of the columns that a split may choose from.

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
        min_leaf: int = 2,
        max_features: float = 0.7,
    ) -> None:
        self._rng = rng
        self._n_trees = n_trees
        self._options = {"min_samples_leaf": min_leaf, "max_features": max_features}

    def fit(self, X: Array, y: Array) -> Forest:
        """Grow the trees."""
        X32 = np.ascontiguousarray(X, dtype=np.float32)
        y64 = np.ascontiguousarray(y, dtype=np.float64)
        seeds = self._rng.integers(2**31, size=self._n_trees)
        with sklearn.config_context(assume_finite=True, skip_parameter_validation=True):
            trees = [
                ExtraTreeRegressor(**self._options, random_state=int(seed)).fit(
                    X32, y64, check_input=False
                )
                for seed in seeds
            ]
        self._trees = [tree.tree_ for tree in trees]
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation over the trees."""
        X32 = np.ascontiguousarray(X, dtype=np.float32)
        found = np.empty((len(self._trees), len(X)))
        for i, tree in enumerate(self._trees):
            found[i] = tree.predict(X32).ravel()
        return found.mean(axis=0), found.std(axis=0)


class Outside:
    """A model that sees inactive numbers outside the range of all others.

    Horn and Bischl (2016), section II b: at ``max + 2 (max - min)`` of those seen, so that one cut
    of a tree tells them apart.

    Args:
        model: Learns from rows without NaN.

    Example:
        >>> X = np.array([[0.2], [0.6], [np.nan]])
        >>> Outside(Forest(np.random.default_rng(0))).fit(X, X[:, 0] > 0).places.round(2).tolist()
        [1.4]
    """

    def __init__(self, model: Surrogate) -> None:
        self._model = model

    def fit(self, X: Array, y: Array) -> Outside:
        """Find the places and fit the model."""
        there = ~np.isnan(X)
        high = X.max(axis=0, where=there, initial=0.0)
        low = X.min(axis=0, where=there, initial=1.0)
        span = np.where(high > low, high - low, 1.0)
        #: Where inactive numbers are put, by column.
        self.places = np.maximum(high, low) + 2 * span
        self._model.fit(self._filled(X), y)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation."""
        return self._model.predict(self._filled(X))

    def _filled(self, X: Array) -> Array:
        missing = np.isnan(X)
        return np.where(missing, self.places, X) if missing.any() else X


class Regressor:
    """Any scikit-learn regressor that can say how sure it is.

    It is asked by ``predict(X, return_std=True)`` (Gaussian processes, Bayesian ridge), or through
    the spread of its ``estimators_`` (forests, bagging).

    Args:
        estimator: An unfitted regressor; it is cloned.
        rng: Sets its ``random_state``, if it has one.
    """

    def __init__(self, estimator: Any, rng: np.random.Generator) -> None:
        self._estimator = clone(estimator)
        if "random_state" in self._estimator.get_params(deep=False):
            self._estimator.set_params(random_state=int(rng.integers(2**31)))

    def fit(self, X: Array, y: Array) -> Regressor:
        """Fit the regressor."""
        self._estimator.fit(X, y)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation."""
        parts = getattr(self._estimator, "estimators_", None)
        if parts is None:
            mean, sd = self._estimator.predict(X, return_std=True)
            return mean, sd
        found = np.array([part.predict(X) for part in np.ravel(parts)])
        return found.mean(axis=0), found.std(axis=0)


def takes_kriging(what: Any, columns: int) -> bool:
    """Whether what a user asked for is Kriging in a space of so many columns."""
    return isinstance(what, str) and (
        what == "kriging" or (what == "auto" and columns <= KRIGING_COLUMNS)
    )


def get_surrogate(what: Any) -> SurrogateFactory:
    """What a user asked for as a function that makes a fresh model.

    Args:
        what: ``"auto"`` (Kriging on spaces of few columns, see :func:`takes_kriging`; else a
            forest), ``"forest"``, ``"kriging"``, a scikit-learn regressor, or a function without
            arguments that returns a :class:`Surrogate`.
    """
    if isinstance(what, str) and what in _NAMED:
        return _NAMED[what]
    if hasattr(what, "get_params") and hasattr(what, "fit"):
        if not (_says_std(what) or _has_parts(what)):
            raise ValueError(
                f"surrogate {what!r} cannot say how sure it is: it needs predict(X, "
                "return_std=True) or fitted estimators_. Try a forest or a Gaussian process."
            )
        return lambda rng: Outside(Regressor(what, rng))
    if callable(what):
        return lambda rng: Outside(what())
    raise ValueError(
        f"surrogate must be one of {sorted(_NAMED)}, a scikit-learn regressor or a function that "
        f"makes a model, but is {what!r}."
    )


def _says_std(estimator: Any) -> bool:
    code = getattr(type(estimator).predict, "__code__", None)
    return code is not None and "return_std" in code.co_varnames


def _has_parts(estimator: Any) -> bool:
    return "n_estimators" in estimator.get_params(deep=False)


def _forest(rng: np.random.Generator) -> Surrogate:
    return Outside(Forest(rng))


_NAMED: dict[str, SurrogateFactory] = {
    "auto": _forest,
    "forest": _forest,
    "kriging": lambda rng: Kriging(),
}
