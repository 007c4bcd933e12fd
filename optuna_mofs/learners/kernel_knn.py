"""Weighted k nearest neighbours with kernels, after the R package kknn."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs._typing import Floats
from optuna_mofs.learners._neighbors import KERNELS, neighbour_weights


class _KernelKNeighbors(BaseEstimator):  # type: ignore[misc]
    """What the classifier and the regressor share: scaling, checks, weights."""

    def __init__(
        self,
        *,
        n_neighbors: int = 7,
        distance: float = 2.0,
        kernel: str = "optimal",
        scale: bool = True,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.distance = distance
        self.kernel = kernel
        self.scale = scale

    def _check_options(self) -> None:
        k, p = self.n_neighbors, self.distance
        if not isinstance(k, Integral) or isinstance(k, bool) or k < 1:
            raise ValueError(f"n_neighbors={k!r} is not a positive integer; try n_neighbors=7.")
        if not isinstance(p, Real) or math.isnan(p) or p < 1:
            raise ValueError(
                f"distance={p!r} is not a Minkowski exponent; give a number of at least 1 "
                "(2 is Euclidean, float('inf') is Chebyshev)."
            )
        if self.kernel not in KERNELS:
            raise ValueError(f"kernel={self.kernel!r} is unknown; use one of {sorted(KERNELS)}.")

    def _fit_rows(self, X: Floats) -> None:
        varies = np.ptp(X, axis=0) > 0
        # As in kknn, a column that is constant in training says nothing about distance.
        factor = varies.astype(float)
        if self.scale and len(X) > 1:
            deviation = X.std(axis=0, ddof=1)
            factor = np.divide(1.0, deviation, out=np.zeros_like(factor), where=deviation > 0)
            factor[~varies] = 0.0
        self._factor = factor
        self._rows = X * factor

    def _weights(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, X, reset=False, dtype=np.float64)
        return neighbour_weights(
            self._rows,
            X * self._factor,
            k=int(self.n_neighbors),
            p=float(self.distance),
            kernel=self.kernel,
            n_columns=self.n_features_in_,
        )


class KernelKNeighborsClassifier(ClassifierMixin, _KernelKNeighbors):  # type: ignore[misc]
    """Kernel-weighted k-nearest-neighbour classifier (Hechenbichler & Schliep 2004).

    One of the three learners of Binder et al. (2020), Table 3, where it is called kknn. Distances
    are divided by that of the (k+1)-th neighbour, a kernel turns them into weights, and the
    weights of a class, normalised, are its probability. Training rows at exactly the same
    distance share their weight, so the order of the rows is irrelevant (kknn takes the first).

    Args:
        n_neighbors: Number of neighbours k. At most ``n_rows - 1`` are used.
        distance: Exponent of the Minkowski distance, at least 1. Large values are stable.
        kernel: ``"rectangular"``, ``"optimal"`` (Samworth 2012), ``"triangular"``,
            ``"biweight"``, ``"epanechnikov"``, ``"triweight"``, ``"cos"``, ``"inv"``,
            ``"gaussian"`` or ``"rank"``.
        scale: Divide each column by its standard deviation in the training data.

    Example:
        >>> from sklearn.datasets import load_iris
        >>> X, y = load_iris(return_X_y=True)
        >>> model = KernelKNeighborsClassifier(n_neighbors=9, kernel="biweight").fit(X, y)
        >>> model.predict(X[[0, 75, 149]]).tolist()
        [0, 1, 2]

    References:
        Hechenbichler and Schliep (2004), Weighted k-nearest-neighbor techniques and ordinal
        classification, SFB 386 discussion paper 399. Samworth (2012), Optimal weighted nearest
        neighbour classifiers, Annals of Statistics 40.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the (scaled) rows and the classes."""
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._one_hot = np.eye(len(self.classes_))[codes]
        self._fit_rows(X)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Share of the neighbours' weight that each class holds."""
        shares = self._weights(X) @ self._one_hot
        result: Floats = shares / shares.sum(axis=1, keepdims=True)
        return result

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Class with the largest weight."""
        chosen = self.predict_proba(X).argmax(axis=1)
        result: npt.NDArray[Any] = self.classes_[chosen]
        return result


class KernelKNeighborsRegressor(RegressorMixin, _KernelKNeighbors):  # type: ignore[misc]
    """Kernel-weighted k-nearest-neighbour regressor (Hechenbichler & Schliep 2004).

    The prediction is the weighted mean of the neighbours' targets; options and weights are those
    of :class:`KernelKNeighborsClassifier`.

    Args:
        n_neighbors: Number of neighbours k. At most ``n_rows - 1`` are used.
        distance: Exponent of the Minkowski distance, at least 1.
        kernel: Name of the kernel.
        scale: Divide each column by its standard deviation in the training data.

    Example:
        >>> import numpy as np
        >>> X = np.arange(5.0)[:, None]
        >>> model = KernelKNeighborsRegressor(n_neighbors=2, kernel="rectangular").fit(X, X[:, 0])
        >>> model.predict([[0.4]]).tolist()
        [0.5]
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Keep the (scaled) rows and the targets."""
        self._check_options()
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True)
        self._targets = np.asarray(y, dtype=np.float64)
        self._fit_rows(X)
        return self

    def predict(self, X: Any) -> Floats:
        """Weighted mean of the neighbours' targets."""
        result: Floats = np.asarray(self._weights(X) @ self._targets)
        return result
