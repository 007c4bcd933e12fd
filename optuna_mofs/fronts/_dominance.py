"""Non-dominated points, Pareto ranks and the update of a front by one point. Arrays only."""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs._validation import check_numbers


def nondominated_mask(points: ArrayLike, *, duplicates: bool = True) -> Bools:
    """Mark the points that no other point dominates. Points with a NaN are never marked.

    Args:
        points: One row per point, one column per objective, all minimized.
        duplicates: Whether to mark all points of equal values (as ``study.best_trials`` does) or
            only the first of them.

    Example:
        >>> nondominated_mask([[1, 2], [2, 1], [2, 2], [1, 2]]).tolist()
        [True, True, False, True]
        >>> nondominated_mask([[1, 2], [2, 1], [2, 2], [1, 2]], duplicates=False).tolist()
        [True, True, False, False]
    """
    array = as_points(points)
    valid = has_no_nan(array)
    mask = np.zeros(len(array), dtype=np.bool_)
    if valid.any():
        mask[valid] = moocore.is_nondominated(_without_inf(array[valid]), keep_weakly=duplicates)
    return mask


def pareto_rank(points: ArrayLike, violations: ArrayLike | None = None) -> NDArray[np.int64]:
    """Rank points by non-dominated sorting: 0 for the front, 1 for the front of the rest, ...

    Points of equal values share a rank. Points with a NaN share one rank after all others.

    Args:
        points: One row per point, one column per objective, all minimized.
        violations: Total constraint violation per point, 0 if feasible. Infeasible points rank
            after all feasible ones, by their violation alone (constrained domination).

    Example:
        >>> pareto_rank([[1, 2], [2, 1], [2, 2], [float("nan"), 0]]).tolist()
        [0, 0, 1, 2]
        >>> pareto_rank([[1, 2], [0, 0], [0, 0]], violations=[0, 3, 1]).tolist()
        [0, 2, 1]
    """
    array = as_points(points)
    valid = has_no_nan(array)
    violation = np.zeros(len(array))
    if violations is not None:
        violation = np.maximum(check_numbers("violations", violations, 1), 0.0)
        if len(violation) != len(array):
            raise ValueError(
                f"Expected one violation for each of the {len(array)} points, got "
                f"{len(violation)} violations."
            )
    # The smallest positive number puts NaN after all feasible points, before infeasible ones.
    violation[~valid & (violation == 0)] = np.nextafter(0.0, 1.0)
    array = np.where(valid[:, None], array, 0.0)
    return constrained_rank(_without_inf(array), violation)


def constrained_rank(values: Floats, violations: Floats) -> NDArray[np.int64]:
    """Return :func:`pareto_rank` of finite values, with one violation per point."""
    ranks = np.zeros(len(values), dtype=np.int64)
    feasible = violations <= 0.0
    n_ranks = 0
    if feasible.any():
        ranks[feasible] = moocore.pareto_rank(values[feasible])
        n_ranks = int(ranks.max()) + 1
    if not feasible.all():
        levels = np.unique(violations[~feasible], return_inverse=True)[1]
        ranks[~feasible] = n_ranks + levels
    return ranks


def entered_front_mask(points: ArrayLike) -> Bools:
    """Mark the points that entered the front when they were added, in the order of the rows.

    A point enters the front if no earlier point is at least as good in every objective.

    Args:
        points: One row per point in order of time, one column per objective, all minimized.

    Example:
        >>> entered_front_mask([[2, 2], [2, 2], [3, 1], [1, 1], [0, 3]]).tolist()
        [True, False, True, True, True]
    """
    array = as_points(points)
    entered = np.zeros(len(array), dtype=np.bool_)
    front: Indices = np.zeros(0, dtype=np.intp)
    for row in np.flatnonzero(has_no_nan(array)).tolist():
        updated = update_front(array, front, row)
        if updated is not None:
            entered[row] = True
            front = updated
    return entered


def update_front(points: Floats, front: Indices, row: int) -> Indices | None:
    """Add one point to a front.

    Args:
        points: One row per point, one column per objective, all minimized; no NaN.
        front: Rows of the current front.
        row: Row of the new point.

    Returns:
        Rows of the new front, the new point last; None if a member of the front is at least as
        good in every objective.

    Example:
        >>> points = np.array([[1.0, 3.0], [3.0, 1.0], [0.0, 3.0], [4.0, 4.0]])
        >>> update_front(points, np.array([0, 1]), 2).tolist()
        [1, 2]
        >>> update_front(points, np.array([0, 1]), 3) is None
        True
    """
    members, point = points[front], points[row]
    if (members <= point).all(axis=1).any():
        return None
    return np.append(front[~(members >= point).all(axis=1)], row)


def as_points(points: ArrayLike) -> Floats:
    """Return ``points`` as a float array of shape (number of points, number of objectives)."""
    array: Floats = check_numbers("points", points)
    if array.ndim != 2 or array.shape[1] == 0:
        raise ValueError(
            f"Expected one row per point and one column per objective, got shape {array.shape}."
        )
    return array


def as_reference(reference: ArrayLike, n_objectives: int) -> Floats:
    """Return ``reference`` as a finite vector with one entry per objective."""
    array: Floats = check_numbers("reference", reference)
    if array.ndim == 0:
        array = np.full(n_objectives, float(array))
    if array.shape != (n_objectives,):
        raise ValueError(
            f"The reference point must have {n_objectives} values, one per objective, got shape "
            f"{array.shape}."
        )
    if not np.isfinite(array).all():
        raise ValueError(
            f"The reference point must be finite, got {array.tolist()}. Give the worst value "
            "that each objective can take."
        )
    return array


def has_no_nan(points: Floats) -> Bools:
    """Mark the rows without a NaN."""
    valid = np.ones(len(points), dtype=np.bool_)
    for column in points.T:  # ten times as fast as np.isnan(points).any(axis=1)
        valid &= ~np.isnan(column)
    return valid


def _without_inf(points: Floats) -> Floats:
    """Return ``points``, or the rank of each value in its column if there are infinities.

    Dominance depends only on the order of values, and moocore 0.3 does not handle infinities:
    its Pareto rank crashes on minus infinity, its non-dominated set is wrong on plus infinity.
    """
    if np.isfinite(points).all():
        return points
    ranks = [np.unique(column, return_inverse=True)[1] for column in points.T]
    return np.column_stack(ranks).astype(np.float64)


def in_range(points: Floats) -> Floats:
    """Replace the lowest float, which makes moocore's C code end the process."""
    lowest: float = np.nextafter(np.finfo(np.float64).min, 0)
    return np.maximum(points, lowest)
