"""A small Gaussian process over parameters and masks, cheap enough to be made for every trial.

It knows points only by their distances, one part a parameter: numbers differ by how far they are
apart, categories by being equal or not, masks by the share of features that they do not have in
common and by their size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtrs
from scipy.optimize import minimize
from scipy.special import ndtri

from optuna_mofs.features.table import Array

#: Bounds of the length scales, and of the nugget as a share of the variance.
_LENGTHS, _NUGGET = (0.03, 10.0), (1e-4, 1.0)


@dataclass(frozen=True)
class Points:
    """Points of a space of mixed parameters.

    Args:
        rows: Numbers in [0, 1], positions of choices, NaN where a parameter is inactive.
        categorical: Which columns hold choices.
        masks: Points × features, or None.
    """

    rows: Array
    categorical: Array
    masks: Array | None = None

    def __getitem__(self, chosen: Array) -> Points:
        masks = None if self.masks is None else self.masks[chosen]
        return Points(self.rows[chosen], self.categorical, masks)

    def squares(self, others: Points) -> Array:
        """Squared distances: parts × these points × the others."""
        a, b = self.rows.T[:, :, None], others.rows.T[:, None, :]
        parts = (a - b) ** 2
        missing = np.isnan(parts)
        parts[self.categorical] = parts[self.categorical] != 0
        if missing.any():
            # Who alone has a parameter is as far as it gets from who has not.
            parts = np.where(missing, np.isnan(a) != np.isnan(b), parts)
        if self.masks is None or others.masks is None:
            return parts
        return np.concatenate([parts, _mask_squares(self.masks, others.masks)])


def _mask_squares(a: Array, b: Array) -> Array:
    """Jaccard's distance, and the difference of the logarithms of sizes, as parts."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    both = (x @ y.T).astype(float)
    m, n = a.sum(axis=1)[:, None], b.sum(axis=1)[None, :]
    either = np.maximum(m + n - both, 1.0)
    sizes = (np.log1p(m) - np.log1p(n)) / np.log1p(a.shape[1])
    return np.stack([1.0 - np.where(m + n > 0, both / either, 1.0), sizes**2])


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
        K = _matern(self._weights, squares)[0]
        K[np.diag_indices_from(K)] += np.exp(scales[-1])
        # LAPACK itself: SciPy's wrappers take longer than the work.
        self._factor = dpotrf(K, lower=1, clean=0)[0]
        ones, solved = dpotrs(self._factor, np.column_stack([np.ones(len(z)), z]), lower=1)[0].T
        self._mean = float(solved.sum() / ones.sum())
        self._alpha = solved - self._mean * ones
        self._variance = max(float((z - self._mean) @ self._alpha) / len(z), 1e-6)

    def predict(self, squares: Array) -> tuple[Array, Array]:
        """Mean and standard deviation at points with these squared distances to the others."""
        k = _matern(self._weights, squares)[0]
        half = dtrtrs(self._factor, k.T, lower=1)[0]
        left = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), 1e-6)
        return self._mean + k @ self._alpha, np.sqrt(self._variance * left)


def _matern(weights: Array, squares: Array) -> tuple[Array, Array]:
    """The kernel, and the factor of its slopes."""
    flat = weights @ squares.reshape(len(squares), -1)
    r = np.sqrt(3.0 * flat).reshape(squares.shape[1:])
    falling = np.exp(-r)
    return (1.0 + r) * falling, falling


def most_likely(squares: Array, z: Array, *, iterations: int = 15) -> Array:
    """Length scales and nugget by maximum likelihood, as logarithms.

    A weak prior keeps the scales sane while points are few: about half the range, more if there
    are many parts, because distances are larger then.
    """
    parts, count, _ = squares.shape
    prior = np.log(0.5 * np.sqrt(parts))
    diagonal = np.diag_indices(count)
    right = np.column_stack([np.ones(count), z])

    def loss(scales: Array) -> tuple[float, Array]:
        weights, nugget = np.exp(-2 * scales[:-1]), np.exp(scales[-1])
        K, falling = _matern(weights, squares)
        K[diagonal] += nugget
        factor = dpotrf(K, lower=1, clean=0)[0]
        ones, solved = dpotrs(factor, right, lower=1)[0].T
        mean = solved.sum() / ones.sum()
        alpha = solved - mean * ones
        variance = max(float((z - mean) @ alpha) / count, 1e-12)
        inverse = np.tril(dpotri(factor, lower=1)[0])
        inverse += np.tril(inverse, -1).T
        pull = inverse - np.outer(alpha, alpha) / variance
        away = (scales[:-1] - prior) / 1.5
        value = 0.5 * count * np.log(variance) + np.log(factor.diagonal()).sum()
        slopes = np.empty(parts + 1)
        slopes[:-1] = 1.5 * weights * (squares.reshape(parts, -1) @ (pull * falling).ravel())
        slopes[:-1] += away / 1.5
        slopes[-1] = 0.5 * nugget * np.trace(pull)
        return float(value + 0.5 * away @ away), slopes

    start = np.append(np.full(parts, prior), np.log(0.1))
    bounds = [tuple(np.log(_LENGTHS))] * parts + [tuple(np.log(_NUGGET))]
    found = minimize(
        loss, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": iterations}
    )
    scales: Array = found.x
    return scales
