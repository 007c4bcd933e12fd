"""Acquisition functions: confidence bound, expected improvement, penalty, larger sets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from optuna_mofs._typing import Array
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData

Criterion = Callable[[Array, Array, float], Array]


@dataclass(frozen=True)
class LowerConfidenceBound:
    """``mean - weight * sd``, the paper's choice.

    Args:
        weight: How much uncertainty attracts (lambda in the paper).
    """

    weight: float = 1.0

    def __call__(self, mean: Array, sd: Array, best: float) -> Array:
        """The bound."""
        bound: Array = mean - self.weight * sd
        return bound


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Minus the expected improvement on the best target seen (Jones et al. 1998).

    Example:
        >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 0.0).round(3).tolist()
        [-0.399, -0.083]
    """
    sd = np.maximum(sd, 1e-12)
    u = (best - mean) / sd
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    improvement: Array = sd * (u * ndtr(u) + density)
    return -improvement


#: Sizes of one look differ from its middle by at most this factor.
_WIDTH = 1.25
#: Looks, from the start on, that are taken whatever the model says.
_SURE = 2
#: Later ones are taken if so many standard deviations could make a set better than all.
_HOPE = LowerConfidenceBound(2.0)
#: More than any bound.
_OUTSIDE = 100.0
#: Bounds of all objectives at configurations.
Bounds = Callable[[EncodedBatch, LowerConfidenceBound], Array]


def is_look(step: int) -> bool:
    """Whether a trial looks beyond: the 1st, 2nd, 3rd, 5th, 9th, 17th and so on after the start.

    Args:
        step: Trials since the start.

    Example:
        >>> [step for step in range(40) if is_look(step)]
        [0, 1, 2, 4, 8, 16, 32]
    """
    return step >= 0 and step & (step - 1) == 0


class LargerSetAcquisition:
    """The best error that a model promises among sets larger than that of the least error so far.

    Large sets need hyperparameters of their own. If no trial of the start had both, the model
    thinks that large sets are bad, and as they cost most, no weights and no gain ever lead there:
    some runs stayed at a handful of features where thirty had half the error. A look asks for the
    least error among sets of a given size (the epsilon-constraint method).

    Args:
        view: The history.
        bounds: Bounds of the surrogates.
        bound: The bound by which candidates are judged.
        place: Which size, from 0 (just beyond the end of the front) to 1 (all features).
    """

    def __init__(
        self, view: TrainingData, bounds: Bounds, bound: LowerConfidenceBound, place: float
    ) -> None:
        self._unknown = view.unknown
        self._bounds = bounds
        self._bound = bound
        self._best = self._of(view.seen, LowerConfidenceBound(0.0)).min()
        end, most = _end(view), view.most_features
        middle = end * _WIDTH * (most / (end * _WIDTH)) ** place
        low = max(end + 1, int(np.ceil(middle / _WIDTH)))
        #: Least and largest number of features.
        self.sizes = low, max(low, min(most, int(middle * _WIDTH)))

    @staticmethod
    def is_possible(view: TrainingData) -> bool:
        """Whether size is an objective beside one that needs a model, and larger sets are left."""
        modeled = len(view.unknown)
        if view.seen.sizes is None or not 0 < modeled < view.values.shape[1]:
            return False
        return _end(view) * _WIDTH <= view.most_features

    def __call__(self, seen: EncodedBatch) -> Array:
        """What candidates promise, the lower the better; those of other sizes come last."""
        assert seen.sizes is not None
        low, high = self.sizes
        off = np.maximum(low - seen.sizes, 0) + np.maximum(seen.sizes - high, 0)
        return np.where(off > 0, _OUTSIDE + off, self._of(seen, self._bound))

    def is_worth_it(self, step: int, seen: EncodedBatch) -> bool:
        """Whether the best found shall be tried."""
        return step < _SURE or bool(self._of(seen, _HOPE)[0] < self._best)

    def _of(self, seen: EncodedBatch, bound: LowerConfidenceBound) -> Array:
        found: Array = self._bounds(seen, bound)[:, self._unknown].mean(axis=1)
        return found


def _end(view: TrainingData) -> int:
    """Number of features of the best trial by what needs a model, at least one."""
    assert view.seen.sizes is not None
    error = view.values[:, view.unknown].mean(axis=1)
    return max(1, int(view.seen.sizes[np.lexsort((view.seen.sizes, error))[0]]))


def penalty(points: Array, front: Array, epsilon: Array) -> Array:
    """How far points lie behind the front; -1 where no member epsilon-dominates them."""
    if not len(front):
        return np.full(len(points), -1.0)
    held = np.ones((len(points), len(front)), dtype=bool)
    depth = np.ones(held.shape)
    # By objective: sums over a short last axis take longer than all the rest.
    for at, members, margin in zip(points.T, front.T, epsilon):
        behind = at[:, None] - members
        held &= behind >= -margin
        depth *= 1 + np.maximum(behind, 0.0, out=behind)
    # Held by epsilon alone: no better than a point on the front.
    depth = np.where(held, np.maximum(depth - 1, 1e-9), -1.0)
    worst: Array = depth.max(axis=1)
    return worst


def tolerance(front: Array, left: int) -> Array:
    """Epsilon of each objective: the front's range over its size now and to come.

    Args:
        front: Non-dominated values.
        left: Number of trials still to come.
    """
    share = 1 - 0.5 ** front.shape[1]
    epsilon: Array = np.ptp(front, axis=0) / (len(front) + share * left)
    return epsilon
