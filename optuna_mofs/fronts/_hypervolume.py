"""Hypervolume of points, and its growth over time. Arrays only."""

from __future__ import annotations

from bisect import bisect_left, bisect_right

import moocore
import numpy as np
from numpy.typing import ArrayLike

from optuna_mofs._typing import Floats, Indices
from optuna_mofs.fronts._dominance import as_points, as_reference, in_range, update_front


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Return the volume that ``points`` dominate up to ``reference``.

    Points with a NaN and points that are not better than the reference in every objective add
    nothing. A point at minus infinity makes the volume infinite.

    Args:
        points: One row per point, one column per objective, all minimized.
        reference: The worst values that count, one per objective, or one number for all. Finite.

    Example:
        >>> hypervolume([[0.25, 0.5], [0.5, 0.25]], 1.0)
        0.5
    """
    array = as_points(points)
    bound = as_reference(reference, array.shape[1])
    inside = array[(array < bound).all(axis=1)]
    if len(inside) == 0:
        return 0.0
    if np.isneginf(inside).any():
        return float("inf")
    volume = float(moocore.hypervolume(in_range(inside), ref=bound))
    return np.inf if np.isnan(volume) else volume  # a product was larger than any number


def hypervolume_over_time(points: ArrayLike, reference: ArrayLike) -> Floats:
    """Return the hypervolume of the first 1, 2, ..., n points.

    The volume is not recomputed: each point adds the part that it alone dominates. With two
    objectives, a sorted staircase finds that part in O(log n) plus the number of points that it
    removes. With more objectives, it is the box of the point minus the part of the box that the
    front already dominates.

    Args:
        points: One row per point in order of time, one column per objective, all minimized.
        reference: As for :func:`hypervolume`.

    Example:
        >>> hypervolume_over_time([[0.5, 0.5], [0.75, 0.75], [0.25, 0.5]], 1.0).tolist()
        [0.25, 0.25, 0.375]
    """
    array = as_points(points)
    n_objectives = array.shape[1]
    bound = as_reference(reference, n_objectives)
    inside = np.flatnonzero((array < bound).all(axis=1))
    gains = np.zeros(len(array))
    unbounded = inside[np.isneginf(array[inside]).any(axis=1)]
    if len(unbounded):
        # Nothing can be added to an infinite volume.
        gains[unbounded[0]] = np.inf
        inside = inside[inside < unbounded[0]]
    gains_of = _staircase_gains if n_objectives == 2 else _box_gains
    gains[inside] = gains_of(array[inside], bound)
    return np.cumsum(gains)


def _staircase_gains(points: Floats, bound: Floats) -> Floats:
    """Return the area that each point adds; two objectives, all points below ``bound``."""
    # The front as a staircase: xs ascending, ys descending.
    xs: list[float] = []
    ys: list[float] = []
    right, top = bound.tolist()
    gains = np.zeros(len(points))
    for i, (x, y) in enumerate(points.tolist()):
        before = bisect_right(xs, x)
        if before and ys[before - 1] <= y:
            continue
        start = stop = bisect_left(xs, x)
        left, ceiling = x, (ys[start - 1] if start else top)
        area = 0.0
        while stop < len(xs) and ys[stop] >= y:
            area += (xs[stop] - left) * (ceiling - y)
            left, ceiling = xs[stop], ys[stop]
            stop += 1
        area += ((xs[stop] if stop < len(xs) else right) - left) * (ceiling - y)
        gains[i] = area
        xs[start:stop] = [x]
        ys[start:stop] = [y]
    return gains


def _box_gains(points: Floats, bound: Floats) -> Floats:
    """Return the volume that each point adds; any number of objectives, all below ``bound``."""
    front: Indices = np.zeros(0, dtype=np.intp)
    gains = np.zeros(len(points))
    for i, point in enumerate(points):
        updated = update_front(points, front, i)
        if updated is None:
            continue
        box = float(np.prod(bound - point))
        clipped = np.maximum(points[front], point)
        shared = hypervolume(clipped, bound) if len(front) and np.isfinite(box) else 0.0
        # Rounding errors must not make the volume shrink.
        gains[i] = max(box - shared, 0.0)
        front = updated
    return gains
