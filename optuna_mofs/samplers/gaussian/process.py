"""A small Gaussian process that knows points only by their distances: cheap enough for a trial."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtrs
from scipy.special import ndtri

from optuna_mofs._typing import Array


def normal_scores(values: Array) -> Array:
    """Values as quantiles of the normal distribution: a wild value is only the last of all.

    Example:
        >>> normal_scores(np.array([3.0, 1e9, 2.0])).round(2).tolist()
        [0.0, 0.97, -0.97]
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    # Ties share the middle of their ranks.
    middle = np.cumsum(counts) - 0.5 * counts
    scores: Array = ndtri(middle / len(values))[which]
    return scores


class Process:
    """A Gaussian process with constant mean and Matérn 3/2 kernel.

    Args:
        squares: Squared distances of the points among each other, by part.
        z: Values at the points.
        scales: Logarithms of the length scale of each part and of the nugget.
    """

    def __init__(self, squares: Array, z: Array, scales: Array) -> None:
        self._weights = np.exp(-2 * scales[:-1])
        K = _matern(self._weights, squares)
        K[np.diag_indices_from(K)] += np.exp(scales[-1])
        # LAPACK itself: SciPy's wrappers take longer than the work.
        self._factor = dpotrf(K, lower=1, clean=0)[0]
        ones, solved = dpotrs(self._factor, np.column_stack([np.ones(len(z)), z]), lower=1)[0].T
        self._mean = float(solved.sum() / ones.sum())
        self._alpha = solved - self._mean * ones
        self._variance = max(float((z - self._mean) @ self._alpha) / len(z), 1e-6)

    def predict(self, squares: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at points with these squared distances to the others."""
        k = _matern(self._weights, squares)
        half = dtrtrs(self._factor, k.T, lower=1)[0]
        left = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), 1e-6)
        return self._mean + k @ self._alpha, np.sqrt(self._variance * left)


def _matern(weights: Array, squares: Array) -> Array:
    flat = weights @ squares.reshape(len(squares), -1)
    r = np.sqrt(3.0 * flat).reshape(squares.shape[1:])
    kernel: Array = (1.0 + r) * np.exp(-r)
    return kernel


def learned_from(count: int, *, first: int = 8, again: float = 1.3) -> int:
    """The number of first trials from which length scales are estimated, given so many trials.

    Args:
        count: Trials.
        first: Up to so many, all of them.
        again: Scales are estimated again when there are this many times as many trials.

    Example:
        >>> [learned_from(count) for count in (7, 8, 10, 11, 100)]
        [7, 8, 8, 11, 85]
    """
    steps = np.floor(np.log(max(1.0, count / first)) / np.log(again) + 1e-9)
    return min(count, int(np.ceil(first * again**steps - 1e-9)))
