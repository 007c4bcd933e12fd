"""The population, replayed over the completed trials, and the selection of parents."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_probability
from optuna_mofs.fronts._dominance import constrained_rank, in_range
from optuna_mofs.history._history import History, HistoryFollower

#: Generations kept for late trials; an even later trial replays the whole history.
_MAX_GENERATIONS = 200


class Generation(NamedTuple):
    """A population after some completed trials."""

    #: Number of completed trials so far.
    n_trials: int
    #: Positions in the history.
    members: Array
    ranks: Array
    crowding: Array


class Population(HistoryFollower):
    """Survivors of mu + lambda selection, replayed over the history.

    Generation 0 holds the best of the first ``n_startup_trials`` trials; each further
    ``n_offspring`` trials compete with the population before them. Nothing waits for a slow
    trial: completed trials fill the generations in order of their numbers.

    ``population_size`` is a function of the number of completed trials. The other arguments are
    as in :class:`NSGA2Settings`.
    """

    def __init__(
        self,
        population_size: Callable[[int], int],
        n_offspring: int,
        n_startup_trials: int,
        *,
        normalize_crowding: bool = True,
        eliminate_duplicates: bool = True,
    ) -> None:
        super().__init__()
        self._population_size = population_size
        self._n_offspring = n_offspring
        self._n_startup_trials = n_startup_trials
        self._normalize = normalize_crowding
        self._unique = eliminate_duplicates
        self._generations = [_EMPTY]
        #: The latest generation.
        self.current = _EMPTY

    def rewind(self, n_trials: int) -> None:
        """Forget the generations after the first ``n_trials`` trials."""
        self._generations = [g for g in self._generations if g.n_trials <= n_trials] or [_EMPTY]
        self.current = self._generations[-1]

    def advance(self, history: History) -> None:
        """Add all generations that are complete."""
        done, members = self.current.n_trials, self.current.members
        while True:
            step = self._n_offspring if done else self._n_startup_trials
            if done + step > len(history):
                break
            pool = np.concatenate([members, np.arange(done, done + step)])
            done += step
            best, ranks, crowding = survivors(
                history.values[pool],
                history.violations[pool],
                self._population_size(done),
                normalize=self._normalize,
                unique=self._unique,
            )
            members = pool[best]
            self._generations.append(Generation(done, members, ranks, crowding))
        del self._generations[:-_MAX_GENERATIONS]
        self.current = self._generations[-1]


_EMPTY = Generation(0, np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def is_wasteful(history: History, mask: Array, parent: Array | None) -> bool:
    """Return whether a mask was tried and should not be tried again.

    A mask is tried again only if it is that of the parent, so that only the hyperparameters
    change. Without features there are no hyperparameters to change.
    """
    assert history.table is not None
    same_size = history.packed[history.sizes == np.count_nonzero(mask)]
    if not len(same_size) or not (same_size == np.packbits(mask)).all(axis=1).any():
        return False
    is_empty = not history.table.fixed and not mask.any()
    return is_empty or parent is None or not np.array_equal(mask, parent)


#: Function of a generator that returns the position of a parent in the history.
DrawParent = Callable[[np.random.Generator], int]
#: Function of (history, generation) that returns a :data:`DrawParent`.
ParentSelection = Callable[[History, Generation], DrawParent]


@dataclass(frozen=True)
class TournamentSelection:
    """Binary tournament on rank and crowding, as in NSGA-II."""

    def __call__(self, history: History, generation: Generation) -> DrawParent:
        """Return a function that draws a parent."""
        _, members, ranks, crowding = generation
        return lambda rng: int(members[binary_tournament(rng, ranks, crowding)])


@dataclass(frozen=True)
class HypervolumeSelection:
    """Members of the front by their hypervolume contribution, mixed with tournaments.

    Crowding treats all parts of the front alike, but an improved child of a parent with a large
    contribution gains more.

    Args:
        prob: Probability of drawing by hypervolume instead of by tournament.
        uniform: Part of the hypervolume draw that is uniform over the front.
    """

    prob: float = 0.5
    uniform: float = 0.2

    def __post_init__(self) -> None:
        check_probability("prob", self.prob)
        check_probability("uniform", self.uniform)

    def __call__(self, history: History, generation: Generation) -> DrawParent:
        """Return a function that draws a parent."""
        _, members, ranks, crowding = generation
        front = members[ranks == ranks.min()]
        shares = _hypervolume_shares(history.values[front], history.reference())
        edges = np.cumsum((1 - self.uniform) * shares + self.uniform / len(front))

        def draw(rng: np.random.Generator) -> int:
            if rng.random() < self.prob:
                i = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
                return int(front[min(i, len(front) - 1)])
            return int(members[binary_tournament(rng, ranks, crowding)])

        return draw


def _hypervolume_shares(values: Array, reference: Array) -> Array:
    shares = np.full(len(values), 1 / len(values))
    if len(values) == 1 or values.shape[1] > 4:
        # With more than four objectives exact contributions take too long.
        return shares
    parts: Array = moocore.hv_contributions(in_range(np.minimum(values, reference)), ref=reference)
    total = parts.sum()
    return parts / total if np.isfinite(total) and total > 0 else shares


def crowding_distances(values: Array, ranks: Array, *, normalize: bool = True) -> Array:
    """Return the crowding distance of each point within its Pareto rank.

    ``normalize`` divides by the range of each objective; the paper's code does not.
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
        if normalize:
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
    normalize: bool = True,
    unique: bool = False,
) -> tuple[Array, Array, Array]:
    """Return positions (ascending), ranks and crowding of the best points, by rank, then crowding.

    If ``unique``, all but the first of the points with equal values come last, so that they do not
    fill the population with one point of the front.
    """
    ranks = constrained_rank(values, violations)
    if unique:
        columns = np.column_stack([values, violations])
        order = np.lexsort(columns.T)  # stable: of equal points the earlier comes first
        repeats = (columns[order[1:]] == columns[order[:-1]]).all(axis=1)
        ranks[order[1:][repeats]] += len(values)
    crowding = crowding_distances(values, ranks, normalize=normalize)
    best = np.sort(np.lexsort((-crowding, ranks))[:count])
    return best, ranks[best], crowding[best]


def binary_tournament(rng: np.random.Generator, ranks: Array, crowding: Array) -> int:
    """Return the better of two random points: lower rank, then larger crowding distance."""
    a, b = rng.integers(len(ranks), size=2)
    return int(a if (ranks[a], -crowding[a]) <= (ranks[b], -crowding[b]) else b)
