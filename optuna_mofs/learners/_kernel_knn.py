"""Weighted k nearest neighbors with kernels, after the R package kknn."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_matrix
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs._tables import check_labels
from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs._validation import (
    check_choice,
    check_float,
    check_int,
    check_numbers,
    check_one_kind,
)


class _KernelKNeighbors(BaseEstimator):  # type: ignore[misc]
    """The common part of the classifier and the regressor: scaling, checks, weights."""

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
        check_int("n_neighbors", self.n_neighbors, 1)
        check_float("distance", self.distance, 1)
        check_choice("kernel", self.kernel, KERNELS)

    def _fit_rows(self, X: Floats) -> None:
        varies = np.ptp(X, axis=0) > 0
        # As in kknn, columns that are constant in the training data do not count.
        factor = varies.astype(float)
        if self.scale and len(X) > 1:
            deviation = X.std(axis=0, ddof=1)
            factor = np.divide(1.0, deviation, out=np.zeros_like(factor), where=deviation > 0)
            factor[~varies] = 0.0
        self._factor = factor
        self._rows = X * factor

    def _weights(self, X: Any) -> Any:
        check_is_fitted(self)
        X = validate_data(self, check_labels(X), reset=False, dtype=np.float64)
        return neighbor_weights(
            self._rows,
            X * self._factor,
            k=int(self.n_neighbors),
            p=float(self.distance),
            kernel=self.kernel,
            n_columns=self.n_features_in_,
        )


class KernelKNeighborsClassifier(ClassifierMixin, _KernelKNeighbors):  # type: ignore[misc]
    """Kernel-weighted k-nearest-neighbor classifier (Hechenbichler & Schliep 2004).

    One of the three learners of Binder et al. (2020), Table 3, where it is called kknn. Distances
    are divided by that of the (k+1)-th neighbor, a kernel converts them into weights, and the
    normalized weights of a class are its probability. Training rows at exactly the same distance
    share their weight, so the order of the rows is irrelevant (kknn takes the first).

    Args:
        n_neighbors: Number of neighbors k. At most ``n_rows - 1`` are used.
        distance: Exponent of the Minkowski distance, at least 1 (2 is Euclidean, ``inf`` is
            Chebyshev). Large values are numerically stable.
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
        neighbor classifiers, Annals of Statistics 40.
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Store the (scaled) rows and the classes."""
        self._check_options()
        X, y = validate_data(self, check_labels(X), y, dtype=np.float64)
        check_classification_targets(check_one_kind(y))
        self.classes_, codes = np.unique(y, return_inverse=True)
        self._one_hot = np.eye(len(self.classes_))[codes]
        self._fit_rows(X)
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Return the share of each class in the weights of the neighbors."""
        shares = self._weights(X) @ self._one_hot
        return shares / shares.sum(axis=1, keepdims=True)

    def predict(self, X: Any) -> Array:
        """Return the class with the largest weight."""
        chosen = self.predict_proba(X).argmax(axis=1)
        return self.classes_[chosen]


class KernelKNeighborsRegressor(RegressorMixin, _KernelKNeighbors):  # type: ignore[misc]
    """Kernel-weighted k-nearest-neighbor regressor (Hechenbichler & Schliep 2004).

    The prediction is the weighted mean of the neighbors' targets; options and weights are those
    of :class:`KernelKNeighborsClassifier`.

    Args:
        n_neighbors: Number of neighbors k. At most ``n_rows - 1`` are used.
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
        """Store the (scaled) rows and the targets."""
        self._check_options()
        X, y = validate_data(self, check_labels(X), y, dtype=np.float64, y_numeric=True)
        self._targets = check_numbers("y", y)
        self._fit_rows(X)
        return self

    def predict(self, X: Any) -> Floats:
        """Return the weighted mean of the neighbors' targets."""
        return self._weights(X) @ self._targets


# Entries of a distance matrix in memory at a time: 32 MB of doubles.
_MAX_ENTRIES = 1 << 22
# Limits within which a k-d tree is faster than distance matrices (measured, 200 to 20,000 rows).
_TREE_MAX_COLUMNS = 4
_TREE_MIN_ROWS = 500
# scipy's tree sums raw powers: above this exponent small differences would underflow.
_TREE_MAX_EXPONENT = 16.0
# Relative distances are clipped away from 0 and 1 (as in kknn), so that no weight is 0 or inf.
_MARGIN = 1e-6


