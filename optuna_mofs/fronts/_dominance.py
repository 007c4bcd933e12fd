"""Non-dominated points and Pareto ranks."""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs._typing import Array


def nondominated_mask(points: ArrayLike, *, duplicates: bool = True) -> NDArray[np.bool_]:
    """Mark the points that no other point dominates.

    Args:
        points: One row a point, one column an objective to be minimized.
        duplicates: Whether all points of equal value are kept (as ``study.best_trials`` does) or
            only the first of them.

    Example:
        >>> nondominated_mask([[1, 2], [2, 1], [2, 2], [1, 2]]).tolist()
        [True, True, False, True]
        >>> nondominated_mask([[1, 2], [2, 1], [2, 2], [1, 2]], duplicates=False).tolist()
        [True, True, False, False]
    """
    array = as_points(points)
    measured = has_no_nan(array)
    mask = np.zeros(len(array), dtype=np.bool_)
    if measured.any():
        mask[measured] = moocore.is_nondominated(
            finite_order(array[measured]), keep_weakly=duplicates
        )
    return mask


def pareto_rank(points: ArrayLike) -> NDArray[np.int64]:
    """Rank points by non-dominated sorting: 0 for the front, 1 for the front of the rest, ...

    Points of equal value share a rank. Points with a NaN share one rank after all others.

    Args:
        points: One row a point, one column an objective to be minimized.

    Example:
        >>> pareto_rank([[1, 2], [2, 1], [2, 2], [float("nan"), 0]]).tolist()
        [0, 0, 1, 2]
    """
    array = as_points(points)
    measured = has_no_nan(array)
    ranks = np.zeros(len(array), dtype=np.int64)
    if measured.any():
        ranks[measured] = moocore.pareto_rank(finite_order(array[measured]))
        ranks[~measured] = ranks[measured].max() + 1
    return ranks


def newcomers_mask(points: ArrayLike) -> NDArray[np.bool_]:
    """Mark the points that joined the front when they came: no earlier one was as good.

    Args:
        points: One row a point in order of time, one column an objective to be minimized.

    Example:
        >>> newcomers_mask([[2, 2], [2, 2], [3, 1], [1, 1], [0, 3]]).tolist()
        [True, False, True, True, True]
    """
    array = as_points(points)
    joined = np.zeros(len(array), dtype=np.bool_)
    front = np.empty((0, array.shape[1]))
    for i in np.flatnonzero(has_no_nan(array)):
        point = array[i]
        if not (front <= point).all(axis=1).any():
            joined[i] = True
            front = np.vstack([front[~(front >= point).all(axis=1)], point])
    return joined


def as_points(points: ArrayLike) -> NDArray[np.float64]:
    """Return ``points`` as a float array of shape (number of points, number of objectives)."""
    array = np.asarray(points, dtype=np.float64)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            "points must be a two-dimensional array with one row a point and one column an "
            f"objective, got shape {array.shape}."
        )
    return array


def as_reference(reference: ArrayLike, n_objectives: int) -> NDArray[np.float64]:
    """Return ``reference`` as a finite vector with one entry an objective."""
    array = np.asarray(reference, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(n_objectives, float(array))
    if array.shape != (n_objectives,):
        raise ValueError(
            f"The reference point needs {n_objectives} values, one an objective, got shape "
            f"{array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(
            f"The reference point must be finite, got {array.tolist()}. Give the worst value "
            "that each objective can take."
        )
    return array


def has_no_nan(points: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Mark the rows that hold no NaN."""
    return np.asarray(~np.isnan(points).any(axis=1), dtype=np.bool_)


def finite_order(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ``points``, or finite numbers in the same order if there are infinities.

    Dominance asks only for the order of values, and infinities are not safe with moocore 0.3:
    its Pareto rank crashes on minus infinity, its non-dominated set errs on plus infinity.
    """
    if np.isfinite(points).all():
        return points
    places = [np.unique(column, return_inverse=True)[1] for column in points.T]
    return np.column_stack(places).astype(np.float64)


def pareto_ranks(values: Array, violations: Array) -> Array:
    """Rank of each point, 0 best; infeasible points come after all feasible ones.

    Args:
        values: Points × objectives, minimized.
        violations: Total violation of each point, 0 if feasible.
    """
    ranks = np.empty(len(values), dtype=np.int64)
    feasible = violations <= 0
    last = -1
    if feasible.any():
        ranks[feasible] = moocore.pareto_rank(values[feasible])
        last = int(ranks[feasible].max())
    if not feasible.all():
        # Among infeasible points the smaller violation wins (constrained domination).
        levels = np.unique(violations[~feasible], return_inverse=True)[1]
        ranks[~feasible] = last + 1 + levels
    return ranks
