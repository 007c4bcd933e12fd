"""Weight vectors, neighborhoods, decompositions, and the members of the subproblems."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_choice
from optuna_mofs.history._history import History, HistoryFollower
from optuna_mofs.samplers._acquisition import augmented_tchebycheff
from optuna_mofs.study._trial_note import TrialNote

#: The lattice from which weights are chosen has at least this many points per weight vector ...
_POINTS_PER_WEIGHT = 8
#: ... and at most this many points in total.
_MAX_LATTICE_POINTS = 4000


def simplex_points(count: int, m: int) -> Array:
    """Return ``count`` weight vectors of ``m`` objectives, the corners first.

    They are spread evenly over the simplex. For two objectives they are equally spaced. For more
    they are chosen from a fine simplex lattice (Das and Dennis 1998), each as far as possible from
    those before it, so that any number of vectors is possible.

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
    return lattice[np.sort(chosen)]


def _lattice(count: int, m: int) -> Array:
    steps = 1
    while math.comb(steps + m - 1, m - 1) < _POINTS_PER_WEIGHT * count:
        if math.comb(steps + m, m - 1) > max(_MAX_LATTICE_POINTS, count):
            break
        steps += 1
    bars = np.array(list(itertools.combinations(range(steps + m - 1), m - 1)))
    edges = np.column_stack([np.full(len(bars), -1), bars, np.full(len(bars), steps + m - 1)])
    return (np.diff(edges, axis=1) - 1) / steps


def neighborhoods(weights: Array, size: int) -> Array:
    """Return the positions of the ``size`` nearest weight vectors of each, itself first.

    This is step 2 of algorithm 1.
    """
    distances = ((weights[:, None] - weights) ** 2).sum(axis=2)
    # With equal weights (a single objective) each vector must still come first in its own row.
    np.fill_diagonal(distances, -1.0)
    return np.argsort(distances, axis=1, kind="stable")[:, : min(size, len(weights))]


#: Function of (losses relative to the reference point, weights) that returns points × subproblems.
Decomposition = Callable[[Array, Array], Array]
#: Lower bound of a weight. With a weight of zero, the value of that objective would not count.
_MIN_WEIGHT = 1e-3


def tchebycheff(
    losses: Array, weights: Array, rho: float = 0.0, min_weight: float = _MIN_WEIGHT
) -> Array:
    """Return the largest weighted distance from the reference point (equation 11).

    ``rho`` is the weight of the sum of the distances, which breaks ties. ``min_weight`` is a lower
    bound of the weights; with 0 the equation is that of the paper.

    Example:
        >>> tchebycheff(np.array([[0.2, 0.4]]), np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [[0.2, 0.2]]
    """
    return augmented_tchebycheff(np.abs(losses)[:, None], np.maximum(weights, min_weight), rho)


_DECOMPOSITIONS: dict[str, Decomposition] = {
    "tchebycheff": tchebycheff,
    "augmented_tchebycheff": partial(tchebycheff, rho=0.05),
    "unbounded_tchebycheff": partial(tchebycheff, min_weight=0.0),
}


def get_decomposition(decomposition: str | Decomposition) -> Decomposition:
    """Return a decomposition by name, or the user's own function as it is."""
    if callable(decomposition):
        return decomposition
    return _DECOMPOSITIONS[check_choice("decomposition", decomposition, _DECOMPOSITIONS)]


@dataclass(frozen=True)
class MOEADNote(TrialNote):
    """The note of :class:`MOEADSampler` on a trial.

    Args:
        subproblem: Subproblem for which the trial was made; None if it was made for none.
    """

    subproblem: int | None = None


#: Maximum number of stored states. A trial that completes later replays the whole history.
_MAX_STATES = 200


class _State(NamedTuple):
    """The subproblems after some completed trials."""

    #: Number of completed trials so far.
    n_trials: int
    #: Position in the history of the member of each subproblem, -1 for none.
    members: Array
    #: Best value of each objective so far: the reference point.
    ideal: Array