def _optimal(ratio: Floats, n_columns: int) -> Floats:
    """Return weights by rank alone, asymptotically optimal for ``d`` columns (Samworth 2012)."""
    k, d = ratio.shape[1], n_columns
    powers = np.arange(k + 1, dtype=float) ** (1 + 2 / d)
    weights = (1 + d / 2 - d / (2 * k ** (2 / d)) * np.diff(powers)) / k
    return np.broadcast_to(weights, ratio.shape)


def _gaussian(ratio: Floats, n_columns: int) -> Floats:
    window = norm.ppf(1 - 1 / (2 * (ratio.shape[1] + 1)))
    return np.exp(-0.5 * (ratio * window) ** 2)


def _rank(ratio: Floats, n_columns: int) -> Floats:
    k = ratio.shape[1]
    return np.broadcast_to(np.arange(k, 0, -1, dtype=float), ratio.shape)


# Weight of a neighbor by its distance relative to the (k+1)-th one, without constant factors.
KERNELS: dict[str, Callable[[Floats, int], Floats]] = {
    "rectangular": lambda ratio, _: np.ones_like(ratio),
    "optimal": _optimal,
    "triangular": lambda ratio, _: 1 - ratio,
    "biweight": lambda ratio, _: (1 - ratio**2) ** 2,
    "epanechnikov": lambda ratio, _: 1 - ratio**2,
    "triweight": lambda ratio, _: (1 - ratio**2) ** 3,
    "cos": lambda ratio, _: np.cos(ratio * (np.pi / 2)),
    "inv": lambda ratio, _: 1 / ratio,
    "gaussian": _gaussian,
    "rank": _rank,
}

_BY_RANK = frozenset({"optimal", "rank"})


def paired_distances(a: Floats, b: Floats, p: float) -> Floats:
    """Return the distances of the rows of ``a`` to those of ``b``, stable for large ``p``."""
    difference = np.abs(a - b)
    largest: Floats = difference.max(axis=1)
    if math.isinf(p):
        return largest
    safe = np.where(largest > 0, largest, 1.0)
    difference /= safe[:, None]
    with np.errstate(divide="ignore"):  # log(0) = -inf is intended: its power is 0
        total = np.exp(p * np.log(difference)).sum(axis=1)  # faster than a power
    return largest * total ** (1 / p)


