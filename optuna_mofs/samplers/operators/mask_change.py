"""Mutation and crossover of masks (Binder et al. 2020, sections 4.3.3 and 4.3.4).

A mutation is a function of (generator, mask, table, weights) that returns a new mask.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import cheap_first, ensemble_probability
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
        drawn = rng.random(p) < cheap_first(probability, table.free_costs)
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
        drawn = rng.random(p) < cheap_first(probability, table.free_costs)
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
        probability = np.clip(cheap_first(probability, table.free_costs), 1e-9, 1 - 1e-9)
        odds = probability / (1 - probability)
        for _ in range(int(rng.geometric(1 - self.more))):
            add = not mask.any() or (not mask.all() and rng.random() < 0.5)
            pull = np.where(mask, 0.0, odds) if add else np.where(mask, 1 / odds, 0.0)
            edges = np.cumsum(pull)
            j = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
            mask[min(j, p - 1)] = add
        return mask
