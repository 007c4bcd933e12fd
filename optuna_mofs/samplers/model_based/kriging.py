"""Kriging with a Matérn 3/2 kernel and a nugget, for few columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, strtrs
from scipy.optimize import minimize

from optuna_mofs.features.table import Array

#: The paper's nugget, here the least: cross-validated errors are rough.
NUGGET = 1e-4
_MOST_NUGGET = 0.3
_LENGTHS = (0.03, 10.0)
#: Points that hyperparameters are estimated from, and points that predictions are made from.
_LEARN, _KEEP = 100, 256
#: Relative gain in likelihood below which the search for scales ends.
_CLOSE = 1e-3


class Kriging:
    """A Gaussian process with constant mean; scale of each column by maximum likelihood.

    Horn and Bischl (2016), section III A: Matérn 3/2 and a small nugget. The likelihood is
    maximised over at most 100 rows and predictions are made from at most 256, half of them the
    first and the others a spread of the rest, so that the cost stays flat: where there are more,
    the best are to come first. Predictions are in single precision, which errs far less than the
    nugget.

    Example:
        >>> X = np.linspace(0, 1, 9)[:, None]
        >>> model = Kriging().fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5], [0.55]]))
        >>> bool(abs(mean[0] - np.sin(3)) < 0.01 and sd[0] < sd[1])
        True
    """

    def fit(self, X: Array, y: Array) -> Kriging:
        """Estimate the hyperparameters and prepare predictions."""
        self._center, self._spread = float(y.mean()), float(y.std()) or 1.0
        z = (y - self._center) / self._spread
        few = _representative(len(z), _LEARN)
        theta = _most_likely(X[few], z[few])
        self._lengths, nugget = np.exp(theta[:-1]), float(np.exp(theta[-1]))
        kept = _representative(len(z), _KEEP)
        self._X, z = X[kept] / self._lengths, z[kept]
        K = _matern(_distances(self._X, self._X))
        K[np.diag_indices_from(K)] += nugget
        factor = cholesky(K, lower=True, overwrite_a=True, check_finite=False)
        ones = cho_solve((factor, True), np.ones(len(z)), check_finite=False)
        self._mean = float(ones @ z) / float(ones.sum())
        alpha = cho_solve((factor, True), z - self._mean, check_finite=False)
        self._variance = max(float((z - self._mean) @ alpha) / len(z), 1e-12)
        self._sum = float(ones.sum())
        # Columns: what predictions multiply the kernel with.
        self._right = np.column_stack([alpha, ones]).astype(np.float32)
        self._factor = factor.astype(np.float32)
        self._X = self._X.astype(np.float32)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation."""
        at = (X / self._lengths).astype(np.float32)
        k = _matern(_distances(at, self._X))
        right = k @ self._right
        # The transpose is Fortran's order, so that nothing is copied.
        half = strtrs(self._factor, k.T, lower=1, overwrite_b=1)[0]
        # The last term: the mean is estimated too (ordinary kriging).
        left = 1 - np.einsum("ij,ij->j", half, half) + (1 - right[:, 1]) ** 2 / self._sum
        sd = np.sqrt(self._variance * np.maximum(left, 1e-6))
        mean = self._mean + right[:, 0].astype(float)
        return self._center + self._spread * mean, self._spread * sd


def _representative(count: int, most: int) -> Array:
    """Positions of the first ``most / 2`` rows, and of an even spread of the others."""
    if count <= most:
        return np.arange(count)
    first = most // 2
    rest = np.linspace(first, count - 1, most - first).astype(np.int64)
    return np.concatenate([np.arange(first), rest])


def _distances(A: Array, B: Array) -> Array:
    square: Array = A @ (-2 * B.T)
    square += (A**2).sum(axis=1)[:, None]
    square += (B**2).sum(axis=1)
    np.maximum(square, 0.0, out=square)
    return np.sqrt(square, out=square)


def _matern(r: Array) -> Array:
    """The kernel at given distances, which are overwritten."""
    r *= r.dtype.type(-np.sqrt(3.0))
    falling = np.exp(r)
    np.subtract(r.dtype.type(1.0), r, out=r)
    r *= falling
    return r


def _most_likely(X: Array, z: Array) -> Array:
    """Logarithms of the length scales and of the nugget (relative to the variance)."""
    count, d = X.shape
    # Columns × pairs: sums over columns, and over pairs, are products with it.
    squares = ((X.T[:, :, None] - X.T[:, None, :]) ** 2).reshape(d, -1)
    diagonal = slice(None, None, count + 1)
    # Lower triangle of a matrix of which LAPACK fills but that; the other half is its mirror.
    half = np.tril(np.full((count, count), 2.0), -1) + np.eye(count)
    half = np.asfortranarray(half)
    both = np.column_stack([z, np.ones(count)])
    # A weak prior keeps scales sane while points are few: about half the range, more if d is
    # large, because distances are.
    prior = np.log(0.5 * np.sqrt(d))

    def loss(theta: Array) -> tuple[float, Array]:
        inverse_squares, nugget = np.exp(-2 * theta[:-1]), np.exp(theta[-1])
        decay = (3 * inverse_squares) @ squares
        np.sqrt(decay, out=decay)
        falling = np.exp(-decay)
        decay += 1
        decay *= falling
        decay[diagonal] += nugget
        factor, failed = dpotrf(decay.reshape(count, count).T, lower=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros(d + 1)
        logs = np.log(factor.diagonal()).sum()
        solved = dpotrs(factor, both, lower=1)[0]
        ones = solved[:, 1]
        mean = (ones @ z) / ones.sum()
        alpha = solved[:, 0] - mean * ones
        variance = max(float((z - mean) @ alpha) / count, 1e-12)
        pull = dpotri(factor, lower=1, overwrite_c=1)[0]
        pull -= np.outer(alpha / variance, alpha)
        value = 0.5 * count * np.log(variance) + logs
        slopes = np.empty(d + 1)
        slopes[-1] = 0.5 * nugget * np.trace(pull)
        pull *= half
        falling *= pull.T.reshape(-1)
        slopes[:-1] = 1.5 * inverse_squares * (squares @ falling)
        away = (theta[:-1] - prior) / 1.5
        value += 0.5 * float(away @ away)
        slopes[:-1] += away / 1.5
        return float(value), slopes

    start = np.append(np.full(d, prior), np.log(1e-2))
    bounds = [tuple(np.log(_LENGTHS))] * d + [(np.log(NUGGET), np.log(_MOST_NUGGET))]
    found = minimize(
        loss,
        start,
        jac=True,
        method="L-BFGS-B",
        bounds=bounds,
        options={"maxiter": 20, "ftol": _CLOSE},
    )
    theta: Array = found.x
    return theta
