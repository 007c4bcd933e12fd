"""NSGA-II's order of points: constraint violation, Pareto rank, crowding (Deb et al. 2002)."""

from __future__ import annotations

import moocore
import numpy as np

from optuna_mofs.features.table import Array


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
    distance = np.zeros(len(values))
    for j in range(values.shape[1]):
        column = values[:, j]
        order = np.lexsort((column, ranks))
        sorted_ranks, sorted_values = ranks[order], column[order]
        first = np.r_[True, sorted_ranks[1:] != sorted_ranks[:-1]]
        last = np.r_[first[1:], True]
        before = np.r_[sorted_values[:1], sorted_values[:-1]]
        after = np.r_[sorted_values[1:], sorted_values[-1:]]
        gap = after - before
        if normalise:
            starts = np.flatnonzero(first)
            span = sorted_values[np.flatnonzero(last)] - sorted_values[starts]
            width = np.repeat(span, np.diff(np.r_[starts, len(values)]))
            gap = np.divide(gap, width, out=np.zeros_like(gap), where=width > 0)
        gap[first | last] = np.inf
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
        first = np.unique(np.column_stack([values, violations]), axis=0, return_index=True)[1]
        again = np.setdiff1d(np.arange(len(values)), first)
        ranks[again] += len(values)
    crowding = crowding_distances(values, ranks, normalise=normalise)
    best = np.sort(np.lexsort((-crowding, ranks))[:count])
    return best, ranks[best], crowding[best]


def binary_tournament(rng: np.random.Generator, ranks: Array, crowding: Array) -> int:
    """The better of two random points: lower rank, then larger crowding distance."""
    a, b = rng.integers(len(ranks), size=2)
    if (ranks[a], -crowding[a]) <= (ranks[b], -crowding[b]):
        return int(a)
    return int(b)
