"""Gains of hypervolume, expected gains, and the penalty of dominated points, on arrays."""

from __future__ import annotations

from functools import cache
from math import gamma, pi

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers._acquisition import expected_improvement

#: Random points that estimate the gain with more than three objectives.
_N_DRAWS = 2000
#: Directions of the hypervolume scalarization, and draws of the objectives in each of them.
_N_DIRECTIONS, _N_OUTCOMES = 128, 8


def hypervolume_gain(points: Array, front: Array, reference: Array) -> Array:
    """Return the hypervolume that each point adds to that of the front."""
    inside = front[(front < reference).all(axis=1)]
    m = points.shape[1]
    if m == 1:
        best = min([float(reference[0]), *inside[:, 0]])
        return np.maximum(best - points[:, 0], 0.0)
    if m == 2:
        return _gain_2d(points, inside, reference)
    if m == 3:
        return _gain_3d(points, inside, reference)
    return _estimated_gain(points, inside, reference)


def _gain_2d(points: Array, front: Array, reference: Array) -> Array:
    """Return the exact gain by strips between the members of the front, for all points at once."""
    lefts, rights, tops = _strips(front, reference)
    widths = np.maximum(rights - np.maximum(points[:, :1], lefts), 0.0)
    return np.einsum("ij,ij->i", widths, np.maximum(tops - points[:, 1:], 0.0))


def _gain_3d(points: Array, front: Array, reference: Array) -> Array:
    """Return the exact gain by slabs along the third objective, in each the gain in the plane."""
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
    """Return the share of random points that each point would be the first to dominate."""
    low = np.minimum(points.min(axis=0), reference)
    draws = low + (reference - low) * np.random.default_rng(0).random((_N_DRAWS, points.shape[1]))
    open_ = draws
    for member in front:
        open_ = open_[~(member <= open_).all(axis=1)]
    share = np.array([np.count_nonzero((point <= open_).all(axis=1)) for point in points])
    return share / _N_DRAWS * np.prod(reference - low)


def expected_hypervolume_gain(means: Array, sds: Array, front: Array, reference: Array) -> Array:
    """Return the expected gain of hypervolume of points with independent normal objectives.

    It is exact for one objective, and for two of which one is known (Emmerich et al. 2011 have
    the general case): the known one says in which strips of the front a point lies, and in each of
    them the other one has its expected improvement. Otherwise it is estimated by the
    hypervolume scalarization (Deng and Zhang 2019): up to a factor, hypervolume is the mean, over
    directions, of how far the front reaches from the reference point, to the power of the number
    of objectives.

    Args:
        means: Points × objectives.
        sds: Standard deviations, 0 where an objective is known.
        front: The front, members × objectives.
        reference: The reference point.

    Example:
        >>> front, reference = np.array([[0.0, 1.0], [1.0, 0.0]]), np.full(2, 2.0)
        >>> means, sds = np.array([[0.5, 0.5]]), np.array([[0.0, 0.1]])
        >>> expected_hypervolume_gain(means, sds, front, reference).round(4).tolist()
        [0.25]
    """
    inside = front[(front < reference).all(axis=1)]
    m = means.shape[1]
    if m == 1:
        best = min([float(reference[0]), *inside[:, 0]])
        return expected_improvement(means[:, 0], sds[:, 0], best)
    uncertain = np.flatnonzero(sds.any(axis=0))
    if m == 2 and len(uncertain) < 2:
        j = int(uncertain[0]) if len(uncertain) else 1
        lefts, rights, tops = _strips(inside[:, [1 - j, j]], reference[[1 - j, j]])
        widths = np.maximum(rights - np.maximum(means[:, 1 - j, None], lefts), 0.0)
        gains = expected_improvement(means[:, j, None], sds[:, j, None], tops)
        return np.einsum("ij,ij->i", widths, gains)
    return _scalarized_gain(means, sds, inside, reference)


def _strips(front: Array, reference: Array) -> tuple[Array, Array, Array]:
    """Return left and right ends of the strips between the members of a front, and their tops."""
    front = moocore.filter_dominated(front) if len(front) > 1 else front
    front = front[np.argsort(front[:, 0])]
    rights = np.concatenate([front[:, 0], reference[:1]])
    lefts = np.concatenate([[-np.inf], front[:, 0]])
    return lefts, rights, np.concatenate([reference[1:], front[:, 1]])


def _scalarized_gain(means: Array, sds: Array, front: Array, reference: Array) -> Array:
    n, m = means.shape
    directions, outcomes = _draws(m)
    reach = np.zeros(len(directions))
    if len(front):
        reach = ((reference - front)[:, None] / directions).min(axis=2).max(axis=0)
    gain = np.zeros(n)
    for outcome in outcomes:
        room = reference - means - outcome * sds
        far = np.full((n, len(directions)), np.inf)
        for j in range(m):
            np.minimum(far, np.multiply.outer(room[:, j], 1 / directions[:, j]), out=far)
        gain += (np.maximum(far, reach) ** m - reach**m).mean(axis=1)
    # The volume of the part of the unit ball in which all coordinates are positive.
    factor = (pi / 4) ** (m / 2) / gamma(m / 2 + 1)
    gain *= factor / len(outcomes)
    return gain


@cache
def _draws(m: int) -> tuple[Array, Array]:
    """Return directions and standard normal outcomes of ``m`` objectives.

    They are the same for all points, so that the differences of two points are not random.
    """
    rng = np.random.default_rng(0)
    directions = np.abs(rng.standard_normal((_N_DIRECTIONS, m)))
    half = rng.standard_normal((_N_OUTCOMES // 2, m))
    lengths = np.linalg.norm(directions, axis=1, keepdims=True)
    return directions / lengths, np.concatenate([half, -half])


def dominance_penalty(points: Array, front: Array, epsilon: Array) -> Array:
    """Return how far each point is behind the front; -1 where no member epsilon-dominates it.

    It is ``prod(1 + max(0, y - f)) - 1`` of the member from which the point is furthest
    (Ponweiser et al. 2008, section 3.2), which leads the search back to the front.
    """
    if not len(front):
        return np.full(len(points), -1.0)
    dominated = np.ones((len(points), len(front)), dtype=bool)
    depth = np.ones(dominated.shape)
    # One objective at a time: a sum over a short last axis would take longer than all the rest.
    for values, members, margin in zip(points.T, front.T, epsilon):
        behind = values[:, None] - members
        dominated &= behind >= -margin
        depth *= 1 + np.maximum(behind, 0.0, out=behind)
    # A point that is epsilon-dominated only counts as a point on the front.
    depth = np.where(dominated, np.maximum(depth - 1, 1e-9), -1.0)
    return depth.max(axis=1)


def dominance_tolerance(front: Array, n_left: int) -> Array:
    """Return epsilon of each objective: the range of the front over its size now and to come."""
    share = 1 - 0.5 ** front.shape[1]
    return np.ptp(front, axis=0) / (len(front) + share * n_left)
