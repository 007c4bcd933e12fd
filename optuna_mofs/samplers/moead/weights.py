"""Weight vectors on the simplex, and who is neighbour to whom."""

from __future__ import annotations

import itertools
import math

import numpy as np

from optuna_mofs._typing import Array

#: The lattice from which weights are chosen holds at least this many times their number ...
_FINE = 8
#: ... and at most this many points.
_MOST = 4000


def simplex_points(count: int, m: int) -> Array:
    """Weight vectors spread evenly over the simplex, the corners first.

    For two objectives they are equally spaced. For more they are chosen from a fine simplex
    lattice (Das and Dennis 1998), each as far as possible from those before it, so that any
    number of them can be had.

    Args:
        count: How many.
        m: Number of objectives.

    Returns:
        Vectors × objectives; each sums to 1.

    Example:
        >>> simplex_points(3, 2).tolist()
        [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    if m == 1:
        return np.ones((count, 1))
    if m == 2:
        first = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
        return np.column_stack([first, 1 - first])
    lattice = _lattice(count, m)
    nearest = np.full(len(lattice), np.inf)
    chosen = [int(lattice[:, 0].argmax())]
    for _ in range(count - 1):
        gap = ((lattice - lattice[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, gap)
        chosen.append(int(nearest.argmax()))
    points: Array = lattice[np.sort(chosen)]
    return points


def neighbourhoods(weights: Array, size: int) -> Array:
    """Positions of the nearest weight vectors of each, itself first (algorithm 1, step 2).

    Args:
        weights: Vectors × objectives.
        size: Neighbours of each, itself among them.
    """
    count = len(weights)
    apart = ((weights[:, None] - weights) ** 2).sum(axis=2)
    np.fill_diagonal(apart, -1.0)  # equal weights (a single objective) must not hide it
    return np.argsort(apart, axis=1, kind="stable")[:, : min(size, count)]


def _lattice(count: int, m: int) -> Array:
    steps = 1
    while math.comb(steps + m - 1, m - 1) < _FINE * count:
        if math.comb(steps + m, m - 1) > max(_MOST, count):
            break
        steps += 1
    bars = np.array(list(itertools.combinations(range(steps + m - 1), m - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), steps + m - 1)])
    lattice: Array = (np.diff(edges, axis=1) - 1) / steps
    return lattice
