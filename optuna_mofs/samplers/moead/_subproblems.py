"""Weight vectors, neighborhoods, decompositions, and the members of the subproblems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import n_unchanged

#: The lattice from which weights are chosen holds at least this many times their number ...
_FINE = 8
#: ... and at most this many points.
_MOST = 4000


def simplex_points(count: int, m: int) -> Array:
    """Weight vectors spread evenly over the simplex, the corners first.

    For two objectives they are equally spaced. For more they are chosen from a fine simplex
    lattice (Das and Dennis 1998), each as far as possible from those before it, so that any
    number of them can be had.

    Args:
        count: How many.
        m: Number of objectives.

    Returns:
        Vectors × objectives; each sums to 1.

    Example:
        >>> simplex_points(3, 2).tolist()
        [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    """
    if m == 1:
        return np.ones((count, 1))
    if m == 2:
        first = np.linspace(0.0, 1.0, count) if count > 1 else np.array([0.5])
        return np.column_stack([first, 1 - first])
    lattice = _lattice(count, m)
    nearest = np.full(len(lattice), np.inf)
    chosen = [int(lattice[:, 0].argmax())]
    for _ in range(count - 1):
        gap = ((lattice - lattice[chosen[-1]]) ** 2).sum(axis=1)
        nearest = np.minimum(nearest, gap)
        chosen.append(int(nearest.argmax()))
    points: Array = lattice[np.sort(chosen)]
    return points


def neighborhoods(weights: Array, size: int) -> Array:
    """Positions of the nearest weight vectors of each, itself first (algorithm 1, step 2).

    Args:
        weights: Vectors × objectives.
        size: Neighbors of each, itself among them.
    """
    count = len(weights)
    apart = ((weights[:, None] - weights) ** 2).sum(axis=2)
    np.fill_diagonal(apart, -1.0)  # equal weights (a single objective) must not hide it
    return np.argsort(apart, axis=1, kind="stable")[:, : min(size, count)]


def _lattice(count: int, m: int) -> Array:
    steps = 1
    while math.comb(steps + m - 1, m - 1) < _FINE * count:
        if math.comb(steps + m, m - 1) > max(_MOST, count):
            break
        steps += 1
    bars = np.array(list(itertools.combinations(range(steps + m - 1), m - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), steps + m - 1)])
    lattice: Array = (np.diff(edges, axis=1) - 1) / steps
    return lattice


#: Function of (losses above the reference point, weights): points × subproblems.
Decomposition = Callable[[Array, Array], Array]
#: A weight of zero would not care at all how bad its objective is.
_LEAST = 1e-3


def tchebycheff(losses: Array, weights: Array) -> Array:
    """The largest weighted distance from the reference point (equation 11).

    Args:
        losses: Points × objectives, already less the reference point.
        weights: Subproblems × objectives.

    Example:
        >>> tchebycheff(np.array([[0.2, 0.4]]), np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [[0.2, 0.2]]
    """
    weighted: Array = np.maximum(weights, _LEAST) * np.abs(losses)[:, None, :]
    largest: Array = weighted.max(axis=2)
    return largest


def augmented_tchebycheff(losses: Array, weights: Array) -> Array:
    """The same with a small part of the sum, which tells points apart that are equal in it."""
    weighted: Array = np.maximum(weights, _LEAST) * np.abs(losses)[:, None, :]
    total: Array = weighted.max(axis=2) + 0.05 * weighted.sum(axis=2)
    return total


def get_decomposition(decomposition: str | Decomposition) -> Decomposition:
    """A decomposition by its name, or the user's own function as it is.

    Example:
        >>> get_decomposition("tchebycheff") is tchebycheff
        True
    """
    if callable(decomposition):
        return decomposition
    known = {each.__name__: each for each in (tchebycheff, augmented_tchebycheff)}
    if decomposition not in known:
        raise ValueError(
            f"decomposition must be one of {sorted(known)} or a function of losses and weights, "
            f"but is {decomposition!r}."
        )
    return known[decomposition]


#: States kept for late trials; a later one replays the history.
_KEPT = 200


@dataclass(frozen=True)
class _State:
    """What is known after some trials.

    Args:
        members: Position in the history of each subproblem's member, -1 for none.
        ideal: The best value of each objective so far: the reference point.
    """

    members: Array
    ideal: Array


class Subproblems:
    """Steps 9 and 10 of algorithm 1 over the finished trials in order of their number.

    Each trial competes for its own subproblem and the neighbors of that; one that belongs to
    none (it was queued or added from outside) competes for all. An empty place takes anyone. The
    state is a function of the history alone, so it survives whatever happens to a process.

    Args:
        weights: Subproblems × objectives.
        neighbors: Subproblems × the places for which a trial competes, its own first.
        decomposition: Losses and weights in, one number a subproblem out.
        most: Places that one trial may take.
        normalize: Whether objectives are divided by their range over the members.
    """

    def __init__(
        self,
        weights: Array,
        neighbors: Array,
        decomposition: Decomposition,
        *,
        most: int,
        normalize: bool,
    ) -> None:
        self._weights = weights
        self._neighbors = neighbors
        self._decomposition = decomposition
        self._most = most
        self._normalize = normalize
        self._numbers = np.zeros(0, dtype=np.int64)
        #: State after each number of trials; the oldest are dropped.
        self._states: list[tuple[int, _State]] = []

    def members(
        self, numbers: Array, values: Array, violations: Array, belongs: Sequence[int | None]
    ) -> Array:
        """Position in the history of the member of each subproblem, -1 for none.

        Args:
            numbers: Trial numbers, ascending.
            values: Trials × objectives, minimized.
            violations: Total constraint violation of each.
            belongs: The subproblem for which each was made, None for none.
        """
        self._forget_changed(numbers)
        if not self._states:
            nobody = np.full(len(self._weights), -1, dtype=np.int64)
            self._states.append((0, _State(nobody, np.full(self._weights.shape[1], np.inf))))
        done, state = self._states[-1]
        for i in range(done, len(numbers)):
            state = self._step(state, i, values, violations, belongs[i])
            self._states.append((i + 1, state))
        del self._states[:-_KEPT]
        return state.members

    def _step(
        self, state: _State, i: int, values: Array, violations: Array, own: int | None
    ) -> _State:
        # What a trial that breaks a constraint reaches is not within reach.
        ideal = np.minimum(state.ideal, values[i]) if violations[i] <= 0 else state.ideal
        count = len(self._weights)
        places = np.arange(count) if own is None else self._neighbors[own % count]
        held = state.members[places]
        there = held >= 0
        gain = np.full(len(places), np.inf)
        if there.any():
            rivals, which = held[there], places[there]
            points = np.vstack([values[i], values[rivals]])
            known = np.where(np.isfinite(ideal), ideal, points.min(axis=0))
            losses = (points - known) / self._ranges(state, values, known)
            scored = self._decomposition(losses, self._weights[which])
            mine, theirs = scored[0], scored[1:][np.arange(len(which)), np.arange(len(which))]
            less = violations[rivals] - violations[i]
            better = np.where(less != 0, less > 0, mine <= theirs)
            gain[there] = np.where(better, np.where(less != 0, np.inf, theirs - mine), -1.0)
        # Where it gains most; of equal gains the nearer weights come first.
        order = np.argsort(-gain, kind="stable")
        taken = places[order[gain[order] >= 0][: self._most]]
        if not len(taken):
            return _State(state.members, ideal)
        members = state.members.copy()
        members[taken] = i
        return _State(members, ideal)

    def _ranges(self, state: _State, values: Array, ideal: Array) -> Array:
        if not self._normalize:
            return np.ones(len(ideal))
        held = state.members[state.members >= 0]
        span = values[held].max(axis=0) - ideal
        return np.where(span > 0, span, 1.0)

    def _forget_changed(self, numbers: Array) -> None:
        stable = n_unchanged(self._numbers, numbers)
        while self._states and self._states[-1][0] > stable:
            self._states.pop()
        self._numbers = numbers.copy()
