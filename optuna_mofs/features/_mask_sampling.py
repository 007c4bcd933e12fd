"""Random masks and random filter weights."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.features._table import FeatureTable


def geometric_size(rng: np.random.Generator, mean: float, p: int) -> int:
    """Number of features, geometric with the given mean, truncated to 0..p (section 4.3.1).

    The mean is that of the whole distribution; what lies beyond p is cut off, so that the mean of
    the draws is lower when ``mean`` is not small against p.

    Example:
        >>> geometric_size(np.random.default_rng(0), mean=5.0, p=60)
        5
    """
    stop = 1.0 / (1.0 + mean)
    if stop >= 1.0:
        return 0
    # Inverse of the truncated distribution function: exact, one draw, no rejection.
    inside = -np.expm1((p + 1) * np.log1p(-stop))
    size = np.log1p(-rng.random() * inside) / np.log1p(-stop)
    return min(int(size), p)


def simplex_weights(rng: np.random.Generator, count: int) -> Array:
    """Filter weights, uniform on the simplex."""
    raw = rng.exponential(size=count)
    weights: Array = raw / raw.sum()
    return weights


def ensemble_probability(score: Array, size: float, p: int) -> Array:
    """Probability of each bit given its ensemble score (eq. 2).

    The expected number of bits is near ``size`` where filters disagree and scores are near 1/2; a
    score of 1/2 for all gives the Hamming-weight preserving ``(size + 1) / (p + 2)`` of section
    4.3.3. Scores spread over all of [0, 1] pull it towards p / 2: a single filter of 500 features
    expects 10 bits for a size of 1 and 52 for 20.
    """
    probability: Array = score * (size + 1) / (score * size + (1 - score) * (p - size) + 1)
    return probability


def cost_adjusted(probability: Array, costs: Array | None) -> Array:
    """Divide the odds of each bit by its relative cost, so that dear features must earn it."""
    if costs is None or np.ptp(costs) == 0:
        return probability
    relative = np.maximum(costs, 1e-3 * costs.mean()) / costs.mean()
    tilted: Array = probability / (probability + (1 - probability) * relative)
    return tilted


def subset_of_size(rng: np.random.Generator, size: int, p: int) -> Array:
    """A mask drawn uniformly among those with ``size`` bits."""
    mask = np.zeros(p, dtype=bool)
    mask[rng.choice(p, size=size, replace=False)] = True
    return mask


def ensemble_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Filter-ensemble initialization (section 4.3.2): a size, then bits by eq. 2."""
    p = len(table.free)
    size = geometric_size(rng, table.initial_size, p)
    assert table.free_ranks is not None
    probability = ensemble_probability(weights @ table.free_ranks, size, p)
    mask: Array = rng.random(p) < cost_adjusted(probability, table.free_costs)
    return mask


def mask_from_seed(table: FeatureTable, seed: int) -> Array:
    """The mask that a bare integer stands for, when no sampler said otherwise.

    Example:
        >>> table = FeatureTable(names=tuple("abcdef"))
        >>> bool((mask_from_seed(table, 7) == mask_from_seed(table, 7)).all())
        True
    """
    rng = np.random.default_rng(seed)
    p = len(table.free)
    if table.ranks is None:
        return subset_of_size(rng, geometric_size(rng, table.initial_size, p), p)
    return ensemble_mask(rng, table, simplex_weights(rng, len(table.filters)))


#: Function of (generator, feature table, filter weights) that returns a mask.
MaskSampler = Callable[[np.random.Generator, FeatureTable, Array], Array]


def sample_bernoulli_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Each bit on or off with equal probability (variant 1)."""
    mask: Array = rng.random(len(table.free)) < 0.5
    return mask


def sample_uniform_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A size uniform in 0..p, then a subset of that size (variant 2)."""
    p = len(table.free)
    return subset_of_size(rng, int(rng.integers(p + 1)), p)


def sample_geometric_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A truncated geometric size, then a subset of that size (variants 3 and 4)."""
    p = len(table.free)
    return subset_of_size(rng, geometric_size(rng, table.initial_size, p), p)


def sample_ensemble_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """A truncated geometric size, then bits that follow the filters (variants 5 and 6)."""
    if table.ranks is None:
        return sample_geometric_mask(rng, table, weights)
    return ensemble_mask(rng, table, weights)


def sample_prefix_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """The best features by weighted rank, as many as a truncated geometric size (at least 1).

    The filter-ensemble representation of section 4.2.2 as a mask: where filters are right it is
    hard to beat, and a wrapper can only leave it for something better.
    """
    p = len(table.free)
    return best_of_size(rng, table, weights, max(1, geometric_size(rng, table.initial_size, p)))


def sample_wide_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
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
    score = cost_adjusted(weights @ table.free_ranks, table.free_costs)
    mask = np.zeros(p, dtype=bool)
    mask[np.argsort(-score, kind="stable")[:size]] = True
    return mask


MASK_SAMPLERS: dict[str, MaskSampler] = {
    "bernoulli": sample_bernoulli_mask,
    "uniform": sample_uniform_mask,
    "geometric": sample_geometric_mask,
    "ensemble": sample_ensemble_mask,
    "prefix": sample_prefix_mask,
    "wide": sample_wide_mask,
}


def get_mask_sampler(sampler: str | MaskSampler) -> MaskSampler:
    """Return a mask sampler by name, or the user's own function as it is."""
    if callable(sampler):
        return sampler
    return MASK_SAMPLERS[check_choice("mask sampler", sampler, MASK_SAMPLERS)]
