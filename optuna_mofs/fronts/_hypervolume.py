"""Hypervolume of points, over time, and of a study."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray
from optuna.study import Study

from optuna_mofs._typing import Indices
from optuna_mofs.fronts._dominance import as_points, as_reference, update_front
from optuna_mofs.study._completed_trials import read_points

if TYPE_CHECKING:
    import pandas as pd


def hypervolume(points: ArrayLike, reference: ArrayLike) -> float:
    """Return the volume that ``points`` dominate up to ``reference``.

    Points with a NaN and points not better than the reference in every objective add nothing. A
    point at minus infinity makes the volume infinite.

    Args:
        points: One row a point, one column an objective to be minimized.
        reference: The worst values that count, one an objective, or one number for all. Finite.

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
    return float(moocore.hypervolume(inside, ref=bound))


def hypervolume_over_time(points: ArrayLike, reference: ArrayLike) -> NDArray[np.float64]:
    """Return the hypervolume of the first 1, 2, ..., n points.

    The volume is never computed anew: each point adds the part that it alone dominates. With two
    objectives a sorted staircase gives that part in O(log n) and the number of points it removes;
    with more it is the point's box less the part of the box that the front already has.

    Args:
        points: One row a point in order of time, one column an objective to be minimized.
        reference: As for :func:`hypervolume`.

    Example:
        >>> hypervolume_over_time([[0.5, 0.5], [0.75, 0.75], [0.25, 0.5]], 1.0).tolist()
        [0.25, 0.25, 0.375]
    """
    array = as_points(points)
    n_objectives = array.shape[1]
    bound = as_reference(reference, n_objectives)
    counts = np.flatnonzero((array < bound).all(axis=1))
    gains = np.zeros(len(array))
    unbounded = counts[np.isneginf(array[counts]).any(axis=1)]
    if len(unbounded):
        # Nothing can be added to an infinite volume.
        gains[unbounded[0]] = np.inf
        counts = counts[counts < unbounded[0]]
    if n_objectives == 2:
        gains[counts] = _staircase_gains(array[counts], bound)
    else:
        gains[counts] = _box_gains(array[counts], bound)
    return np.cumsum(gains)


def _staircase_gains(
    points: NDArray[np.float64], bound: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Area added by each point of two objectives; all points are below ``bound``."""
    # The front as a staircase: xs rise, ys fall.
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


def _box_gains(points: NDArray[np.float64], bound: NDArray[np.float64]) -> NDArray[np.float64]:
    """Volume added by each point of any number of objectives; all are below ``bound``."""
    front: Indices = np.zeros(0, dtype=np.intp)
    gains = np.zeros(len(points))
    for i, point in enumerate(points):
        updated = update_front(points, front, i)
        if updated is None:
            continue
        box = float(np.prod(bound - point))
        clipped = np.maximum(points[front], point)
        shared = moocore.hypervolume(clipped, ref=bound) if len(front) else 0.0
        # Rounding must not let the volume shrink.
        gains[i] = max(box - shared, 0.0)
        front = updated
    return gains


def hypervolume_history(
    study: Study, reference: Mapping[str, float] | Sequence[float] | None = None
) -> pd.Series[float]:
    """Return the dominated hypervolume after each finished trial.

    Args:
        study: Any Optuna study.
        reference: As for :meth:`Front.hypervolume`, with one reference point for the whole
            history: the last value is the hypervolume of the study's front.

    Returns:
        A series indexed by trial number, one entry a finished trial. A trial that breaks a
        constraint adds nothing.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize", "minimize"])
        >>> for values in [(0.5, 0.5), (0.75, 0.75), (0.25, 0.5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> hypervolume_history(study, reference=[1, 1]).tolist()
        [0.25, 0.25, 0.375]
    """
    import pandas as pd

    points = read_points(study)
    numbers = pd.Index([trial.number for trial in points.trials], name="number", dtype="int64")
    if not points.feasible.any():
        return pd.Series(np.zeros(len(numbers)), index=numbers, name="hypervolume")
    # A NaN adds nothing to the volume.
    losses = np.where(points.feasible[:, None], points.losses, np.nan)
    volumes = hypervolume_over_time(losses, points.reference_losses(reference))
    return pd.Series(volumes, index=numbers, name="hypervolume")
