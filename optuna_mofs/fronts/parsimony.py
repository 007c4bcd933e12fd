"""The sparsest choice that the noise of the measure allows; errors are minimised."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike


def one_standard_error_index(
    errors: ArrayLike, sizes: ArrayLike, standard_errors: ArrayLike
) -> int:
    """Return the index of the sparsest point within one standard error of the best.

    The rule of Breiman, Friedman, Olshen and Stone (1984, *Classification and Regression Trees*,
    section 3.4.3): a smaller model is taken when its error cannot be told from the least one.

    Args:
        errors: Mean error of each point. Points with a NaN error or size are left out.
        sizes: Size of each point, for example its number of features.
        standard_errors: Standard error of each point's mean, or one number for all. Only that of
            the point with the least error is used (of several, of the sparsest).

    Returns:
        The index; of equal sizes the one with the lower error, then the first.

    Example:
        >>> one_standard_error_index([0.10, 0.11, 0.15], [30, 8, 2], 0.02)
        1
    """
    error = np.asarray(errors, dtype=np.float64)
    size = np.asarray(sizes, dtype=np.float64)
    spread = np.asarray(standard_errors, dtype=np.float64)
    if error.ndim != 1 or size.shape != error.shape or spread.shape not in ((), error.shape):
        raise ValueError(
            "errors and sizes must be vectors of one length and standard_errors a number or a "
            f"vector of that length, got shapes {error.shape}, {size.shape}, {spread.shape}."
        )
    rows = np.flatnonzero(~np.isnan(error) & ~np.isnan(size))
    if len(rows) == 0:
        raise ValueError(f"Nothing to choose from: {len(error)} points, none without NaN.")
    best = rows[np.lexsort((size[rows], error[rows]))[0]]
    allowed = float(np.broadcast_to(spread, error.shape)[best])
    if not 0.0 <= allowed < np.inf:
        raise ValueError(
            "The standard error of the best point must be a finite number of at least 0, got "
            f"{allowed}."
        )
    rows = rows[error[rows] <= error[best] + allowed]
    return int(rows[np.lexsort((error[rows], size[rows]))[0]])
