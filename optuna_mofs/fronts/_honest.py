"""What to expect on new rows from the best of many trials, by a bootstrap of the choice.

BBC-CV (Tsamardinos, Greasidou and Borboudakis, 2018, *Bootstrapping the out-of-sample predictions
for efficient and accurate cross-validation*, Machine Learning 107): draw rows with replacement,
repeat the choice on the drawn rows, and take the loss of the chosen trial on the other rows, on
which it was not chosen. It needs the out-of-fold losses of all trials and no further fit. Arrays
only.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs.fronts._dominance import nondominated_mask
from optuna_mofs.fronts._picks import knee_index

#: Means that differ by less, relative to a typical one, are equal: losses are single precision.
_ROUNDING = 1e-5


class UnitLosses(NamedTuple):
    """Losses summed over units: single rows, or groups of rows that belong together.

    Attributes:
        sums: Trials × units: the weighted sum of the losses in each unit.
        weights: Sum of the weights in each unit.
        bound: The largest loss of a row, or None if some losses are negative.
    """

    sums: Array
    weights: Array
    bound: float | None

    @property
    def means(self) -> Floats:
        """Mean loss of each trial."""
        return self.sums.sum(axis=1, dtype=np.float64) / self.weights.sum()

    @property
    def standard_errors(self) -> Floats:
        """Standard error of the mean loss of each trial."""
        n_units = len(self.weights)
        deviations = self.sums - self.means[:, None] * self.weights
        squares = np.einsum("ij,ij->i", deviations, deviations)
        scale = n_units / max(n_units - 1, 1)
        return np.sqrt(scale * squares) / self.weights.sum()

    def as_sample_of(self, means: Floats, share: float) -> UnitLosses:
        """Return losses with the means and the standard errors of more units.

        A choice by few units is more a matter of luck than one by all of them. With smaller
        deviations from the known mean of all units, it varies as much as one by all.

        Args:
            means: Mean loss of each trial on all units.
            share: Number of these units, relative to all.
        """
        deviations = self.sums - self.means[:, None] * self.weights
        sums = np.outer(means, self.weights) + np.sqrt(share) * deviations
        return self._replace(sums=sums.astype(np.float32))


def unit_losses(
    losses: ArrayLike, *, groups: ArrayLike | None = None, weights: ArrayLike | None = None
) -> UnitLosses:
    """Sum losses over units.

    Args:
        losses: Trials × rows.
        groups: Group of each row. Rows of one group are drawn together. Default: each row alone.
        weights: Weight of each row in the mean. Default: 1.

    Example:
        >>> units = unit_losses([[0.0, 1.0, 1.0]], groups=[7, 7, 8])
        >>> units.sums.tolist(), units.weights.tolist(), units.means.round(3).tolist()
        ([[1.0, 1.0]], [2.0, 1.0], [0.667])
    """
    sums = np.asarray(losses, dtype=np.float32)
    weight = np.ones(sums.shape[1]) if weights is None else np.asarray(weights, dtype=np.float64)
    bound = None
    if sums.min(initial=0.0) >= 0.0:
        # Losses of 0 and 1 are bounded by 1, even if no trial makes an error.
        largest = float(sums.max(initial=0.0))
        bound = largest or 1.0
    if weights is not None:
        sums = sums * weight.astype(np.float32)
    if groups is not None:
        _, codes = np.unique(np.asarray(groups), return_inverse=True)
        order = np.argsort(codes, kind="stable")
        starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
        sums = np.add.reduceat(sums[:, order], starts, axis=1)
        weight = np.add.reduceat(weight[order], starts)
    return UnitLosses(sums, weight, bound)


def contenders(errors: Floats, sizes: Floats, margin: float, limit: int) -> Indices:
    """Return the trials that can be the best with at most their number of features, in order.

    Args:
        errors: Error of each trial.
        sizes: Number of features of each trial.
        margin: Maximum excess over the lowest error with at most as many features.
        limit: Maximum number of trials; those closest to the lowest error are returned.

    Example:
        >>> contenders(np.array([0.2, 0.5, 0.3]), np.array([3, 5, 1]), 0.1, 10).tolist()
        [0, 2]
    """
    order = np.lexsort((errors, sizes))
    with np.errstate(invalid="ignore"):
        gaps = errors[order] - np.minimum.accumulate(errors[order])
    closest = np.argsort(gaps, kind="stable")[:limit]
    return np.sort(order[closest[gaps[closest] <= margin]])


class Estimate(NamedTuple):
    """Loss on new rows of the trials that some rules choose.

    Attributes:
        values: Mean out-of-bag loss.
        standard_errors: Its standard error as an estimate of the loss on new rows.
        optimism: Its excess over the mean loss, on all rows, of the trial chosen on all rows.
    """

    values: Floats
    standard_errors: Floats
    optimism: Floats


class SelectionBootstrap:
    """Repeats the choice of a trial on bootstrap samples of the rows.

    A rule returns the position of the chosen trial for every sample; the first sample is all rows.
    :meth:`estimate` returns the loss of the chosen trials on the rows that are not in the sample.

    Args:
        units: Out-of-fold losses of the trials, at least two units.
        sizes: Number of features of each trial.
        n_bootstraps: Number of bootstrap samples.
        seed: Seed of the samples.

    Example:
        >>> rng = np.random.default_rng(1)
        >>> units = unit_losses(rng.random((200, 100)) < 0.5)  # 200 models that guess
        >>> bootstrap = SelectionBootstrap(units, np.ones(200), n_bootstraps=300, seed=0)
        >>> best = bootstrap.best_at_most()
        >>> round(float(units.means.min()), 2), bootstrap.estimate(best).values.round(2).tolist()
        (0.39, [0.52])
    """

    def __init__(
        self, units: UnitLosses, sizes: ArrayLike, *, n_bootstraps: int, seed: int
    ) -> None:
        size = np.asarray(sizes, dtype=np.float64)
        # Sorted by size, "at most k features" is a running minimum.
        self._order = np.argsort(size, kind="stable")
        self._sizes = size[self._order]
        self._sums = np.ascontiguousarray(units.sums[self._order])
        self._weights = units.weights.astype(np.float32)
        n_units = len(self._weights)
        rng = np.random.default_rng(seed)
        drawn = rng.integers(n_units, size=(n_bootstraps, n_units))
        drawn += n_units * np.arange(n_bootstraps)[:, None]
        counts = np.bincount(drawn.ravel(), minlength=n_bootstraps * n_units)
        counts = counts.reshape(n_bootstraps, n_units)
        # With very few units, a sample can contain all of them and leave nothing to test on.
        counts = counts[(counts == 0).any(axis=1)]
        self._counts = np.vstack([np.ones((1, n_units)), counts]).T.astype(np.float32)
        self._out = (self._counts[:, 1:] == 0).astype(np.float32)
        self._in_bag = self._sums @ self._counts
        self._in_bag /= self._weights @ self._counts
        # Rounded, so that the last bit of a mean does not decide.
        typical = np.abs(self._in_bag[:, 0])
        unit = _ROUNDING * float(np.median(typical) or typical.max(initial=0.0) or 1.0)
        np.round(self._in_bag / np.float32(unit), out=self._in_bag)
        self._in_bag *= np.float32(unit)
        self._last = np.flatnonzero(np.diff(self._sizes, append=np.inf))
        self._best = self._running_best()

    @property
    def sizes(self) -> Floats:
        """The numbers of features that occur, ascending."""
        return self._sizes[self._last]

    def _running_best(self) -> Indices:
        """Return the sorted row of the best trial with at most each size, sizes × samples."""
        lowest = np.minimum.accumulate(self._in_bag, axis=0)
        improves = np.ones(lowest.shape, dtype=np.bool_)
        np.less(lowest[1:], lowest[:-1], out=improves[1:])
        rows = np.arange(len(lowest), dtype=np.int32)[:, None]
        best = np.maximum.accumulate(np.where(improves, rows, np.int32(0)), axis=0)
        return best[self._last].astype(np.intp)

    def best_at_most(self) -> Indices:
        """Choose the best trial with at most k features; one row per entry of :attr:`sizes`.

        Ties are broken by fewer features, then by the first trial.
        """
        return self._order[self._best]

    def one_standard_error(self, floor: float = 0.0) -> Indices:
        """Choose the sparsest trial within one standard error of the best, but not size 0.

        Args:
            floor: Smallest standard error.
        """
        start = int(np.searchsorted(self.sizes, 0.0, side="right"))
        start = start if start < len(self.sizes) else 0
        columns = np.arange(self._in_bag.shape[1])
        best, inverse = np.unique(self._best[-1], return_inverse=True)
        means = self._in_bag[self._best[-1], columns].astype(np.float64)
        squares = _squares(self._sums[best], self._weights, self._counts, inverse, means)
        spread = np.sqrt(squares) / (self._weights @ self._counts)
        limits = means + np.maximum(spread, floor)
        errors = self._in_bag[self._best, columns]
        within = errors <= limits * (1.0 + 1e-6 * np.sign(limits))
        within[:start] = False
        within[-1] = True
        return self._order[self._best[within.argmax(axis=0), columns]]

    def knee(self, others: ArrayLike, *, constant: float = np.inf) -> Indices:
        """Choose the knee of the front of the in-bag error and other objectives.

        Args:
            others: Trials × other objectives, all minimized.
            constant: Error of the constant model. The empty set and trials that are no better
                are left out, unless there are no others.
        """
        # Only these can be on the front of two objectives.
        rows = np.unique(self._best)
        other = np.asarray(others, dtype=np.float64)[self._order[rows]]
        chosen = np.empty(self._in_bag.shape[1], dtype=np.intp)
        for column in range(len(chosen)):
            points = np.column_stack([self._in_bag[rows, column], other])
            front = nondominated_mask(points)
            filled = front & (self._sizes[rows] > 0)
            better = filled & (points[:, 0] < constant)
            kept = np.flatnonzero(better if better.any() else filled if filled.any() else front)
            chosen[column] = rows[kept[knee_index(points[kept])]]
        return self._order[chosen]

    def estimate(self, chosen: Indices) -> Estimate:
        """Return the loss on new rows of the trials that rules choose.

        Args:
            chosen: Rules × samples, as the rules return them; the first sample is all rows.
        """
        position = np.empty(len(self._order), dtype=np.intp)
        position[self._order] = np.arange(len(self._order))
        rows, inverse = np.unique(position[chosen], return_inverse=True)
        inverse = inverse.reshape(chosen.shape)
        n_units, n_samples = self._out.shape
        samples = np.arange(n_samples)
        losses = self._sums[rows]
        out_weight = (self._weights @ self._out).astype(np.float64)
        out = (losses @ self._out) / out_weight
        means = UnitLosses(losses, self._weights, None).means
        # Relative to the choice on all rows, whose mean loss is known: what both have in common
        # then does not depend on the samples.
        optimism = (out[inverse[:, 1:], samples] - out[inverse[:, 0]]).mean(axis=1)
        values = means[inverse[:, 0]] + optimism
        # Two estimates; the larger one has good coverage in simulations with known errors (see
        # the tests). First: the variation over the rows that the chosen trials were tested on.
        squares = _squares(losses, self._weights, self._out, inverse[:, 1:], values[:, None])
        mean_square = squares.sum(axis=1) / self._out.sum()
        scale = n_units / max(n_units - 1, 1)
        errors = np.sqrt(scale * mean_square * n_units) / self._weights.sum()
        # Second: the variation of the mean over the chosen trials, and of the trials around it. A
        # rule such as the knee may choose trials with very different errors.
        shares = np.zeros((len(chosen), len(rows)))
        np.add.at(shares, (np.arange(len(chosen))[:, None], inverse[:, 1:]), 1.0 / n_samples)
        spread = np.maximum(shares @ means**2 - (shares @ means) ** 2, 0.0)
        mixed = UnitLosses(shares @ losses, self._weights, None)
        errors = np.maximum(errors, np.sqrt(mixed.standard_errors**2 + spread))
        return Estimate(values, errors, optimism)


def _squares(
    sums: Array, weights: Array, counts: Array, chosen: Indices, centers: Floats
) -> Floats:
    """Return the sums of squared deviations of units from centers, for chosen trials per sample.

    Args:
        sums: Trials × units.
        weights: Weight of each unit.
        counts: Units × samples: how often each unit counts.
        chosen: Rows of ``sums``, one per sample in the last axis.
        centers: The center of each, of a shape that broadcasts to that of ``chosen``.
    """
    samples = np.arange(counts.shape[1])
    square = ((sums**2) @ counts)[chosen, samples].astype(np.float64)
    cross = ((sums * weights) @ counts)[chosen, samples].astype(np.float64)
    constant = (weights**2) @ counts
    return np.maximum(square - 2.0 * centers * cross + centers**2 * constant, 0.0)


class Interval(NamedTuple):
    """Lower and upper limits."""

    low: Floats
    high: Floats


def interval(
    values: ArrayLike,
    standard_errors: ArrayLike,
    n_units: int,
    *,
    bound: float | None,
    confidence: float = 0.95,
) -> Interval:
    """Return confidence intervals of mean losses.

    Losses in [0, ``bound``] have Wilson's interval, for the number of rows that gives this
    standard error: it stays inside the bounds, and even zero errors have an upper limit. Other
    losses have a symmetric interval. Both use quantiles of Student's t.

    Args:
        values: Mean losses.
        standard_errors: Their standard errors.
        n_units: Number of rows, or of groups of rows.
        bound: The largest loss; None for losses that can be negative.
        confidence: Probability to cover the loss on new rows.

    Example:
        >>> low, high = interval([0.0, 0.2], [0.0, 0.04], 100, bound=1.0)
        >>> low.round(3).tolist(), high.round(3).tolist()
        ([0.0, 0.133], [0.038, 0.29])
    """
    value = np.asarray(values, dtype=np.float64)
    error = np.asarray(standard_errors, dtype=np.float64)
    quantile = float(stdtrit(max(n_units - 1, 1), 0.5 + confidence / 2.0))
    if bound is None:
        return Interval(value - quantile * error, value + quantile * error)
    share = np.clip(value / bound, 0.0, 1.0)
    variance = share * (1.0 - share)
    with np.errstate(divide="ignore", invalid="ignore"):
        n_rows = np.where((variance > 0) & (error > 0), variance / (error / bound) ** 2, n_units)
    # A quotient of two tiny numbers need not be a plausible number of rows.
    penalty = quantile**2 / np.clip(n_rows, 1.0, 1e12)
    center = (share + penalty / 2.0) / (1.0 + penalty)
    half = np.sqrt(variance * penalty + penalty**2 / 4.0) / (1.0 + penalty)
    low, high = np.maximum(center - half, 0.0), np.minimum(center + half, 1.0)
    return Interval(bound * low + 0.0 * value, bound * high + 0.0 * value)
