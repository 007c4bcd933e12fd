"""Limits of the number of features: checks, and the nearest mask that keeps them."""

from __future__ import annotations

import math

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int
from optuna_mofs.features._codec import mask_id

#: Largest number of masks that is counted; it fits into a float.
_MOST = 2**1000


def check_limits(
    min_features: int, max_features: int | None, n_features: int, n_fixed: int
) -> tuple[int, int]:
    """Return the minimum and maximum number of free features, or raise if no set is within them.

    Args:
        min_features: Minimum number of features, fixed ones included.
        max_features: Maximum number of features, fixed ones included; None for no limit.
        n_features: Number of all features.
        n_fixed: Number of fixed features.

    Example:
        >>> check_limits(0, 5, n_features=40, n_fixed=2)
        (0, 3)
    """
    check_int("min_features", min_features, 0)
    if min_features > n_features:
        raise ValueError(f"min_features is {min_features}, but there are {n_features} features.")
    if max_features is None:
        return max(0, min_features - n_fixed), n_features - n_fixed
    check_int("max_features", max_features, 0)
    if max_features < min_features:
        raise ValueError(
            f"max_features must be at least min_features, got {max_features} and {min_features}."
        )
    if max_features < n_fixed:
        raise ValueError(
            f"max_features is {max_features}, but {n_fixed} features are fixed. "
            "Allow at least as many, or fix fewer."
        )
    return max(0, min_features - n_fixed), min(max_features, n_features) - n_fixed


def limit_mask(mask: Array, low: int, high: int, score: Array | None = None) -> Array:
    """Return a mask with ``low`` to ``high`` features, as near as possible to the given one.

    If there are too many features, the best by score are kept; if there are too few, the best of
    the others are added. Without scores the choice is random but seeded by the mask, so that equal
    masks give equal results.

    Example:
        >>> limit_mask(np.array([True, True, False]), 0, 1, np.array([0.2, 0.7, 0.9])).tolist()
        [False, True, False]
    """
    size = int(np.count_nonzero(mask))
    if low <= size <= high:
        return mask
    if score is None:
        score = np.random.default_rng(mask_id(mask)).random(len(mask))
    # Selected features first, each part by score; ties by position.
    order = np.lexsort((-score, ~mask))
    limited = np.zeros(len(mask), dtype=bool)
    limited[order[: min(max(size, low), high)]] = True
    return limited


def n_masks(p: int, low: int, high: int) -> float:
    """Return how many masks of ``p`` features have ``low`` to ``high`` of them, at most 2^1000.

    Example:
        >>> n_masks(4, 0, 2)
        11.0
    """
    if low == 0 and high == p:
        return float(min(2**p, _MOST))
    total = 0
    for size in range(low, high + 1):
        total += math.comb(p, size)
        if total >= _MOST:
            return float(_MOST)
    return float(total)
