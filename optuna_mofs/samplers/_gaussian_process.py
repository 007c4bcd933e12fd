"""Gaussian processes on arrays: kernel, likelihood, prediction, and what to fit them to."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.linalg.blas import strmm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, dtrtri, dtrtrs
from scipy.optimize import minimize
from scipy.special import ndtri

from optuna_mofs._typing import Array

T = TypeVar("T")

#: Bounds of the length scales.
_LENGTH_SCALES = (0.03, 10.0)
#: Standard deviation of the logarithms of the length scales in their prior.
_PRIOR_SD = 1.5


def matern32(r: Array) -> tuple[Array, Array]:
    """Return the Matérn 3/2 kernel ``(1 + r) exp(-r)``, and ``exp(-r)`` for its derivative.

    ``r`` are distances times the square root of 3; the kernel overwrites them.

    Example:
        >>> matern32(np.array([0.0, 1.0]))[0].round(3).tolist()
        [1.0, 0.736]
    """
    decay = np.negative(r)
    np.exp(decay, out=decay)
    r += 1
    r *= decay
    return r, decay


def _solve_constant_mean(factor: Array, z: Array) -> tuple[float, float, Array, Array]:
    """Return mean and variance of maximum likelihood, and two solved systems.

    ``factor`` is the lower Cholesky factor of the correlation matrix, which is solved for the
    values less the mean and for ones.
    """
    # LAPACK directly: SciPy's wrappers take longer than the computation.
    solved = dpotrs(factor, np.column_stack([z, np.ones(len(z))]), lower=1)[0]
    ones = solved[:, 1]
    mean = float((ones @ z) / ones.sum())
    alpha = solved[:, 0] - mean * ones
    return mean, float((z - mean) @ alpha) / len(z), alpha, ones


def fit_length_scales(
    squares: Array,
    z: Array,
    *,
    nugget: tuple[float, float] = (1e-4, 1.0),
    initial_nugget: float = 0.1,
    max_iterations: int = 15,
    tolerance: float = 2.2e-9,
    noise: Array | float = 0.0,
) -> Array:
    """Return logarithms of the length scale of each part and of the nugget.

    They maximize the likelihood of a process with constant mean and Matérn 3/2 kernel. A weak
    prior keeps the length scales reasonable while there are few points: about half the range,
    more if there are many parts, because distances are larger then.

    Args:
        squares: Squared distances between the points by part: parts × points × points.
        z: Values at the points.
        nugget: Bounds of the nugget, as a fraction of the variance.
        initial_nugget: Nugget at which the optimization starts.
        max_iterations: Maximum number of iterations.
        tolerance: Relative gain in likelihood below which the optimization ends.
        noise: What is added to the nugget of each point.
    """
    parts, count, _ = squares.shape
    flat = squares.reshape(parts, -1)
    diagonal = slice(None, None, count + 1)
    # LAPACK fills only the lower triangle; the other half is its mirror image.
    half = np.asfortranarray(np.tril(np.full((count, count), 2.0), -1) + np.eye(count))
    prior = np.log(0.5 * np.sqrt(parts))

    def loss(theta: Array) -> tuple[float, Array]:
        weights, common = np.exp(-2 * theta[:-1]), np.exp(theta[-1])
        r = (3 * weights) @ flat
        kernel, decay = matern32(np.sqrt(r, out=r))
        kernel[diagonal] += common + noise
        factor, failed = dpotrf(kernel.reshape(count, count).T, lower=1, overwrite_a=1)
        if failed:
            return 1e10, np.zeros(parts + 1)
        log_determinant = np.log(factor.diagonal()).sum()
        _, variance, alpha, _ = _solve_constant_mean(factor, z)
        variance = max(variance, 1e-12)
        inner = dpotri(factor, lower=1, overwrite_c=1)[0]
        inner -= np.outer(alpha / variance, alpha)
        gradient = np.empty(parts + 1)
        gradient[-1] = 0.5 * common * np.trace(inner)
        inner *= half
        decay *= inner.T.reshape(-1)
        gradient[:-1] = 1.5 * weights * (flat @ decay)
        away = (theta[:-1] - prior) / _PRIOR_SD
        gradient[:-1] += away / _PRIOR_SD
        value = 0.5 * count * np.log(variance) + log_determinant + 0.5 * float(away @ away)
        return float(value), gradient

    found = minimize(
        loss,
        np.append(np.full(parts, prior), np.log(initial_nugget)),
        jac=True,
        method="L-BFGS-B",
        bounds=[tuple(np.log(_LENGTH_SCALES))] * parts + [tuple(np.log(nugget))],
        options={"maxiter": max_iterations, "ftol": tolerance},
    )
    return found.x


class GaussianProcess:
    """A Gaussian process with constant mean and Matérn 3/2 kernel, on given squared distances.

    ``scales`` is the result of :func:`fit_length_scales`.
    """

    def __init__(self, squares: Array, z: Array, scales: Array) -> None:
        self._weights = np.exp(-2 * scales[:-1])
        K = self._kernel(squares)
        K[np.diag_indices_from(K)] += np.exp(scales[-1])
        self._factor = dpotrf(K, lower=1, clean=0)[0]
        self._mean, variance, self._alpha, _ = _solve_constant_mean(self._factor, z)
        self._variance = max(variance, 1e-6)

    def predict(self, squares: Array) -> tuple[Array, Array]:
        """Return mean and standard deviation at other points, given their squared distances."""
        k = self._kernel(squares)
        half = dtrtrs(self._factor, k.T, lower=1)[0]
        left = np.maximum(1.0 - np.einsum("ij,ij->j", half, half), 1e-6)
        mean: Array = self._mean + k @ self._alpha
        return mean, np.sqrt(self._variance * left)

    def _kernel(self, squares: Array) -> Array:
        flat = self._weights @ squares.reshape(len(squares), -1)
        return matern32(np.sqrt(3.0 * flat))[0].reshape(squares.shape[1:])


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

    def squared_distances(self, others: Points) -> Array:
        """Return squared distances by part: parts × these points × the others."""
        a, b = self.rows.T[:, :, None], others.rows.T[:, None, :]
        parts = (a - b) ** 2
        missing = np.isnan(parts)
        parts[self.categorical] = parts[self.categorical] != 0
        if missing.any():
            # A parameter that is active in only one of the two points counts as distance 1.
            parts = np.where(missing, np.isnan(a) != np.isnan(b), parts)
        if self.masks is None or others.masks is None:
            return parts
        return np.concatenate([parts, _mask_distances(self.masks, others.masks)])


def _mask_distances(a: Array, b: Array) -> Array:
    """Return the Jaccard distance and the squared difference of log sizes, as two parts."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    both = (x @ y.T).astype(float)
    m, n = a.sum(axis=1)[:, None], b.sum(axis=1)[None, :]
    either = np.maximum(m + n - both, 1.0)
    sizes = (np.log1p(m) - np.log1p(n)) / np.log1p(a.shape[1])
    return np.stack([1.0 - np.where(m + n > 0, both / either, 1.0), sizes**2])


