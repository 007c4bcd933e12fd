"""Crossover and mutation that keep the number of features (Jung and Zscheischler 2013, 2.4)."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array

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
