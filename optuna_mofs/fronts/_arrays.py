"""Checks shared by the array functions of this room."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


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
