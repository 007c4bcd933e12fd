"""Pareto dominance of points; all objectives are minimised.

A point with a NaN was not measured: it dominates nothing, is never on a front, and has the last
rank. Infinities are ordinary values.
"""

from __future__ import annotations

import moocore
import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs.fronts._arrays import as_points, finite_order, has_no_nan


def nondominated_mask(points: ArrayLike, *, duplicates: bool = True) -> NDArray[np.bool_]:
    """Mark the points that no other point dominates.

    Args:
        points: One row a point, one column an objective to be minimised.
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
        points: One row a point, one column an objective to be minimised.

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
        points: One row a point in order of time, one column an objective to be minimised.

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
