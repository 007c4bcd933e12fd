"""Several objectives on one scale, and as one number (ParEGO, Knowles 2006)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import moocore
import numpy as np

from optuna_mofs._typing import Array

#: Weight of the sum in the augmented Tchebycheff norm.
RHO = 0.05
#: Weight vectors drawn for each that is taken while other trials run.
_TOO_MANY = 10
#: No weights ask for what is closer to the ideal point than this.
_CLOSEST = 1e-3


@dataclass(frozen=True)
class Scale:
    """Maps values to [0, 1] over the better half of the trials; worse ones come close to 2.

    ParEGO scales by the range of all points. One absurd value then squeezes all others together,
    so that every weight vector asks for the same point; here it only saturates.

    Args:
        low: Best value of each objective.
        span: From there to the worst of the better half.
    """

    low: Array
    span: Array

    @classmethod
    def of(cls, values: Array, violations: Array) -> Scale:
        """Learn the scale from finished trials (minimised; infinite values as huge numbers)."""
        finite = np.abs(values).max(axis=1) < 1e200
        usable = finite & (violations <= 0) if (finite & (violations <= 0)).any() else finite
        if not usable.any():
            return cls(np.zeros(values.shape[1]), np.ones(values.shape[1]))
        kept = values[usable]
        rank = ranks(kept)
        better = kept[rank <= np.sort(rank)[(len(kept) - 1) // 2]]
        low, high = kept.min(axis=0), better.max(axis=0)
        # One trial, or one value for all: a constant stays a constant.
        high = np.where(high > low, high, kept.max(axis=0))
        return cls(low, np.where(high > low, high - low, 1.0))

    def linear(self, values: Array) -> Array:
        """Scaled values, without a bound."""
        scaled: Array = (values - self.low) / self.span
        return scaled

    def raw(self, scaled: Array) -> Array:
        """The inverse of :meth:`linear`."""
        values: Array = self.low + self.span * scaled
        return values

    def __call__(self, values: Array, violations: Array) -> Array:
        """Scaled values; those of trials that violate a constraint are worse than all others."""
        scaled = np.clip(self.linear(values), -1.0, 50.0)
        scaled = np.where(scaled > 1, 2 - np.exp(1 - scaled), scaled)
        penalty = np.where(violations > 0, 1 + violations / (1 + violations), 0.0)
        bounded: Array = scaled + penalty[:, None]
        return bounded


def ranks(values: Array) -> Array:
    """Non-domination rank of each trial, 0 the best; with one objective the trials in order."""
    if values.shape[1] == 1:
        return np.argsort(np.argsort(values[:, 0], kind="stable"), kind="stable")
    found: Array = moocore.pareto_rank(values)
    return found


def weight_vector(number: int, count: int, offset: Array) -> Array:
    """Weights of the objectives for a trial, on the simplex.

    The trials' weights follow an additive sequence (Kronecker with the generalised golden ratio),
    whose stretches of any length are spread evenly over the simplex. Trials that run side by side
    have numbers close to each other, hence weights apart from each other: the stratification of
    Horn et al. (2015) without asking who is running.

    Args:
        number: The trial's number.
        count: Number of objectives.
        offset: Where the sequence starts, ``count - 1`` numbers in [0, 1).

    Example:
        >>> weight_vector(0, 2, np.array([0.25])).tolist()
        [0.75, 0.25]
    """
    weights = np.ones(count)
    if count > 1:
        place = (offset + number * _steps(count - 1)) % 1.0
        # Breaking a stick: uniform on the simplex, and points that are apart stay apart.
        left = np.cumprod(place ** (1 / np.arange(count - 1, 0, -1)))
        weights[1:] = left
        weights[:-1] -= left
    return weights


def gap_weights(front: Array, ideal: Array, place: float) -> Array | None:
    """Weights that ask for a place of a front of two objectives, or None if it is but a point.

    On a front that is bent as that of two error rates, weights drawn evenly ask for its middle
    nearly all the time. Here the mass of a gap between neighbours is the square root of its area,
    the density of the points that cover most hypervolume (Auger et al. 2009), and the weights are
    those under which the point at that part of the mass has the least norm. The front is thought
    to go on to the ideal point's best value of each objective, or its ends would never be passed.

    Args:
        front: Non-dominated values, points × 2.
        ideal: Point from which the norm is measured.
        place: Part of the front's mass, in [0, 1).

    Example:
        >>> front = np.array([[0.0, 1.0], [0.1, 0.1], [1.0, 0.0]])
        >>> gap_weights(front, np.full(2, -0.1), 0.75).round(2).tolist()
        [0.14, 0.86]
    """
    front = front[np.argsort(front[:, 0], kind="stable")]
    first, last = front[0], front[-1]
    room = np.maximum([first[0] - ideal[0], last[1] - ideal[1]], 0.0)
    before = first[0] - room[0], first[1] + room[0]
    after = last[0] + room[1], last[1] - room[1]
    front = np.vstack([before, front, after])
    sides = np.diff(front, axis=0)
    mass = np.sqrt(np.abs(sides).prod(axis=1))
    ends = np.cumsum(mass)
    if not len(ends) or not ends[-1] > 0:
        return None
    gap = min(int(np.searchsorted(ends, place * ends[-1])), len(ends) - 1)
    inside = 1 - (ends[gap] - place * ends[-1]) / max(mass[gap], 1e-12)
    target = front[gap] + inside * sides[gap]
    weights = 1 / np.maximum(target - ideal, _CLOSEST)
    normed: Array = weights / weights.sum()
    return normed


def weights_apart(number: int, draw: Callable[[int], Array], running: Array) -> Array:
    """Weights of the objectives for a trial, apart from those of the trials that run now.

    Several times too many are drawn and the one furthest from its nearest neighbour is taken, as
    Horn et al. (2015) do for the points of a batch. With many objectives the sequence alone
    leaves neighbours too close.

    Args:
        number: The trial's number.
        draw: Weights of a number.
        running: Weights of running trials, trials × objectives.

    Example:
        >>> def draw(number):
        ...     return weight_vector(number, 2, np.array([0.25]))
        >>> weights_apart(0, draw, np.array([[0.75, 0.25]])).round(2).tolist()
        [0.04, 0.96]
    """
    if not len(running):
        return draw(number)
    drawn = np.array([draw(number + k) for k in range(_TOO_MANY)])
    apart = np.abs(drawn[:, None] - running).sum(axis=2).min(axis=1)
    furthest: Array = drawn[int(apart.argmax())]
    return furthest


def sequence(number: int, offset: float) -> float:
    """The same kind of sequence in [0, 1)."""
    return float((offset + number * _steps(1)[0]) % 1.0)


def _steps(d: int) -> Array:
    ratio = 2.0
    for _ in range(30):  # the root of x^(d+1) = x + 1
        ratio = (1 + ratio) ** (1 / (d + 1))
    steps: Array = ratio ** -np.arange(1.0, d + 1)
    return steps


def tchebycheff(values: Array, weights: Array, rho: float = RHO) -> Array:
    """Augmented Tchebycheff norm of scaled values: ``max(w y) + rho sum(w y)``.

    Example:
        >>> tchebycheff(np.array([[0.2, 0.8]]), np.array([0.5, 0.5]), rho=0.0).tolist()
        [0.4]
    """
    weighted = values * weights
    norm: Array = weighted.max(axis=1) + rho * weighted.sum(axis=1)
    return norm
