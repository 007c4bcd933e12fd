"""Gaussian processes on mixed spaces: distances, kernel, likelihood, prediction."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg import cho_solve, cholesky
from scipy.linalg.blas import strmm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri, dtrtrs
from scipy.optimize import minimize
from scipy.special import ndtri

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History


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


#: Bounds of the length scales.
_LENGTHS = (0.03, 10.0)


def fit_length_scales(
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


T = TypeVar("T")


class RefitSchedule:
    """Learns anew only when trials are some times as many, such as length scales.

    Whoever reads the history later must learn the same: what is learned may depend on nothing but
    the first trials.

    Args:
        first: Up to so many trials everything is learned for each proposal.
        again: Then when there are this many times as many.
    """

    def __init__(self, *, first: int = 8, again: float = 1.3) -> None:
        self._first = first
        self._again = again
        self._kept: dict[Hashable, tuple[Any, Any]] = {}

    def of(
        self, history: History, name: Hashable, learn: Callable[[int], T], *, form: Any = None
    ) -> T:
        """What was learned last, or is learned now.

        Args:
            history: The trials.
            name: Of what is learned.
            learn: Learns from the first trials, of which it is told the number.
            form: How trials are shown to a model, if that can change from trial to trial.
        """
        count = learned_from(len(history), first=self._first, again=self._again)
        # Trials that end late can be among the first; a range that grows moves what lies in it.
        key = history.numbers[:count].tobytes(), history.space.distributions, form
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = key, learn(count)
        found: T = self._kept[name][1]
        return found


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
        K = _kriging_matern(_distances(self._X, self._X))
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
        k = _kriging_matern(_distances(at, self._X))
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
    return fit_length_scales(
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


def _kriging_matern(r: Array) -> Array:
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
