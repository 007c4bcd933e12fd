"""The S-metric gain of SMS-EGO (Ponweiser, Wagner, Biermann, Vincze 2008)."""

from __future__ import annotations

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.model_based._acquisition import penalty
from optuna_mofs.samplers.model_based._sampler import Learned, ModelBasedSampler
from optuna_mofs.samplers.model_based._training_data import TrainingData

#: Random points that estimate the gain with more than three objectives.
_DRAWS = 2000


def gain(points: Array, front: Array, reference: Array, epsilon: Array) -> Array:
    """How much each point adds to the dominated hypervolume; a penalty where it adds nothing.

    A point that a member of the front dominates, or would but for less than ``epsilon``, is
    refused: its value is ``1 - prod(1 + max(0, y - f))`` of the member from which it is furthest
    (section 3.2 there), which still leads the search back to the front.

    Args:
        points: Points × objectives: optimistic predictions, minimized.
        front: Non-dominated values.
        reference: Reference point.
        epsilon: Additive tolerance of each objective.

    Example:
        >>> front = np.array([[0.0, 1.0], [1.0, 0.0]])
        >>> gain(np.array([[0.5, 0.5], [1.0, 1.0]]), front, np.full(2, 2.0), np.zeros(2)).tolist()
        [0.25, -1.0]
    """
    found = -penalty(points, front, epsilon)
    free = np.flatnonzero(found >= 0)
    if len(free):
        found[free] = hypervolume_gain(points[free], front, reference)
    return found


def hypervolume_gain(points: Array, front: Array, reference: Array) -> Array:
    """Hypervolume that each point adds to that of the front."""
    inside = front[(front < reference).all(axis=1)]
    m = points.shape[1]
    if m == 1:
        best = min([float(reference[0]), *inside[:, 0]])
        below: Array = np.maximum(best - points[:, 0], 0.0)
        return below
    if m == 2:
        return _gain_2d(points, inside, reference)
    if m == 3:
        return _gain_3d(points, inside, reference)
    return _estimated_gain(points, inside, reference)


def _gain_2d(points: Array, front: Array, reference: Array) -> Array:
    """Exact: strips between the members of the front, all points at once."""
    front = moocore.filter_dominated(front) if len(front) > 1 else front
    front = front[np.argsort(front[:, 0])]
    edges = np.concatenate([front[:, 0], reference[:1]])  # right ends of the strips
    tops = np.concatenate([reference[1:], front[:, 1]])
    left = np.maximum(points[:, :1], np.concatenate([[-np.inf], edges[:-1]]))
    area: Array = np.einsum(
        "ij,ij->i", np.maximum(edges - left, 0.0), np.maximum(tops - points[:, 1:], 0.0)
    )
    return area


def _gain_3d(points: Array, front: Array, reference: Array) -> Array:
    """Exact: slabs along the third objective, in each the gain in the plane."""
    front = front[np.argsort(front[:, 2])]
    ends = np.concatenate([front[:, 2], reference[2:]])
    volume = np.zeros(len(points))
    start = -np.inf
    for k, end in enumerate(ends):
        height = np.maximum(end - np.maximum(points[:, 2], start), 0.0)
        above = np.flatnonzero(height > 0)
        if len(above):
            plane = _gain_2d(points[above, :2], front[:k, :2], reference[:2])
            volume[above] += height[above] * plane
        start = end
    return volume


def _estimated_gain(points: Array, front: Array, reference: Array) -> Array:
    """Estimate: the share of random points that each point would be the first to dominate."""
    low = np.minimum(points.min(axis=0), reference)
    draws = low + (reference - low) * np.random.default_rng(0).random((_DRAWS, points.shape[1]))
    open_ = draws
    for member in front:
        open_ = open_[~(member <= open_).all(axis=1)]
    share = np.array([np.count_nonzero((point <= open_).all(axis=1)) for point in points])
    volume: Array = share / _DRAWS * np.prod(reference - low)
    return volume


class SMSEGOSampler(ModelBasedSampler):
    """Model-based search that takes the step with the largest gain of hypervolume.

    Ponweiser et al. (2008), on mixed and conditional spaces as Horn and Bischl (2016) do it: one
    surrogate an objective; the gain in hypervolume of a candidate's confidence bounds, with a
    penalty for those that the front dominates or nearly does. The gain is exact for two and three
    objectives, estimated for more. Trials that run at the same time count with their bounds, so
    that workers do not crowd one place of the front. What was changed against the papers is in
    ``docs/samplers/model_based.md``.

    Args:
        **shared: See :class:`ModelBasedSampler`. With ``n_trials`` the tolerance of the penalty
            shrinks towards the end; without it as many trials are thought to be left as are
            finished.

    Example:
        >>> import optuna
        >>> from optuna_mofs import SMSEGOSampler
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     x = trial.suggest_float("x", -4, 4)
        ...     return (x - 1) ** 2, (x + 1) ** 2
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=SMSEGOSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=14)
        >>> len(study.best_trials) >= 4
        True
    """

    def learn(self, view: TrainingData, rng: np.random.Generator, number: int) -> Learned:
        """One surrogate an objective, but for those that are exactly known."""
        bounds = self._bounds(view, rng)
        bound = self._bound(view, number)
        if view.values.shape[1] == 1:
            return lambda seen: bounds(seen, bound)[:, 0], lambda seen: {
                "confidence": bound.weight
            }
        front, epsilon = self._front(view, bounds)
        reference = view.reference()
        return (
            lambda seen: -gain(bounds(seen, bound), front, reference, epsilon),
            lambda seen: {"bounds": view.scale.raw(bounds(seen, bound)[0]).tolist()},
        )
