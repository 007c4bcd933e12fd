"""Length scales and nugget of a Gaussian process by maximum likelihood."""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs
from scipy.optimize import minimize

from optuna_mofs._typing import Array

#: Bounds of the length scales.
_LENGTHS = (0.03, 10.0)


def most_likely(
    squares: Array,
    z: Array,
    *,
    nugget: tuple[float, float] = (1e-4, 1.0),
    first: float = 0.1,
    iterations: int = 15,
    close: float = 2.2e-9,
) -> Array:
    """Logarithms of the length scale of each part and of the nugget, for a Matérn 3/2 kernel.

    A weak prior keeps the scales sane while points are few: about half the range, more if there
    are many parts, because distances are larger then.

    Args:
        squares: Squared distances of the points among each other, by part: parts × points ×
            points.
        z: Values at the points.
        nugget: Bounds of the nugget, as a share of the variance.
        first: Nugget from which the search starts.
        iterations: Most steps of the search.
        close: Relative gain in likelihood below which it ends.
    """
    parts, count, _ = squares.shape
    flat = squares.reshape(parts, -1)
    diagonal = slice(None, None, count + 1)
    # Lower triangle of a matrix of which LAPACK fills but that; the other half is its mirror.
    half = np.asfortranarray(np.tril(np.full((count, count), 2.0), -1) + np.eye(count))
    both = np.column_stack([z, np.ones(count)])
    prior = np.log(0.5 * np.sqrt(parts))

    def loss(theta: Array) -> tuple[float, Array]:
        weights, noise = np.exp(-2 * theta[:-1]), np.exp(theta[-1])
        decay = (3 * weights) @ flat
        np.sqrt(decay, out=decay)
        falling = np.exp(-decay)
        decay += 1
        decay *= falling
        decay[diagonal] += noise
        factor, failed = dpotrf(decay.reshape(count, count).T, lower=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros(parts + 1)
        logs = np.log(factor.diagonal()).sum()
        solved = dpotrs(factor, both, lower=1)[0]
        ones = solved[:, 1]
        mean = (ones @ z) / ones.sum()
        alpha = solved[:, 0] - mean * ones
        variance = max(float((z - mean) @ alpha) / count, 1e-12)
        pull = dpotri(factor, lower=1, overwrite_c=1)[0]
        pull -= np.outer(alpha / variance, alpha)
        slopes = np.empty(parts + 1)
        slopes[-1] = 0.5 * noise * np.trace(pull)
        pull *= half
        falling *= pull.T.reshape(-1)
        slopes[:-1] = 1.5 * weights * (flat @ falling)
        away = (theta[:-1] - prior) / 1.5
        slopes[:-1] += away / 1.5
        value = 0.5 * count * np.log(variance) + logs + 0.5 * float(away @ away)
        return float(value), slopes

    found = minimize(
        loss,
        np.append(np.full(parts, prior), np.log(first)),
        jac=True,
        method="L-BFGS-B",
        bounds=[tuple(np.log(_LENGTHS))] * parts + [tuple(np.log(nugget))],
        options={"maxiter": iterations, "ftol": close},
    )
    theta: Array = found.x
    return theta
