"""Choice of one point: the knee, or the sparsest within one standard error. Arrays only."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_numbers
from optuna_mofs.fronts._dominance import as_points, nondominated_mask

#: Values that differ by less, relative to the largest, are equal up to rounding errors.
_ROUNDING = 1e-9


def knee_index(points: ArrayLike) -> int:
    """Return the row of the knee, where any gain in one objective costs much in the others.

    The front of ``points`` is normalized to [0, 1] by its best and worst value in each objective.
    The knee is the point farthest below the hyperplane through the unit points of the axes. With
    two objectives that is the straight line between the two extreme points (Das, 1999, *On
    characterizing the "knee" of the Pareto curve*, Structural Optimization 18). In any number of
    objectives it is the point with the smallest sum of normalized values.

    - No point below the hyperplane (two points, a straight or a concave front): the point with the
      smallest maximum of normalized values.
    - Ties: the smallest maximum of normalized values, then the better first objective, then the
      second, ..., then the first row.
    - An objective that is constant on the front counts as 0.
    - Points with a NaN are left out; points with an infinity too, unless there are no others.

    The result depends neither on the objectives' units and offsets nor on the order of the points.

    Args:
        points: One row per point, one column per objective, all minimized.

    Raises:
        ValueError: If there is no point without NaN.

    Example:
        >>> knee_index([[0.0, 1.0], [0.1, 0.2], [0.6, 0.1], [1.0, 0.0]])
        1
    """
    array = as_points(points)
    rows = np.flatnonzero(nondominated_mask(array))
    if len(rows) == 0:
        raise ValueError(
            f"No knee among {len(array)} points: all of them contain a NaN."
            if len(array)
            else "No knee: there are no points."
        )
    finite = rows[np.isfinite(array[rows]).all(axis=1)]
    if len(finite) == 0:
        return int(rows[_lexicographic_first(array[rows])])
    front = array[finite]
    scaled = normalize(front)
    sums, worst = scaled.sum(axis=1), scaled.max(axis=1)
    if sums.min() < 1.0 - _ROUNDING:
        candidates = np.flatnonzero(sums <= sums.min() + _ROUNDING)
    else:
        candidates = np.arange(len(front))
    candidates = candidates[worst[candidates] <= worst[candidates].min() + _ROUNDING]
    return int(finite[candidates[_lexicographic_first(front[candidates])]])


def normalize(points: Floats) -> Floats:
    """Map each objective of finite points to [0, 1]; a constant objective maps to 0."""
    best = points.min(axis=0)
    with np.errstate(over="ignore"):
        span = points.max(axis=0) - best
    # The span of huge values can overflow; dividing them by four keeps the shape.
    wide = np.isinf(span)
    if wide.any():
        return normalize(np.where(wide, points / 4.0, points))
    return (points - best) / np.where(span > 0.0, span, 1.0)


def _lexicographic_first(points: Floats) -> int:
    """Return the row that is best in the first objective, then in the second, and so on."""
    return int(np.lexsort(points.T[::-1])[0])


def round_off(values: Floats) -> Floats:
    """Round values so that those that differ only by rounding errors are equal.

    The last bit of a mean must not decide between a trial with 7 features and one with 28.

    Example:
        >>> round_off(np.array([0.1 + 0.2, 0.3, 0.31])).tolist()
        [0.3, 0.3, 0.31]
    """
    finite = np.abs(values[np.isfinite(values)])
    largest = finite.max(initial=0.0)
    if largest == 0.0 or largest > 1e250:
        return values
    return np.round(values, int(9 - np.floor(np.log10(largest))))


def fold_standard_error(values: ArrayLike) -> float:
    """Return the standard error of the mean of values per fold.

    Example:
        >>> fold_standard_error([0.1, 0.2, 0.3, 0.2]).__round__(4)
        0.0408
    """
    folds = np.asarray(values, dtype=np.float64)
    return float(np.std(folds, ddof=1) / np.sqrt(len(folds)))


def one_standard_error_index(
    errors: ArrayLike, sizes: ArrayLike, standard_errors: ArrayLike
) -> int:
    """Return the index of the sparsest point within one standard error of the best.

    The rule of Breiman, Friedman, Olshen and Stone (1984, *Classification and Regression Trees*,
    section 3.4.3): prefer a smaller model if its error is not clearly larger than the smallest.

    Args:
        errors: Mean error of each point. Points with a NaN error or size are left out.
        sizes: Size of each point, for example its number of features.
        standard_errors: Standard error of each point's mean, or one number for all. Only that of
            the point with the smallest error is used (if tied, of the sparsest).

    Returns:
        The index. Ties in size are broken by the lower error, then by the first index. Errors that
        differ only by rounding are equal.

    Example:
        >>> one_standard_error_index([0.10, 0.11, 0.15], [30, 8, 2], 0.02)
        1
    """
    error = check_numbers("errors", errors)
    size = check_numbers("sizes", sizes)
    spread = check_numbers("standard_errors", standard_errors)
    if error.ndim != 1 or size.shape != error.shape or spread.shape not in ((), error.shape):
        raise ValueError(
            "errors and sizes must be vectors of one length, and standard_errors a number or a "
            f"vector of that length, got shapes {error.shape}, {size.shape}, {spread.shape}."
        )
    rows = np.flatnonzero(~np.isnan(error) & ~np.isnan(size))
    if len(rows) == 0:
        raise ValueError(f"Nothing to choose from: {len(error)} points, none without NaN.")
    error = round_off(error)
    best = rows[np.lexsort((size[rows], error[rows]))[0]]
    allowed = float(np.broadcast_to(spread, error.shape)[best])
    if not 0.0 <= allowed < np.inf:
        raise ValueError(
            "The standard error of the best point must be a finite number of at least 0, "
            f"got {allowed}."
        )
    rounding = _ROUNDING * max(abs(error[best]), allowed)
    rows = rows[error[rows] <= error[best] + allowed + rounding]
    return int(rows[np.lexsort((error[rows], size[rows]))[0]])
