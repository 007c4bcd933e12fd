"""State of the search: dynamic cost, populations and the guide, computed from the archive."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import LARGEST, History
from optuna_mofs.samplers.ghga._archive import Archive, Dominance
from optuna_mofs.samplers.ghga._chains import ChainLog, GHGANote
from optuna_mofs.samplers.ghga._guides import Guide, Prediction

#: Loss of a trial that violates a constraint, above that of all feasible trials.
_INFEASIBLE_LOSS = 2 * LARGEST
#: A set is small if it has at most this many times the features of the best one.
_SMALL_SET_FACTOR = 3
#: A small set with a larger penalty, in features, cannot become an optimum.
_MAX_PENALTY = 0.5
#: Stream of the generators of the guide.
_GUIDE_STREAM = 2**22 + 1
#: Largest exponent of the penalty. Above it sets are ordered by the loss itself.
_MAX_EXPONENT = 900.0

#: Function of (position, positions) that returns the dissimilarities of a set to others.
Distance = Callable[[int, Array], Array]


class _Trial(NamedTuple):
    """A completed trial: position of its set in the archive, its loss, and its note."""

    position: int
    loss: float
    note: GHGANote


class ArchiveState:
    """State computed from the completed trials; reads each of them once, in any order.

    ``column`` is that of the performance among the minimized values, ``seed`` that of the guide.
    """

    def __init__(
        self,
        table: FeatureTable,
        column: int,
        tolerance: float,
        guide: Guide | None = None,
        retrain_every: int = 50,
        seed: int = 0,
    ) -> None:
        self.table = table
        self.archive = Archive(len(table.free))
        self.chains = ChainLog()
        self.cost = np.zeros(0)
        costs = table.free_costs
        self._feature_costs = None if costs is None else costs / max(costs.mean(), 1e-300)
        self._column = column
        self._tolerance = tolerance
        self._guide = guide
        self._retrain_every = retrain_every
        self._seed = seed
        self._history = History()
        self._trials: dict[int, _Trial] = {}
        self._read = np.zeros(0, dtype=np.int64)
        self._sizes = np.zeros(0)
        self._dominance = Dominance(self.archive)
        self._predictions: dict[bool, tuple[tuple[bytes, ...], Prediction]] = {}

    # ---- reading ------------------------------------------------------------------------------

    def update(self, history: History) -> None:
        """Read the trials that are new."""
        archive, self._history = self.archive, history
        if len(history) == len(self._trials):
            return
        new = np.arange(len(self._read), len(history))
        if not np.array_equal(history.numbers[: len(self._read)], self._read):
            # An older trial has completed late.
            new = np.flatnonzero(~np.isin(history.numbers, self._read))
        self._read = history.numbers.copy()
        n_before = len(archive.sizes)
        infeasible = history.violations > 0
        losses = np.where(infeasible, _INFEASIBLE_LOSS, history.values[:, self._column])
        for i in new.tolist():
            number, loss = int(history.numbers[i]), float(losses[i])
            position, note = (
                archive.add(history.packed[i], loss, number),
                history.note(i, GHGANote),
            )
            self._trials[number] = _Trial(position, loss, note)
            self.chains.add(number, note)
        sizes: Array = archive.sizes[n_before:].astype(float)
        if self._feature_costs is not None:
            sizes = archive.masks(slice(n_before, len(archive.sizes))) @ self._feature_costs
        self._sizes = np.concatenate([self._sizes, sizes])
        self.cost = dynamic_cost(self._sizes, archive.losses, self._tolerance)
        self._dominance.update(self.cost)

    # ---- sets ---------------------------------------------------------------------------------

    def position(self, number: int) -> int:
        """Return the position in the archive of the set of a trial."""
        return self._trials[number].position

    def inherited(self, position: int) -> tuple[Array, GHGANote]:
        """Return the row of the best trial of a set, and a note with its adapted parameters."""
        number = int(self.archive.numbers[position])
        i = int(np.searchsorted(self._history.numbers, number))
        note = self._trials[number].note
        inherited = GHGANote(step_size=note.step_size, switch_prob=note.switch_prob)
        return self._history.rows[i], inherited

    def improves(self, position: int, master: int, max_penalty_increase: float | None) -> bool:
        """Return whether a set costs less than its master and adds little to the penalty."""
        gain = float(self.cost[master] - self.cost[position])
        increase = float(self._sizes[master] - self._sizes[position]) - gain
        return gain > 0 and (max_penalty_increase is None or increase <= max_penalty_increase)

    def cannot_improve(self, position: int) -> bool:
        """Return whether a set is small and penalized so much that it cannot become an optimum."""
        small = self._sizes[position] <= _SMALL_SET_FACTOR * self._sizes[self.best]
        return bool(small and self.cost[position] - self._sizes[position] > _MAX_PENALTY)

    def best_step(self, number: int) -> int | None:
        """Return the trial of the best leave-one-out set, if all were tried and it is better."""
        position, archive = self.position(number), self.archive
        if not archive.inert[position]:
            return None
        best = int(self.best_first(archive.leave_one_out(position))[0])
        return int(archive.numbers[best]) if self.cost[best] < self.cost[position] else None

    @property
    def best(self) -> int:
        """Position of the set with the lowest cost, the earliest if there are several."""
        lowest = np.flatnonzero(self.cost == self.cost.min())
        return int(lowest[self.archive.numbers[lowest].argmin()])

    def best_first(self, positions: Array) -> Array:
        """Return positions in order of cost, then loss, then trial number."""
        archive = self.archive
        keys = (archive.numbers[positions], archive.losses[positions], self.cost[positions])
        return positions[np.lexsort(keys)]

    def optima(self) -> Array:
        """Return the positions of the known optima.

        They are inert, not dominated, and cost at most one feature more than the best: a set that
        just stays within the tolerance costs one feature more.
        """
        found = np.flatnonzero(self.archive.inert & ~self._dominance.flags)
        if not len(found):
            return found
        return found[self.cost[found] <= self.cost[found].min() + 1]

    def reproductive(
        self,
        radius: float,
        max_similar: int,
        *,
        as_printed: bool = False,
        strict: bool = False,
    ) -> Array:
        """Return the reproductive population, or the best set where no set is eligible.

        ``as_printed``: the best set is always a member, and the first set in order of cost that is
        not above the median ends the population. Otherwise such sets, and an inert best set, are
        skipped: eliminations soon fill the archive with good sets, and as printed the population
        then shrinks to one inert set. ``strict``: sets at the median are skipped too.
        """
        archive = self.archive
        if as_printed:
            order = self.best_first(np.arange(len(archive.sizes)))
            below = archive.losses[order[1:]] >= np.median(archive.losses)
            end = 1 + (int(below.argmax()) if below.any() else len(below))
            fit = ~self._dominance.flags & ~archive.inert & (archive.sizes > 0)
            fit[order[0]] = True
            order = order[:end]
            return reproductive_population(
                order[fit[order]],
                archive.crowding,
                archive.dissimilarity,
                radius=radius,
                max_similar=max_similar,
            )
        median = np.median(archive.losses)
        good = archive.losses < median if strict else archive.losses <= median
        # The tests of Algorithm 2, line 6.
        eligible = good & ~self._dominance.flags & ~archive.inert & (archive.sizes > 0)
        if not eligible.any():
            return self.best_first(np.arange(len(archive.sizes)))[:1]
        return reproductive_population(
            self.best_first(np.flatnonzero(eligible)),
            archive.crowding,
            archive.dissimilarity,
            radius=radius,
            max_similar=max_similar,
        )

    # ---- the guide ----------------------------------------------------------------------------

    def prediction(self, *, before: int | None = None, include_supersets: bool) -> Prediction:
        """Return the guide, fitted to the first k·``retrain_every`` trials with the largest k.

        Args:
            before: Fit it only to trials with lower numbers. In Algorithm 1 a guide does not
                change during an elimination.
            include_supersets: Fit it also to supersets of known optima. These only show that the
                other features are dispensable, which is wrong where the optimum is incomplete. If
                they are left out, the guide is fitted again also when the known optima change.
        """
        history, every = self._history, self._retrain_every
        n_trials = len(history)
        if before is not None:
            n_trials = int(np.searchsorted(history.numbers, before))
        count = max(min(every, n_trials), n_trials // every * every)
        optima, key = np.zeros(0, dtype=np.intp), (history.numbers[:count].tobytes(),)
        if not include_supersets:
            optima = self.optima()
            key += tuple(sorted(mask.tobytes() for mask in self.archive.masks(optima)))
        fitted = self._predictions.get(include_supersets)
        if fitted is None or fitted[0] != key:
            assert self._guide is not None
            trials = [self._trials[number] for number in history.numbers[:count].tolist()]
            positions = np.array([trial.position for trial in trials])
            rows = np.flatnonzero(~self.archive.contains(positions, optima).any(axis=1))
            if not len(rows):
                rows = np.arange(count)
            masks = self.archive.masks(positions[rows])
            losses = np.array([trial.loss for trial in trials])[rows]
            rng = np.random.default_rng([self._seed, _GUIDE_STREAM, count])
            fitted = key, self._guide(masks, losses, rng)
            self._predictions[include_supersets] = fitted
        return fitted[1]


def dynamic_cost(sizes: Array, losses: Array, tolerance: float) -> Array:
    """Return size plus a penalty for being worse than the best set (eq. 2 and 3).

    Up to ``tolerance`` (ε) above the lowest loss the penalty is at most one feature; it doubles
    with each further ``tolerance``. Losses are the negative of the paper's modeling efficiency;
    those of infeasible sets are above :data:`~optuna_mofs.history._history.LARGEST`.

    Example:
        >>> dynamic_cost(np.array([5, 3, 2]), np.array([0.10, 0.11, 0.12]), 0.01).tolist()
        [5.0, 4.0, 5.0]
    """
    with np.errstate(over="ignore"):
        steps = np.round((losses - losses.min()) / tolerance, 9)
    # Infeasible sets cost more than any feasible one.
    limit = np.where(losses > LARGEST, _MAX_EXPONENT + 1, _MAX_EXPONENT)
    return sizes + np.exp2(np.minimum(steps, limit)) - 1


def reproductive_population(
    order: Array, crowding: Array, distance: Distance, *, radius: float, max_similar: int
) -> Array:
    """Return the reproductive population R from the eligible sets, best first (Algorithm 2).

    Each is less crowded than those before it. Sets closer than ``radius`` (δ) are similar; a set
    with ``max_similar`` (ρ) similar ones in R stays out.
    """
    chosen, crowding = [int(order[0])], crowding[order]
    least, left, n_similar = crowding[0], np.arange(1, len(order)), np.zeros(len(order))
    while True:
        # A set that is as crowded as the last one chosen will never be less crowded.
        left = left[crowding[left] < least]
        n_similar[left] += distance(chosen[-1], order[left]) < radius
        possible = left[n_similar[left] < max_similar]
        if not len(possible):
            break
        following = possible[0]
        chosen.append(int(order[following]))
        least, left = crowding[following], left[left > following]
    return np.array(chosen)


def elimination_population(members: Array, inert: Array, distance: Distance) -> Array:
    """Return the sets of R, best first, that may be reduced: B (Algorithm 3).

    Each of them is farther from the nearest inert set than all before it.
    """
    if not len(inert):
        return members
    nearest = np.array([distance(position, inert).min() for position in members.tolist()])
    farthest_before = np.maximum.accumulate(np.concatenate([[-1.0], nearest[:-1]]))
    return members[nearest > farthest_before]


def similar_pair(
    rng: np.random.Generator, positions: Array, distance: Distance
) -> tuple[int, int]:
    """Return a random parent, and of two others the one more similar to it (section 2.4)."""
    first = int(rng.choice(positions))
    two = rng.choice(positions, 2)
    return first, int(two[np.argmin(distance(first, two))])


def tournament(rng: np.random.Generator, positions: Array, divisor: int) -> int:
    """Return the best of a random part of B, best first: one in ``divisor`` (κ) takes part."""
    size = -(-len(positions) // divisor)
    return int(positions[rng.permutation(len(positions))[:size].min()])