class Subproblems(HistoryFollower):
    """Members of the subproblems: steps 9 and 10 of algorithm 1, replayed over the history.

    A trial competes for the subproblem it was made for and for the neighbors of that. A trial
    that was made for none (it was enqueued or added to the study) competes for all. A subproblem
    without a member accepts any trial, or with ``own_start`` only the first one made for it.

    Args:
        weights: Subproblems × objectives.
        neighbors: Subproblems × positions of their neighbors, the subproblem itself first.
        decomposition: Function of losses and weights.
        max_replacements: Maximum number of subproblems of which one trial becomes the member.
        global_replacement: Whether every trial competes for all subproblems.
        normalize_objectives: Whether objectives are divided by their range over the members.
        own_start: Whether the first trial made for a subproblem is its first member and competes
            for no other (step 3).
    """

    def __init__(
        self,
        weights: Array,
        neighbors: Array,
        decomposition: Decomposition,
        *,
        max_replacements: int,
        global_replacement: bool,
        normalize_objectives: bool,
        own_start: bool = False,
    ) -> None:
        super().__init__()
        self.neighbors = neighbors
        self.weights = weights
        self.decomposition = decomposition
        self._max_replacements = max_replacements
        self._global = global_replacement
        self._normalize = normalize_objectives
        self._own_start = own_start
        n_subproblems, n_objectives = weights.shape
        self._empty = _State(
            0, np.full(n_subproblems, -1, dtype=np.int64), np.full(n_objectives, np.inf)
        )
        self._states = [self._empty]

    @property
    def members(self) -> Array:
        """Position in the history of the member of each subproblem, -1 for none."""
        return self._states[-1].members

    def rewind(self, n_trials: int) -> None:
        """Drop the states after the first ``n_trials`` trials."""
        self._states = [s for s in self._states if s.n_trials <= n_trials] or [self._empty]

    def advance(self, history: History) -> None:
        """Add the states after new trials."""
        for i in range(self._states[-1].n_trials, len(history)):
            subproblem = history.note(i, MOEADNote).subproblem
            if subproblem is None and self._own_start:
                # The first trial, or one that was enqueued, takes its turn like any other.
                subproblem = int(history.numbers[i])
            self._states.append(self._step(self._states[-1], i, history, subproblem))
        del self._states[:-_MAX_STATES]

    def _step(self, state: _State, i: int, history: History, subproblem: int | None) -> _State:
        values, violations = history.values, history.violations
        # An infeasible trial does not show which values can be reached.
        ideal = np.minimum(state.ideal, values[i]) if violations[i] <= 0 else state.ideal
        competed = self._competed(state, subproblem)
        gain = self._gains(state, i, history, competed, ideal)
        # The largest gains first; of equal gains the nearest weights first.
        order = np.argsort(-gain, kind="stable")
        replaced = competed[order[gain[order] >= 0][: self._max_replacements]]
        members = state.members
        if len(replaced):
            members = members.copy()
            members[replaced] = i
        return _State(i + 1, members, ideal)

    def _competed(self, state: _State, subproblem: int | None) -> Array:
        """Return the subproblems for which a trial competes."""
        count = len(self.weights)
        if subproblem is None or (self._global and not self._own_start):
            return np.arange(count)
        own = subproblem % count
        if self._own_start and state.members[own] < 0:
            return np.array([own])
        competed = np.arange(count) if self._global else self.neighbors[own]
        return competed[state.members[competed] >= 0] if self._own_start else competed

    def _gains(
        self, state: _State, i: int, history: History, competed: Array, ideal: Array
    ) -> Array:
        """Return how much better a trial is than each member; infinite without a member."""
        values, violations = history.values, history.violations
        gain = np.full(len(competed), np.inf)
        held = state.members[competed] >= 0
        if not held.any():
            return gain
        rivals, weights = state.members[competed[held]], self.weights[competed[held]]
        points = np.vstack([values[i], values[rivals]])
        reference = np.where(np.isfinite(ideal), ideal, points.min(axis=0))
        losses = (points - reference) / self._ranges(state, values, reference)
        scores = self.decomposition(losses, weights)
        own, theirs = scores[0], np.diagonal(scores[1:])
        # Less constraint violation comes first, whatever the values.
        less_violated = violations[rivals] - violations[i]
        differs = less_violated != 0
        better = np.where(differs, less_violated > 0, own <= theirs)
        gain[held] = np.where(better, np.where(differs, np.inf, theirs - own), -1.0)
        return gain

    def _ranges(self, state: _State, values: Array, reference: Array) -> Array:
        if not self._normalize:
            return np.ones(len(reference))
        span = values[state.members[state.members >= 0]].max(axis=0) - reference
        return np.where(span > 0, span, 1.0)
