"""First configurations of a search over numbers: a Latin hypercube."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array


def latin_hypercube(rng: np.random.Generator, count: int, d: int) -> Array:
    """Points of the unit cube, one in each of ``count`` slices of every axis.

    Example:
        >>> design = latin_hypercube(np.random.default_rng(0), 4, 2)
        >>> sorted(np.floor(design[:, 1] * 4).astype(int).tolist())
        [0, 1, 2, 3]
    """
    slices = np.argsort(rng.random((count, d)), axis=0)
    cube: Array = (slices + rng.random((count, d))) / max(1, count)
    return cube