def _minkowski_block(query: Floats, train: Floats, k: int, p: float) -> Floats:
    """Return distances for any ``p``, infinite for pairs not among the ``k + 1`` nearest.

    For ``a < p < b`` the distances with exponents ``a`` and ``b`` bound it from below,
    ``D_p >= max(D_b, D_a d^(1/p-1/a))``, and their mean, weighted by the position of ``1/p``
    between ``1/a`` and ``1/b``, is a good estimate. Only pairs that the bounds do not exclude are
    computed exactly.
    """
    a, b = (1.0, 2.0) if p < 2 else (2.0, math.inf)
    names = ("cityblock", "euclidean") if p < 2 else ("euclidean", "chebyshev")
    wide, narrow = (cdist(query, train, name) for name in names)
    theta = (1 / p - 1 / b) / (1 / a - 1 / b)
    estimate = theta * wide + (1 - theta) * narrow
    distances = np.full(estimate.shape, np.inf)

    def compute(rows: Indices, columns: Indices) -> None:
        step = max(1, _MAX_ENTRIES // train.shape[1])
        for start in range(0, len(rows), step):
            r, c = rows[start : start + step], columns[start : start + step]
            distances[r, c] = paired_distances(query[r], train[c], p)

    # The k + 1 nearest by the estimate first: the farthest of them is a limit for the others.
    likely = np.argpartition(estimate, k, axis=1)[:, : k + 1]
    compute(np.repeat(np.arange(len(query)), k + 1), likely.ravel())
    # With a tolerance, because bounds and exact distances are rounded differently.
    limit = np.take_along_axis(distances, likely, axis=1).max(axis=1, keepdims=True) * (1 + 1e-9)
    lower = np.maximum(narrow, wide * train.shape[1] ** (1 / p - 1 / a))
    compute(*np.nonzero((lower <= limit) & np.isinf(distances)))
    return distances


def _block(query: Floats, train: Floats, k: int, p: float) -> Floats:
    names = {1.0: "cityblock", 2.0: "euclidean", math.inf: "chebyshev"}
    name = "cityblock" if train.shape[1] == 1 else names.get(p)
    if name is None:
        return _minkowski_block(query, train, k, p)
    return cdist(query, train, name)


def _by_tree(train: Floats, query: Floats, k: int, p: float) -> tuple[Floats, Indices, Indices]:
    """Return the ``k + 1`` nearest by a k-d tree, and the rows with an uncertain result."""
    n, d = train.shape
    tree = cKDTree(train)
    if p <= _TREE_MAX_EXPONENT or math.isinf(p) or d == 1:
        distances, indices = tree.query(query, k + 1, p=1.0 if d == 1 else p)
        certain = np.ones(len(query), dtype=bool)
    else:
        # Large p is nearly Chebyshev: query more than needed, and check that it was enough.
        extra = min(n, 2 * (k + 1) + 8)
        bound, found = tree.query(query, extra, p=np.inf)
        flat = paired_distances(np.repeat(query, extra, axis=0), train[found.ravel()], p)
        exact = flat.reshape(found.shape)
        order = np.argsort(exact, axis=1, kind="stable")[:, : k + 1]
        distances = np.take_along_axis(exact, order, axis=1)
        indices = np.take_along_axis(found, order, axis=1)
        certain = (distances[:, k] < bound[:, -1]) | (extra == n)
    tied = distances[:, k] == distances[:, k - 1]
    return distances, indices, np.flatnonzero(tied | ~certain)


def _search(
    train: Floats, query: Floats, k: int, p: float
) -> Iterator[tuple[Indices, Floats, Indices, Indices, Indices]]:
    """Yield (query rows, distances, indices, tied rows of the block, their training rows)."""
    n, d = train.shape
    todo = np.arange(len(query))
    none = np.empty(0, dtype=np.intp)
    if n >= _TREE_MIN_ROWS and d <= _TREE_MAX_COLUMNS and k + 1 < n // 4:
        distances, indices, todo = _by_tree(train, query, k, p)
        done = np.ones(len(query), dtype=bool)
        done[todo] = False
        yield np.flatnonzero(done), distances[done], indices[done], none, none
    step = max(1, _MAX_ENTRIES // n)
    for start in range(0, len(todo), step):
        rows = todo[start : start + step]
        block = _block(query[rows], train, k, p)
        nearest = np.argpartition(block, k, axis=1)[:, : k + 1]
        distances = np.take_along_axis(block, nearest, axis=1)
        order = np.argsort(distances, axis=1, kind="stable")
        distances = np.take_along_axis(distances, order, axis=1)
        indices = np.take_along_axis(nearest, order, axis=1)
        tied = np.flatnonzero(distances[:, k] == distances[:, k - 1])
        at, train_rows = np.nonzero(block[tied] == distances[tied, k][:, None])
        yield rows, distances, indices, tied[at], train_rows


def _share_within_ties(weights: Floats, distances: Floats) -> Floats:
    """Average weights over each run of equal distances, so that its order is irrelevant."""
    new_run = np.ones(distances.shape, dtype=bool)
    new_run[:, 1:] = distances[:, 1:] != distances[:, :-1]
    run = np.cumsum(new_run.ravel()) - 1
    mean = np.bincount(run, weights=weights.ravel()) / np.bincount(run)
    return mean[run].reshape(weights.shape)


def neighbor_weights(
    train: Floats, query: Floats, *, k: int, p: float, kernel: str, n_columns: int
) -> Any:
    """Return a sparse matrix of kernel weights, query × training rows; each row sums to one.

    At most ``k = len(train) - 1`` neighbors are used, because the next one determines the width of
    the window (a single training row is always used). ``p`` is the Minkowski exponent, which can
    be infinite; ``n_columns`` is the number of features for the ``optimal`` kernel.
    """
    n = len(train)
    if n == 1:
        return csr_matrix(np.ones((len(query), 1)))
    k = min(k, n - 1)
    parts: list[tuple[Indices, Indices, Floats]] = []
    for rows, distances, indices, tied, tied_train in _search(train, query, k, p):
        width = distances[:, k : k + 1]
        ratio = distances[:, :k] / np.where(width > 0, width, 1.0)
        weights = KERNELS[kernel](np.clip(ratio, _MARGIN, 1 - _MARGIN), n_columns)
        if kernel in _BY_RANK:
            weights = _share_within_ties(weights, distances[:, :k])
        weights = weights / weights.sum(axis=1, keepdims=True)
        if len(tied):
            # All training rows at the last distance share its weight equally.
            has_tie = np.zeros(len(rows), dtype=bool)
            has_tie[tied] = True
            last = (distances[:, :k] == width) & has_tie[:, None]
            share = np.where(last, weights, 0).sum(axis=1) / np.maximum(
                np.bincount(tied, minlength=len(rows)), 1
            )
            weights = np.where(last, 0, weights)
            parts.append((rows[tied], tied_train, share[tied]))
        parts.append((np.repeat(rows, k), indices[:, :k].ravel(), weights.ravel()))
    row, column, value = (np.concatenate(column) for column in zip(*parts))
    return csr_matrix((value, (row, column)), shape=(len(query), n))
