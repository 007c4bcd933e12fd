"""Kriging with a Matérn 3/2 kernel and a nugget, for few columns."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.blas import strmm
from scipy.linalg.lapack import dtrtri

from optuna_mofs._typing import Array
from optuna_mofs.samplers.gaussian.likelihood import most_likely

#: From the paper's nugget to one for rough values, such as cross-validated errors.
_NUGGETS = (1e-4, 0.3)
#: Points that predictions are made from.
_KEEP = 400
#: Points that scales are estimated from for each model anew.
_LEARN = 100
#: Where an inactive number is put.
_MIDDLE = 0.5
#: Relative gain in likelihood below which the search for scales ends.
_CLOSE = 1e-3


class Kriging:
    """A Gaussian process with constant mean; scale of each column by maximum likelihood.

    Horn and Bischl (2016), section III A: Matérn 3/2 and a small nugget. Predictions are made from
    at most 400 rows, half of them the first and the others a spread of the rest, so that the cost
    stays flat: where there are more, the best are to come first. Scales that are not given are
    estimated from at most 100 rows in the same way. Predictions are in single precision, which
    errs far less than the nugget.

    An inactive number (NaN) is put into the middle of its range. Outside of it, as a forest needs
    it, all that belongs to another learner would be far away, and what all learners have in common
    would be learned for each of them anew.

    Args:
        together: The last so many columns have one scale.
        scales: Logarithms of the scales and of the nugget, if known (see :func:`likely_scales`).

    Example:
        >>> X = np.linspace(0, 1, 9)[:, None]
        >>> model = Kriging().fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5], [0.55]]))
        >>> bool(abs(mean[0] - np.sin(3)) < 0.01 and sd[0] < sd[1])
        True
    """

    def __init__(self, together: int = 0, scales: Array | None = None) -> None:
        self._together = together
        self._scales = scales

    def fit(self, X: Array, y: Array) -> Kriging:
        """Estimate scales that are not given, and prepare predictions."""
        scales = self._scales
        if scales is None:
            scales = likely_scales(X, y, together=self._together, most=_LEARN)
        X = _filled(X)
        self._center, self._spread = float(y.mean()), float(y.std()) or 1.0
        z = (y - self._center) / self._spread
        own = X.shape[1] - self._together
        self._lengths = np.exp(scales[np.minimum(np.arange(X.shape[1]), own)])
        nugget = float(np.exp(scales[-1]))
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
        # Once inverted, every prediction is a product, in a third of the time of solving.
        self._inverse = np.asfortranarray(dtrtri(factor, lower=1)[0], dtype=np.float32)
        self._X = self._X.astype(np.float32)
        return self

    def predict(self, X: Array) -> tuple[Array, Array]:
        """Mean and standard deviation."""
        at = (_filled(X) / self._lengths).astype(np.float32)
        k = _matern(_distances(at, self._X))
        right = k @ self._right
        # The transpose is Fortran's order, so that nothing is copied.
        half = strmm(1.0, self._inverse, k.T, lower=1, overwrite_b=1)
        # The last term: the mean is estimated too (ordinary kriging).
        left = 1 - np.einsum("ij,ij->j", half, half) + (1 - right[:, 1]) ** 2 / self._sum
        sd = np.sqrt(self._variance * np.maximum(left, 1e-6))
        mean = self._mean + right[:, 0].astype(float)
        return self._center + self._spread * mean, self._spread * sd


def likely_scales(X: Array, y: Array, *, together: int = 0, most: int = 250) -> Array:
    """Logarithms of the scale of each column and of the nugget, by maximum likelihood.

    Args:
        X: Rows, the best first.
        y: Targets.
        together: The last so many columns have one scale.
        most: At most so many rows are used, half of them the first.
    """
    few = _representative(len(y), most)
    z = y[few]
    return most_likely(
        _squares(_filled(X[few]), together),
        (z - z.mean()) / (z.std() or 1.0),
        nugget=_NUGGETS,
        first=1e-2,
        iterations=20,
        close=_CLOSE,
    )


def _filled(X: Array) -> Array:
    missing = np.isnan(X)
    return np.where(missing, _MIDDLE, X) if missing.any() else X


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


def _squares(X: Array, together: int) -> Array:
    """Squared distances by column; the last ones as one, if they belong together."""
    own = X.shape[1] - together
    squares: Array = (X.T[:own, :, None] - X.T[:own, None, :]) ** 2
    if not together:
        return squares
    apart = _distances(X[:, own:], X[:, own:])
    return np.concatenate([squares, apart[None] ** 2])
