"""First masks of a search (Binder et al. 2020, sections 4.3.1 and 4.3.2, Table 5).

Each is a function of (generator, table, weights) that returns a mask over the free features.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features.draw import cheap_first, ensemble_mask, geometric_size, subset_of_size
from optuna_mofs.features.table import FeatureTable

MaskStart = Callable[[np.random.Generator, FeatureTable, Array], Array]


def bernoulli_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Each bit on or off with equal probability (variant 1)."""
    mask: Array = rng.random(len(table.free)) < 0.5
    return mask


def uniform_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A size uniform in 0..p, then a subset of that size (variant 2)."""
    p = len(table.free)
    return subset_of_size(rng, int(rng.integers(p + 1)), p)


def geometric_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A truncated geometric size, then a subset of that size (variants 3 and 4)."""
    p = len(table.free)
    return subset_of_size(rng, geometric_size(rng, table.start_size, p), p)


def ensemble_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A truncated geometric size, then bits that follow the filters (variants 5 and 6)."""
    if table.ranks is None:
        return geometric_start(rng, table, weights)
    return ensemble_mask(rng, table, weights)


def prefix_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """The best features by weighted rank, as many as a truncated geometric size (at least 1).

    The filter-ensemble representation of section 4.2.2 as a mask: where filters are right it is
    hard to beat, and a wrapper can only leave it for something better.
    """
    p = len(table.free)
    return best_of_size(rng, table, weights, max(1, geometric_size(rng, table.start_size, p)))


def wide_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """The best features by weighted rank, of a size that is uniform on a logarithmic scale.

    Trees on small data need few features; the lowest error may need ten times as many.
    """
    p = len(table.free)
    return best_of_size(rng, table, weights, round(np.exp(rng.random() * np.log(p + 0.5))))


def best_of_size(
    rng: np.random.Generator, table: FeatureTable, weights: Array, size: int
) -> Array:
    """The best features by weighted rank; a random set if there are no filters."""
    p = len(table.free)
    size = min(max(size, 1), p)
    if table.free_ranks is None:
        return subset_of_size(rng, size, p)
    score = cheap_first(weights @ table.free_ranks, table.free_costs)
    mask = np.zeros(p, dtype=bool)
    mask[np.argsort(-score, kind="stable")[:size]] = True
    return mask
