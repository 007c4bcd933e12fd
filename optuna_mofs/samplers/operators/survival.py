"""NSGA-II's order of points: constraint violation, Pareto rank, crowding (Deb et al. 2002)."""

from __future__ import annotations

import moocore
import numpy as np

from optuna_mofs._typing import Array


def pareto_ranks(values: Array, violations: Array) -> Array:
    """Rank of each point, 0 best; infeasible points come after all feasible ones.

    Args:
        values: Points × objectives, minimised.
        violations: Total violation of each point, 0 if feasible.
    """
    ranks = np.empty(len(values), dtype=np.int64)
    feasible = violations <= 0
    last = -1
    if feasible.any():
        ranks[feasible] = moocore.pareto_rank(values[feasible])
        last = int(ranks[feasible].max())
    if not feasible.all():
        # Among infeasible points the smaller violation wins (constrained domination).
        levels = np.unique(violations[~feasible], return_inverse=True)[1]
        ranks[~feasible] = last + 1 + levels
    return ranks


def crowding_distances(values: Array, ranks: Array, *, normalise: bool = True) -> Array:
    """Crowding distance of each point within its rank.

    Args:
        values: Points × objectives.
        ranks: Pareto rank of each point.
        normalise: Divide by the range of each objective (the paper's code did not).
    """
    count = len(values)
    distance = np.zeros(count)
    first, last = np.ones(count, dtype=bool), np.ones(count, dtype=bool)
    gap = np.empty(count)
    for j in range(values.shape[1]):
        order = np.lexsort((values[:, j], ranks))
        sorted_ranks, sorted_values = ranks[order], values[order, j]
        if j == 0:  # where ranks begin and end is the same in every objective
            np.not_equal(sorted_ranks[1:], sorted_ranks[:-1], out=first[1:])
            last[:-1] = first[1:]
            inner = ~(first | last)
            rank_of = np.cumsum(first) - 1
        gap[:] = np.inf
        gap[1:-1] = sorted_values[2:] - sorted_values[:-2]
        if normalise:
            span = (sorted_values[last] - sorted_values[first])[rank_of]
            gap = np.divide(gap, span, out=np.zeros(count), where=span > 0)
        gap[~inner] = np.inf
        distance[order] += gap
    return distance


def survivors(
    values: Array,
    violations: Array,
    count: int,
    *,
    normalise: bool = True,
    unique: bool = False,
) -> tuple[Array, Array, Array]:
    """The best ``count`` points, by rank then crowding.

    Args:
        values: Points × objectives, minimised.
        violations: Total violation of each point.
        count: How many may stay.
        normalise: Whether crowding distances are divided by ranges.
        unique: Whether of points with equal values all but the first come last, so that they do
            not fill the population with one place of the front.

    Returns:
        Their positions (ascending), and rank and crowding distance of each of them.
    """
    ranks = pareto_ranks(values, violations)
    if unique:
        ranks[_repeats(values, violations)] += len(values)
    crowding = crowding_distances(values, ranks, normalise=normalise)
    best = np.sort(np.lexsort((-crowding, ranks))[:count])
    return best, ranks[best], crowding[best]


def _repeats(values: Array, violations: Array) -> Array:
    """Which points have the values of an earlier point."""
    columns = np.column_stack([values, violations])
    order = np.lexsort(columns.T)  # stable: of equal points the earlier comes first
    again = np.zeros(len(values), dtype=bool)
    again[order[1:]] = (columns[order[1:]] == columns[order[:-1]]).all(axis=1)
    return again


def binary_tournament(rng: np.random.Generator, ranks: Array, crowding: Array) -> int:
    """The better of two random points: lower rank, then larger crowding distance."""
    a, b = rng.integers(len(ranks), size=2)
    if (ranks[a], -crowding[a]) <= (ranks[b], -crowding[b]):
        return int(a)
    return int(b)
