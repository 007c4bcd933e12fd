"""What the archive says: dynamic cost, populations, the guide of the moment."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.ghga._archive import Archive, Dominance
from optuna_mofs.samplers.ghga._chains import ChainLog
from optuna_mofs.samplers.ghga._guides import Guide, Prediction

#: Loss of a trial that breaks a constraint: behind all others, and no number to compute with.
_BROKEN = 1e200
#: A set is small if it has at most so many times the features of the best one.
_SMALL = 3
#: Penalty, in features, of a small set that is too bad to become an optimum.
_BAD = 0.5


class Search:
    """A cache of what follows from the history; it reads what is new and nothing twice.

    Args:
        p: Number of free features.
        costs: Cost of each free feature; None if all cost the same.
        value: Position of the value that is the loss.
        tolerance: See :func:`dynamic_cost`.
    """

    def __init__(self, p: int, costs: Array | None, value: int, tolerance: float) -> None:
        self.archive = Archive(p)
        self.trail = ChainLog()
        self.cost = np.zeros(0)
        self.position: dict[int, int] = {}
        self._costs = None if costs is None else costs / max(costs.mean(), 1e-300)
        self._value = value
        self._tolerance = tolerance
        self._numbers = np.zeros(0, dtype=np.int64)
        self._places = np.zeros(0, dtype=np.int64)
        self._place: dict[int, int] = {}
        self._sizes = np.zeros(0)
        self._dominance = Dominance(self.archive)
        self._guides: dict[bool, tuple[tuple[bytes, ...], Prediction]] = {}

    def update(self, history: History) -> None:
        """Read the trials that are new."""
        numbers = history.numbers
        known = len(self._numbers)
        if known == len(numbers):
            return
        fresh = np.arange(known, len(numbers))
        if not np.array_equal(numbers[:known], self._numbers):
            # A slow worker finished: older numbers have come in between.
            fresh = np.flatnonzero(~np.isin(numbers, self._numbers))
            self.position = {number: i for i, number in enumerate(numbers.tolist())}
        for i in fresh.tolist():
            number = int(numbers[i])
            self.position[number] = i
            loss = float(history.values[i, self._value])
            broken = history.violations[i] > 0
            self.archive.add(history.packed[i], _BROKEN if broken else loss, number)
            self._place[number] = self.archive.place_of(history.packed[i])
            self.trail.add(number, history.notes[i])
        if known == fresh[0]:
            added = [self._place[number] for number in numbers[known:].tolist()]
            self._places = np.concatenate([self._places, added])
        else:
            self._places = np.array([self._place[number] for number in numbers.tolist()])
        self._numbers = numbers.copy()
        self._judge()

    def place(self, number: int) -> int:
        """Where the archive holds the set of a trial."""
        return self._place[number]

    def gain(self, place: int, master: int, slack: float) -> float:
        """How much cheaper a set is than its master; 0 if its penalty grew by more than slack."""
        gain = float(self.cost[master] - self.cost[place])
        growth = float(self._sizes[master] - self._sizes[place]) - gain
        return gain if growth <= slack else 0.0

    def hopeless(self, place: int) -> bool:
        """Whether a set is small, and penalized so much that it cannot become an optimum."""
        best = self.best
        small = self._sizes[place] <= _SMALL * self._sizes[best]
        return bool(small and self.cost[place] - self._sizes[place] > _BAD)

    def best_step(self, number: int) -> int | None:
        """The trial of the best set with one feature less, if all were tried and it is better."""
        place = self.place(number)
        archive = self.archive
        if not archive.inert[place]:
            return None
        steps = archive.steps(place)
        best = int(self.best_first(steps)[0])
        return int(archive.numbers[best]) if self.cost[best] < self.cost[place] else None

    def row(self, history: History, place: int) -> Array:
        """Hyperparameters of the best trial of a set."""
        row: Array = history.rows[self.position[int(self.archive.numbers[place])]]
        return row

    def note(self, history: History, place: int) -> dict[str, Any]:
        """What is written on the best trial of a set."""
        return history.notes[self.position[int(self.archive.numbers[place])]]

    def eligible(self) -> Array:
        """Places of sets that may reproduce, best first (the tests of Algorithm 2, line 6)."""
        archive = self.archive
        good = archive.losses <= np.median(archive.losses)
        places = np.flatnonzero(
            good & ~self._dominance.flags & ~archive.inert & (archive.sizes > 0)
        )
        return self.best_first(places)

    def optima(self) -> Array:
        """Places of the optima known: inert, not dominated, at most one feature dearer than best.

        A set that just keeps the tolerance costs one feature more than the best.
        """
        known = np.flatnonzero(self.archive.inert & ~self._dominance.flags)
        if not len(known):
            return known
        near: Array = known[self.cost[known] <= self.cost[known].min() + 1]
        return near

    @property
    def best(self) -> int:
        """Place of the cheapest set, the earliest if there are several."""
        cheapest = np.flatnonzero(self.cost == self.cost.min())
        return int(cheapest[self.archive.numbers[cheapest].argmin()])

    def best_first(self, places: Array) -> Array:
        """Places in order of cost, then loss, then trial number."""
        archive = self.archive
        keys = (archive.numbers[places], archive.losses[places], self.cost[places])
        ordered: Array = places[np.lexsort(keys)]
        return ordered

    def prediction(
        self, history: History, guide: Guide, every: int, *, before: int | None, of_all: bool
    ) -> Prediction:
        """What the guide learned of the first k·``every`` trials, k as large as can be.

        Args:
            history: The trials.
            guide: The guide.
            every: After how many trials it learns anew.
            before: If it learns only from trials with numbers below this one. In Algorithm 1 a
                guide does not change during an elimination.
            of_all: Whether it learns also from sets that hold an optimum known. All that they
                teach is that the rest is dispensable, wrong where the optimum is not whole. If
                they are left out, it learns anew also when the optima known change.
        """
        there = len(history)
        if before is not None:
            there = int(np.searchsorted(history.numbers, before))
        count = max(min(every, there), there // every * every)
        optima = np.zeros(0, dtype=np.intp) if of_all else self.optima()
        known = sorted(mask.tobytes() for mask in self.archive.unpacked(optima))
        key = (history.numbers[:count].tobytes(), *known)
        if of_all not in self._guides or self._guides[of_all][0] != key:
            rows = self._without(optima, count)
            masks = np.unpackbits(history.packed[rows], axis=1, count=self.archive.p)
            broken = history.violations[rows] > 0
            losses = np.where(broken, _BROKEN, history.values[rows, self._value])
            rng = np.random.default_rng(count)
            self._guides[of_all] = key, guide(masks.view(bool), losses, rng)
        return self._guides[of_all][1]

    def _without(self, optima: Array, count: int) -> Array:
        """Which of the first trials hold none of some sets; all, if there are none."""
        archive = self.archive
        holds: Array = np.any(archive.holds(np.arange(len(archive)), optima), axis=1)
        rows: Array = np.flatnonzero(~holds[self._places[:count]])
        return rows if len(rows) else np.arange(count)

    def _judge(self) -> None:
        """Costs of all sets, and which are dominated."""
        archive = self.archive
        known = len(self._sizes)
        added: Array = archive.sizes[known:].astype(float)
        if self._costs is not None:
            added = archive.unpacked(np.arange(known, len(archive))) @ self._costs
        self._sizes = np.concatenate([self._sizes, added])
        self.cost = dynamic_cost(self._sizes, archive.losses, self._tolerance)
        self._dominance.update(self.cost)


#: Largest exponent of the penalty: beyond it the loss itself decides.
_STEEPEST = 900.0
#: Dissimilarities of a set (by place) to others (by places).
Distance = Callable[[int, Array], Array]


def dynamic_cost(sizes: Array, losses: Array, tolerance: float) -> Array:
    """Size plus a penalty for being worse than the best known (eq. 2 and 3).

    Up to ``tolerance`` below the best the penalty is at most one feature; it doubles with each
    further ``tolerance``.

    Args:
        sizes: Number, or cost, of features.
        losses: To be minimized; the paper's modeling efficiency with its sign turned.
        tolerance: What may be lost for a smaller set (ε).

    Example:
        >>> dynamic_cost(np.array([5, 3, 2]), np.array([0.10, 0.11, 0.12]), 0.01).tolist()
        [5.0, 4.0, 5.0]
    """
    steps = np.round((losses - losses.min()) / tolerance, 9)
    cost: Array = sizes + np.exp2(np.minimum(steps, _STEEPEST)) - 1
    return cost


def reproductive_places(
    order: Array,
    crowding: Array,
    distance: Distance,
    *,
    radius: float,
    most_similar: int,
) -> Array:
    """The reproductive population R (Algorithm 2).

    Args:
        order: Places of the sets that may be in it, best first.
        crowding: Crowding index of all sets.
        distance: Dissimilarity of sets.
        radius: Sets closer than this are similar (δ).
        most_similar: A set with this many similar ones in R stays out (ρ).
    """
    if not len(order):
        return order
    chosen = [int(order[0])]
    least = crowding[chosen[0]]
    for place, crowd in zip(order[1:].tolist(), crowding[order[1:]].tolist()):
        if crowd < least:
            similar = np.count_nonzero(distance(place, np.array(chosen)) < radius)
            if similar < most_similar:
                chosen.append(place)
                least = crowd
    return np.array(chosen)


def elimination_places(members: Array, inert: Array, distance: Distance) -> Array:
    """The sets of R that may be thinned out, B: ever farther from what is inert (Algorithm 3).

    Args:
        members: Places of R, best first.
        inert: Places of inert sets.
        distance: Dissimilarity of sets.
    """
    if not len(inert):
        return members
    nearest = np.array([distance(place, inert).min() for place in members.tolist()])
    farthest_before = np.maximum.accumulate(np.concatenate([[-1.0], nearest[:-1]]))
    chosen: Array = members[nearest > farthest_before]
    return chosen


def similar_pair(rng: np.random.Generator, places: Array, distance: Distance) -> tuple[int, int]:
    """Two parents: a random one, and of two others the more similar to it (section 2.4)."""
    first = int(rng.choice(places))
    two = rng.choice(places, 2)
    return first, int(two[np.argmin(distance(first, two))])


def tournament(rng: np.random.Generator, places: Array, tournament_divisor: int) -> int:
    """The best of a random part of B: one in ``tournament_divisor`` (κ) takes part.

    Args:
        rng: Generator.
        places: Best first.
        tournament_divisor: 1 always takes the best.
    """
    size = -(-len(places) // tournament_divisor)
    return int(places[rng.permutation(len(places))[:size].min()])