#: Bounds of the nugget: from the paper's value up to one for noisy values, such as
#: cross-validated errors.
_NUGGET = (1e-4, 0.3)
#: Maximum number of rows that predictions are made from.
_MAX_ROWS = 200
#: Value that replaces an inactive number.
_CENTER = 0.5


@dataclass(frozen=True)
class SplitInputs:
    """Inputs of a surrogate: own columns of each row, and feature sets that rows can share.

    Args:
        own: Rows × columns.
        sets: Distinct sets × embedded features, or None without feature sets.
        index: Position of each row's set in ``sets``; None if each row has its own.
    """

    own: Array
    sets: Array | None = None
    index: Array | None = None

    def joined(self) -> Array:
        """Return all columns of each row."""
        if self.sets is None:
            return self.own
        return np.hstack([self.own, self.sets if self.index is None else self.sets[self.index]])

    def __getitem__(self, rows: Any) -> SplitInputs:
        if self.sets is None:
            return SplitInputs(self.own[rows])
        return SplitInputs(
            self.own[rows], self.sets[rows if self.index is None else self.index[rows]]
        )

    @classmethod
    def joined_rows(cls, first: SplitInputs, second: SplitInputs) -> SplitInputs:
        """Return the rows of both, each of which has its own set."""
        own = np.concatenate([first.own, second.own])
        if first.sets is None or second.sets is None:
            return cls(own)
        return cls(own, np.concatenate([first.sets, second.sets]))

    @classmethod
    def of(cls, X: Array | SplitInputs) -> SplitInputs:
        """Return plain columns as inputs without feature sets."""
        return X if isinstance(X, SplitInputs) else cls(X)

    def squared_distances(self, others: SplitInputs) -> Array:
        """Return rows × others; each of the others has its own set."""
        square = _squares(self.own, others.own)
        if self.sets is not None and others.sets is not None:
            shared = _squares(self.sets, others.sets)
            square += shared if self.index is None else shared[self.index]
        return square


