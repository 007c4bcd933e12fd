"""The population at any moment, replayed over the completed trials, and the choice of parents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.fronts._dominance import pareto_ranks
from optuna_mofs.history._history import History, unchanged

#: Generations kept for late trials; a later one replays the history.
_KEPT = 200


class Population:
    """Survivors of mu + lambda selection, replayed over the history.

    Generation 0 holds the best of the ``first`` finished trials; each further ``offspring`` of
    them compete with the population of the generation before. Nothing waits for a slow trial:
    finished trials fill the generations, whichever they are. The last generations are kept, so
    that a late trial with a low number changes only what came after it.

    Args:
        mu: Size of the population after ``n`` finished trials.
        offspring: Trials of a generation.
        first: Trials of generation 0.
        normalise: Whether crowding distances are normalised.
        unique: Whether points of equal values come last.
    """

    def __init__(
        self,
        mu: Callable[[int], int],
        offspring: int,
        *,
        first: int,
        normalise: bool = True,
        unique: bool = True,
    ) -> None:
        self._mu = mu
        self._offspring = offspring
        self._first = first
        self._options = {"normalise": normalise, "unique": unique}
        self._numbers = np.zeros(0, dtype=np.int64)
        self._generations: list[tuple[int, Array, Array, Array]] = []

    def of(self, numbers: Array, values: Array, violations: Array) -> tuple[Array, Array, Array]:
        """Positions in the history, ranks and crowding distances of the current population."""
        self._forget_changed(numbers)
        if not self._generations:
            self._generations.append((0, *_nobody()))
        done, members, _, _ = self._generations[-1]
        while done < len(numbers):
            step = self._offspring if done else self._first
            if done + step > len(numbers):
                break
            pool = np.concatenate([members, np.arange(done, done + step)])
            done += step
            best, ranks, crowding = survivors(
                values[pool], violations[pool], self._mu(done), **self._options
            )
            members = pool[best]
            self._generations.append((done, members, ranks, crowding))
        del self._generations[:-_KEPT]
        return self._generations[-1][1:]

    def _forget_changed(self, numbers: Array) -> None:
        stable = unchanged(self._numbers, numbers)
        while self._generations and self._generations[-1][0] > stable:
            self._generations.pop()
        self._numbers = numbers.copy()


def _nobody() -> tuple[Array, Array, Array]:
    return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)


#: Draws the position of a parent in the history, given the generator.
Draw = Callable[[np.random.Generator], int]
#: Prepares a draw from (history, members, their ranks, their crowding distances).
ParentSelection = Callable[[History, Array, Array, Array], Draw]


def tournament_parents(history: History, members: Array, ranks: Array, crowding: Array) -> Draw:
    """Binary tournament on rank and crowding, as in NSGA-II."""
    return lambda rng: int(members[binary_tournament(rng, ranks, crowding)])


@dataclass(frozen=True)
class HypervolumeParents:
    """Members of the front by their share of the hypervolume, mixed with tournaments.

    A better child of a parent that holds much of the hypervolume gains much; crowding, which
    treats all stretches of the front alike, cannot see that.

    Args:
        share: Probability of drawing by hypervolume rather than by tournament.
        even: Part of the hypervolume draw that is spread evenly over the front.
    """

    share: float = 0.5
    even: float = 0.2

    def __call__(self, history: History, members: Array, ranks: Array, crowding: Array) -> Draw:
        """Prepare a draw."""
        front = members[ranks == ranks.min()]
        parts = _hypervolume_shares(history.values[front], history.reference())
        edges = np.cumsum((1 - self.even) * parts + self.even / len(front))

        def draw(rng: np.random.Generator) -> int:
            if rng.random() < self.share:
                place = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
                return int(front[min(place, len(front) - 1)])
            return int(members[binary_tournament(rng, ranks, crowding)])

        return draw


def _hypervolume_shares(values: Array, reference: Array) -> Array:
    even = np.full(len(values), 1 / len(values))
    if len(values) == 1 or values.shape[1] > 4:
        # Beyond four objectives exact contributions cost more than they tell.
        return even
    parts: Array = moocore.hv_contributions(np.minimum(values, reference), ref=reference)
    total = parts.sum()
    return parts / total if np.isfinite(total) and total > 0 else even


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
