"""Random masks and random filter weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice

if TYPE_CHECKING:
    from optuna_mofs.features._table import FeatureTable


def geometric_size(rng: np.random.Generator, mean: float, p: int) -> int:
    """Return a number of features from a geometric distribution truncated to 0..p.

    Section 4.3.1 of Binder et al. (2020). ``mean`` is that of the distribution before truncation;
    the mean of the draws is lower unless ``mean`` is small compared to p.

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


def weights_from_raw(raw: Array) -> Array:
    """Return weights on the simplex from raw values in [0, 1], along the last axis.

    Example:
        >>> weights_from_raw(np.array([0.5, 0.5])).tolist()
        [0.5, 0.5]
    """
    exponential = -np.log1p(-np.minimum(raw, 1 - 1e-12))
    total = exponential.sum(axis=-1, keepdims=True)
    # If all raw values are 0, the weights are equal (there are none without filters).
    return np.where(
        total == 0, 1 / max(1, raw.shape[-1]), exponential / np.where(total == 0, 1.0, total)
    )


def raw_from_weights(weights: Array) -> Array:
    """Return raw values of the given weights: the inverse of :func:`weights_from_raw`.

    Example:
        >>> weights_from_raw(raw_from_weights(np.array([0.2, 0.8]))).round(6).tolist()
        [0.2, 0.8]
    """
    return -np.expm1(-weights * len(weights))


def simplex_weights(rng: np.random.Generator, count: int) -> Array:
    """Return filter weights drawn uniformly from the simplex."""
    raw = rng.exponential(size=count)
    return raw / raw.sum()


def ensemble_probability(score: Array, size: float, p: int) -> Array:
    """Return the probability of each bit given its ensemble score (eq. 2).

    The expected number of bits is near ``size`` where filters disagree and scores are near 1/2. A
    score of 1/2 for all gives the Hamming-weight preserving ``(size + 1) / (p + 2)`` of section
    4.3.3. Scores spread over [0, 1] move it towards p / 2: with a single filter of 500 features
    10 bits are expected for a size of 1, and 52 for 20.
    """
    return score * (size + 1) / (score * size + (1 - score) * (p - size) + 1)


def cost_adjusted(probability: Array, costs: Array | None, power: float | Array = 1.0) -> Array:
    """Return probabilities with the odds of each bit divided by a power of its relative cost."""
    if costs is None or np.ptp(costs) == 0:
        return probability
    relative = (np.maximum(costs, 1e-3 * costs.mean()) / costs.mean()) ** power
    return probability / (probability + (1 - probability) * relative)


def subset_of_size(rng: np.random.Generator, size: int, p: int) -> Array:
    """Return a mask drawn uniformly from those with ``size`` bits."""
    mask = np.zeros(p, dtype=bool)
    mask[rng.choice(p, size=size, replace=False)] = True
    return mask


def _initial_size(rng: np.random.Generator, table: FeatureTable) -> int:
    """Return a number of free features from the geometric prior within the limits."""
    low, high = table.size_limits
    return max(low, geometric_size(rng, table.initial_size, high))


#: Function of (generator, feature table, filter weights) that returns a mask.
MaskSampler = Callable[[np.random.Generator, "FeatureTable", Array], Array]


def sample_bernoulli_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return a mask with each bit on with probability 1/2 (variant 1)."""
    return table.limited(np.asarray(rng.random(len(table.free)) < 0.5))


def sample_uniform_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return a random subset of a size that is uniform within the limits (variant 2)."""
    low, high = table.size_limits
    return subset_of_size(rng, int(rng.integers(low, high + 1)), len(table.free))


def sample_geometric_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return a random subset of truncated geometric size (variants 3 and 4)."""
    return subset_of_size(rng, _initial_size(rng, table), len(table.free))


def sample_ensemble_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return a mask by filter-ensemble initialization (section 4.3.2, variants 5 and 6).

    Draw a truncated geometric size, then bits by eq. 2; without filters a random subset.
    """
    if table.free_ranks is None:
        return sample_geometric_mask(rng, table, weights)
    p = len(table.free)
    size = _initial_size(rng, table)
    probability = ensemble_probability(weights @ table.free_ranks, size, p)
    return table.limited(rng.random(p) < cost_adjusted(probability, table.free_costs))


def sample_prefix_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return the best features by weighted rank; their number is truncated geometric, at least 1.

    This is the filter-ensemble representation of section 4.2.2 as a mask: a strong baseline where
    the filters are right, and a search that starts from it can only improve on it.
    """
    return best_of_size(rng, table, weights, max(1, _initial_size(rng, table)))


def sample_wide_mask(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
    """Return the best features by weighted rank; their number is uniform on a logarithmic scale.

    The expected number of features comes from small trees; the lowest error may need ten times as
    many.
    """
    high = table.size_limits[1]
    return best_of_size(rng, table, weights, round(np.exp(rng.random() * np.log(high + 0.5))))


def best_of_size(
    rng: np.random.Generator, table: FeatureTable, weights: Array, size: int
) -> Array:
    """Return the best features by weighted rank, or a random set if there are no filters."""
    p = len(table.free)
    low, high = table.size_limits
    size = min(max(size, 1, low), high)
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


def mask_from_seed(table: FeatureTable, seed: int) -> Array:
    """Return the mask of an integer parameter that no sampler of this package has set."""
    rng = np.random.default_rng(seed)
    if table.ranks is None:
        return sample_geometric_mask(rng, table, np.zeros(0))
    return sample_ensemble_mask(rng, table, simplex_weights(rng, len(table.filters)))