class OrdinaryKriging:
    """A Gaussian process with estimated constant mean, on columns of numbers.

    Horn and Bischl (2016), section III A: Matérn 3/2 kernel, one length scale per column by
    maximum likelihood, and a small nugget. Predictions use at most 200 rows, see
    :func:`representative_subset`, so that their cost stays bounded; length scales that are not
    given are estimated from at most 100. Predictions are computed in single precision, whose
    error is far below the nugget.

    An inactive number (NaN) is replaced by the center of its range. A value outside the range,
    which suits a forest, would separate the trials of different learners, and effects that all
    learners share would have to be learned for each of them.

    Args:
        scales: Logarithms of the length scales and of the nugget, if known; see
            :func:`fit_column_scales`.
        plain: Whether it is as in the papers: a nugget of 1e-4, and all rows.

    Example:
        >>> X = np.linspace(0, 1, 9)[:, None]
        >>> model = OrdinaryKriging().fit(X, np.sin(6 * X[:, 0]))
        >>> mean, sd = model.predict(np.array([[0.5], [0.55]]))
        >>> bool(abs(mean[0] - np.sin(3)) < 0.01 and sd[0] < sd[1])
        True
    """

    def __init__(self, scales: Array | None = None, *, plain: bool = False) -> None:
        self._scales = scales
        self._plain = plain

    def fit(
        self, X: Array | SplitInputs, y: Array, variances: Array | None = None
    ) -> OrdinaryKriging:
        """Fit the process to rows, the best first; some values can vary more than the others."""
        variances = np.zeros(len(y)) if variances is None else variances
        inputs, scales = SplitInputs.of(X), self._scales
        if scales is None and self._plain:
            nugget = (_NUGGET[0], _NUGGET[0])
            scales = fit_column_scales(inputs, y, variances, n_max=len(y), nugget=nugget)
        elif scales is None:
            scales = fit_column_scales(inputs, y, variances, n_max=100)
        self._center, self._spread = float(y.mean()), float(y.std()) or 1.0
        z = (y - self._center) / self._spread
        self._lengths = np.exp(scales[:-1])
        n_max = len(z) if self._plain else _MAX_ROWS
        subset = representative_subset(np.arange(len(z)), n_max, n_max // 2)
        inputs = self._scaled(inputs[subset], float)
        K = self._kernel(inputs, inputs)
        noise = variances[subset] / self._spread**2
        K[np.diag_indices_from(K)] += float(np.exp(scales[-1])) + noise
        factor = dpotrf(K, lower=1)[0]
        self._mean, variance, alpha, ones = _solve_constant_mean(factor, z[subset])
        self._variance = max(variance, 1e-12)
        self._sum = float(ones.sum())
        # Right-hand sides used by predict().
        self._right = np.column_stack([alpha, ones]).astype(np.float32)
        # A product with the inverse takes a third of the time of solving.
        self._inverse = np.asfortranarray(dtrtri(factor, lower=1)[0], dtype=np.float32)
        own, sets = inputs.own.astype(np.float32), inputs.sets
        self._inputs = SplitInputs(own, None if sets is None else sets.astype(np.float32))
        return self

    def predict(self, X: Array | SplitInputs) -> tuple[Array, Array]:
        """Return mean and standard deviation of each row."""
        inputs = self._scaled(SplitInputs.of(X), np.float32)
        k = self._kernel(inputs, self._inputs)
        right = k @ self._right
        # The transpose is in Fortran order, so that nothing is copied.
        half = strmm(1.0, self._inverse, k.T, lower=1, overwrite_b=1)
        # The last term accounts for the estimated mean (ordinary kriging).
        left = 1 - np.einsum("ij,ij->j", half, half) + (1 - right[:, 1]) ** 2 / self._sum
        sd = np.sqrt(self._variance * np.maximum(left, 1e-6))
        mean = self._mean + right[:, 0].astype(float)
        return self._center + self._spread * mean, self._spread * sd

    def _scaled(self, inputs: SplitInputs, dtype: Any) -> SplitInputs:
        own, sets = np.where(np.isnan(inputs.own), _CENTER, inputs.own), inputs.sets
        if sets is None:
            return SplitInputs((own / self._lengths).astype(dtype))
        # Sets are embedded in single precision, which takes half the time.
        length = np.float32(self._lengths[-1])
        own = (own / self._lengths[:-1]).astype(dtype)
        return SplitInputs(own, sets.astype(np.float32, copy=False) / length, inputs.index)

    @staticmethod
    def _kernel(A: SplitInputs, B: SplitInputs) -> Array:
        r = A.squared_distances(B)
        r *= r.dtype.type(3.0)
        return matern32(np.sqrt(r, out=r))[0]


def fit_column_scales(
    X: Array | SplitInputs,
    y: Array,
    variances: Array | None = None,
    *,
    n_max: int = 250,
    nugget: tuple[float, float] = _NUGGET,
) -> Array:
    """Return logarithms of the length scale of each column and of the nugget.

    The rows are sorted, the best first, and at most ``n_max`` of them are used. Feature sets have
    one length scale. ``nugget`` holds the bounds of the nugget.
    """
    chosen = representative_subset(np.arange(len(y)), n_max, n_max // 2)
    inputs, z = SplitInputs.of(X)[chosen], y[chosen]
    own = np.where(np.isnan(inputs.own), _CENTER, inputs.own).T
    squares: Array = (own[:, :, None] - own[:, None, :]) ** 2
    if inputs.sets is not None:
        squares = np.concatenate([squares, _squares(inputs.sets, inputs.sets)[None]])
    return fit_length_scales(
        squares,
        (z - z.mean()) / (z.std() or 1.0),
        nugget=nugget,
        initial_nugget=float(np.clip(1e-2, *nugget)),
        max_iterations=20,
        tolerance=1e-3,
        noise=0.0 if variances is None else variances[chosen] / (z.var() or 1.0),
    )


def _squares(A: Array, B: Array) -> Array:
    """Return squared Euclidean distances."""
    square: Array = A @ (-2 * B.T)
    square += np.einsum("ij,ij->i", A, A)[:, None]
    square += np.einsum("ij,ij->i", B, B)
    return np.maximum(square, 0.0, out=square)


def normal_scores(values: Array) -> Array:
    """Return values as quantiles of the normal distribution, which is robust to outliers.

    Example:
        >>> normal_scores(np.array([3.0, 1e9, 2.0])).round(2).tolist()
        [0.0, 0.97, -0.97]
    """
    _, which, counts = np.unique(values, return_inverse=True, return_counts=True)
    # Ties share the middle of their ranks.
    middle = np.cumsum(counts) - 0.5 * counts
    return ndtri(middle / len(values))[which]


def representative_subset(ranking: Array, n_max: int, n_best: int) -> Array:
    """Return at most ``n_max`` positions: the first ``n_best``, and an even spread of the others.

    ``ranking`` has the best position first. If ``n_best`` exceeds ``n_max``, the best ones are
    spread too.

    Example:
        >>> representative_subset(np.arange(10), 5, 2).tolist()
        [0, 1, 2, 5, 9]
    """
    if len(ranking) <= n_max:
        return ranking
    best = _even_spread(ranking[:n_best], n_max)
    return np.concatenate([best, _even_spread(ranking[n_best:], n_max - len(best))])


def _even_spread(positions: Array, count: int) -> Array:
    if len(positions) <= count:
        return positions
    return positions[np.linspace(0, len(positions) - 1, count).astype(np.int64)]


class RefitSchedule:
    """Refit, for example length scales, only when the number of trials has grown by a factor.

    A resumed study must get the same fit: it may depend on the first trials only.

    Args:
        n_always: Up to this number of trials, fit for every proposal.
        growth: Above it, refit when the number of trials has grown by this factor.

    Example:
        >>> schedule = RefitSchedule()
        >>> n_trials = (7, 8, 10, 11, 100)
        >>> [schedule.fitted("count", np.arange(n), lambda count: count) for n in n_trials]
        [7, 8, 8, 11, 85]
    """

    def __init__(self, *, n_always: int = 8, growth: float = 1.3) -> None:
        self._n_always = n_always
        self._growth = growth
        self._fits: dict[Hashable, tuple[Any, Any]] = {}

    def fitted(
        self, name: Hashable, numbers: Array, fit: Callable[[int], T], *, depends_on: Any = None
    ) -> T:
        """Return the last fit, or a new one if it is due.

        Args:
            name: Name of the fit.
            numbers: Trial numbers. A trial that completes late can be among the first.
            fit: Function of the number of first trials to fit to.
            depends_on: Other inputs of the fit, such as the ranges of the parameters.
        """
        n_steps = np.log(max(1.0, len(numbers) / self._n_always)) / np.log(self._growth)
        last_refit = self._n_always * self._growth ** np.floor(n_steps + 1e-9)
        count = min(len(numbers), int(np.ceil(last_refit - 1e-9)))
        key = numbers[:count].tobytes(), depends_on
        if name not in self._fits or self._fits[name][0] != key:
            self._fits[name] = key, fit(count)
        return self._fits[name][1]
