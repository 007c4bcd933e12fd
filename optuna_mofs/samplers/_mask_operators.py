"""Mutation and crossover of masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import cost_adjusted, ensemble_probability
from optuna_mofs.features._table import FeatureTable

#: Function of (generator, mask, feature table, filter weights) that returns a mutated copy.
MaskMutation = Callable[[np.random.Generator, Array, FeatureTable, Array], Array]
#: Highest mutation rate. At a rate of 1 nothing is random: a mask of half the features would
#: always become the other half, which is soon tried.
MAX_RATE = 0.9


def uniform_mask_crossover(
    rng: np.random.Generator, first: Array, second: Array, swapping_prob: float = 0.5
) -> Array:
    """Return a mask with each bit from ``second`` with a probability, else from ``first``."""
    return np.where(rng.random(len(first)) < swapping_prob, second, first)


@dataclass(frozen=True)
class BitFlip:
    """Flip each bit with a probability (Binder et al. 2020, variants 1 to 3).

    Args:
        prob: Probability that a bit is flipped.
    """

    prob: float = 0.1

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """Return a mutated copy."""
        return table.limited(mask ^ (rng.random(len(mask)) < self.prob))


@dataclass(frozen=True)
class HammingPreserving:
    """Erase bits and draw them again so that the size stays about the same (section 4.3.3).

    Args:
        erase_prob: Probability that a bit is erased; the authors' code uses 0.2.
    """

    erase_prob: float = 0.2

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """Return a mutated copy."""
        probability = np.full(len(mask), (np.count_nonzero(mask) + 1) / (len(mask) + 2))
        return _redraw(rng, mask, self.erase_prob, probability, table)


@dataclass(frozen=True)
class FilterEnsembleMutation:
    """Erase bits and draw them again with probabilities of the filters (section 4.3.4, eq. 2).

    Args:
        erase_prob: Probability that a bit is erased; the authors' code uses 0.1.
    """

    erase_prob: float = 0.1

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """Return a mutated copy."""
        if table.free_ranks is None:
            return HammingPreserving(self.erase_prob)(rng, mask, table, weights)
        size = int(np.count_nonzero(mask))
        probability = ensemble_probability(weights @ table.free_ranks, size, len(mask))
        return _redraw(rng, mask, self.erase_prob, probability, table)


def _redraw(
    rng: np.random.Generator,
    mask: Array,
    erase_prob: float,
    probability: Array,
    table: FeatureTable,
) -> Array:
    """Return a mask in which random bits are drawn again with the given probabilities."""
    probability = cost_adjusted(probability, table.free_costs)
    erased = rng.random(len(mask)) < erase_prob
    return table.limited(np.where(erased, rng.random(len(mask)) < probability, mask))


@dataclass(frozen=True)
class AddDrop:
    """Add or drop a few features, one after the other, drawn by the filters.

    Args:
        continue_prob: Probability of one more change after each change, so that their number is
            geometric.
    """

    continue_prob: float = 0.4

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """Return a mutated copy."""
        p = len(mask)
        mask = mask.copy()
        if p == 0:  # every feature is fixed
            return mask
        score = np.full(p, 0.5) if table.free_ranks is None else weights @ table.free_ranks
        size = float(np.clip(np.count_nonzero(mask), 1, p / 2))
        probability = ensemble_probability(score, size, p)
        probability = np.clip(cost_adjusted(probability, table.free_costs), 1e-9, 1 - 1e-9)
        odds = probability / (1 - probability)
        low, high = table.size_limits
        for _ in range(int(rng.geometric(1 - self.continue_prob))):
            count = np.count_nonzero(mask)
            # Equal limits leave only exchanges, which `limited` completes.
            add = count <= low or (count < high and rng.random() < 0.5)
            weight = np.where(mask, 0.0, odds) if add else np.where(mask, 1 / odds, 0.0)
            edges = np.cumsum(weight)
            j = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
            mask[min(j, p - 1)] = add
        return table.limited(mask)


def commonality_crossover(rng: np.random.Generator, first: Array, second: Array) -> Array:
    """Return one child of SSOCF (Emmanouilidis, Hunter and MacIntyre 2000).

    Features of both parents are kept. Of the features that only one parent has, the child takes
    as many, on average, as ``first`` has. Exchange the parents for the complementary child, which
    has the size of ``second``.

    Example:
        >>> same = np.array([True, False, True])
        >>> commonality_crossover(np.random.default_rng(0), same, same).tolist()
        [True, False, True]
    """
    both, one = first & second, first ^ second
    n_different = np.count_nonzero(one)
    if not n_different:
        return both
    prob = (np.count_nonzero(first) - np.count_nonzero(both)) / n_different
    return both | (one & (rng.random(len(first)) < prob))


def size_keeping_mutation(rng: np.random.Generator, mask: Array, rate: float) -> Array:
    """Return a mask with features dropped at a rate (r¹) and, on average, as many added."""
    n_selected = np.count_nonzero(mask)
    n_others = len(mask) - n_selected
    add_prob = min(1.0, rate * n_selected / n_others) if n_others else 0.0
    return mask ^ (rng.random(len(mask)) < np.where(mask, rate, add_prob))


def declining_rate(
    iteration: float, last: int, shape: float, final: float, limit: float = MAX_RATE
) -> float:
    """Return the mutation rate of an iteration, counted from 1, at most ``limit``.

    It declines with exponent ``shape`` (θ) from nearly 1 to ``final`` (φ) at iteration ``last``
    (λ), and is constant afterwards.

    Example:
        >>> [round(declining_rate(i, 100, 0.5, 0.05), 3) for i in (1, 25, 100, 1000)]
        [0.9, 0.606, 0.05, 0.05]
    """
    if iteration >= last:
        return final
    decline = (last**shape - iteration**shape) / (last**shape - 1)
    return float(min(limit, max(decline + final, final)))


def differential_mask(
    rng: np.random.Generator,
    base: Array,
    first: Array,
    second: Array,
    *,
    scale: float = 0.5,
    crossover_prob: float = 0.7,
) -> Array:
    """Return a mask moved along the difference of two others, like :func:`differential_rows`.

    A bit takes part with probability ``crossover_prob`` (CR). Where the two disagree, it then
    becomes that of ``first`` with probability ``scale`` (F).
    """
    taken = (first != second) & (rng.random(len(base)) < scale * crossover_prob)
    return np.where(taken, first, base)
