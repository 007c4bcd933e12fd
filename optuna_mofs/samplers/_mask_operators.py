"""Mutation and crossover of masks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import cost_adjusted, ensemble_probability
from optuna_mofs.features._table import FeatureTable

MaskMutation = Callable[[np.random.Generator, Array, FeatureTable, Array], Array]


def uniform_mask_crossover(
    rng: np.random.Generator, first: Array, second: Array, probability: float = 0.5
) -> Array:
    """Take each bit of ``second`` with the given probability, else of ``first``."""
    return np.where(rng.random(len(first)) < probability, second, first)


@dataclass(frozen=True)
class BitFlip:
    """Flip each bit with a probability (variants 1 to 3).

    Args:
        rate: The probability.
    """

    rate: float = 0.1

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """A mutated copy."""
        return mask ^ (rng.random(len(mask)) < self.rate)


@dataclass(frozen=True)
class HammingPreserving:
    """Erase bits and draw them anew so that the size stays about the same (section 4.3.3).

    Args:
        erased: Probability that a bit is erased; the authors' code uses 0.2.
    """

    erased: float = 0.2

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """A mutated copy."""
        p = len(mask)
        again = rng.random(p) < self.erased
        probability = np.full(p, (np.count_nonzero(mask) + 1) / (p + 2))
        drawn = rng.random(p) < cost_adjusted(probability, table.free_costs)
        return np.where(again, drawn, mask)


@dataclass(frozen=True)
class FilterEnsembleMutation:
    """The same with probabilities that follow the filters (section 4.3.4, eq. 2).

    Args:
        erased: Probability that a bit is erased; the authors' code uses 0.1.
    """

    erased: float = 0.1

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """A mutated copy."""
        if table.free_ranks is None:
            return HammingPreserving(self.erased)(rng, mask, table, weights)
        p = len(mask)
        again = rng.random(p) < self.erased
        size = int(np.count_nonzero(mask))
        probability = ensemble_probability(weights @ table.free_ranks, size, p)
        drawn = rng.random(p) < cost_adjusted(probability, table.free_costs)
        return np.where(again, drawn, mask)


@dataclass(frozen=True)
class AddDrop:
    """Add or drop a few features, one after the other; the filters say which are likely.

    Args:
        more: Probability of one more change after each: their number is geometric.
    """

    more: float = 0.4

    def __call__(
        self, rng: np.random.Generator, mask: Array, table: FeatureTable, weights: Array
    ) -> Array:
        """A mutated copy."""
        p = len(mask)
        mask = mask.copy()
        if p == 0:  # every feature is fixed
            return mask
        score = np.full(p, 0.5) if table.free_ranks is None else weights @ table.free_ranks
        size = float(np.clip(np.count_nonzero(mask), 1, p / 2))
        probability = ensemble_probability(score, size, p)
        probability = np.clip(cost_adjusted(probability, table.free_costs), 1e-9, 1 - 1e-9)
        odds = probability / (1 - probability)
        for _ in range(int(rng.geometric(1 - self.more))):
            add = not mask.any() or (not mask.all() and rng.random() < 0.5)
            pull = np.where(mask, 0.0, odds) if add else np.where(mask, 1 / odds, 0.0)
            edges = np.cumsum(pull)
            j = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
            mask[min(j, p - 1)] = add
        return mask


#: At a rate of 1 nothing is left to chance: the child of a half is its other half, known soon.
_HIGHEST = 0.9


def commonality_crossover(rng: np.random.Generator, first: Array, second: Array) -> Array:
    """One child of SSOCF (Emmanouilidis, Hunter and MacIntyre 2000).

    What both parents have stays; of what one of them has the child takes as many, on average, as
    ``first`` has of it. The complementary child, which has the size of ``second``, is that of
    exchanged parents.

    Example:
        >>> same = np.array([True, False, True])
        >>> commonality_crossover(np.random.default_rng(0), same, same).tolist()
        [True, False, True]
    """
    both, either = first & second, first ^ second
    differ = np.count_nonzero(either)
    if not differ:
        return both
    rate = (np.count_nonzero(first) - np.count_nonzero(both)) / differ
    child: Array = both | (either & (rng.random(len(first)) < rate))
    return child


def size_keeping_mutation(rng: np.random.Generator, mask: Array, rate: float) -> Array:
    """Drop features at a rate, and add as many on average.

    Args:
        rng: Generator.
        mask: A mask.
        rate: Probability that an included feature is dropped (r¹).
    """
    inside = np.count_nonzero(mask)
    outside = len(mask) - inside
    adding = min(1.0, rate * inside / outside) if outside else 0.0
    mutated: Array = mask ^ (rng.random(len(mask)) < np.where(mask, rate, adding))
    return mutated


def declining_rate(iteration: float, last: int, shape: float, final: float) -> float:
    """Mutation rate: from nearly 1 down to ``final`` at iteration ``last``, then constant.

    Args:
        iteration: Number of this iteration, from 1.
        last: Iterations of phase 1 (λ).
        shape: Shape of the decline (θ).
        final: Rate in phase 2 (φ).

    Example:
        >>> [round(declining_rate(i, 100, 0.5, 0.05), 3) for i in (1, 25, 100, 1000)]
        [0.9, 0.606, 0.05, 0.05]
    """
    if iteration >= last:
        return final
    decline = (last**shape - iteration**shape) / (last**shape - 1)
    return float(min(_HIGHEST, max(decline + final, final)))


def differential_mask(
    rng: np.random.Generator,
    base: Array,
    first: Array,
    second: Array,
    *,
    scale: float = 0.5,
    rate: float = 0.7,
) -> Array:
    """The same for masks: where two masks disagree, take a bit of ``first``.

    Args:
        rng: Generator.
        base: The mask that is changed.
        first: The mask towards which it changes.
        second: The mask that says where.
        scale: Probability that a bit in which the two disagree is taken (F).
        rate: Probability that a bit takes part (CR).
    """
    taken = (first != second) & (rng.random(len(base)) < scale * rate)
    return np.where(taken, first, base)
