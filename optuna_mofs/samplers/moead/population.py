"""The member of each subproblem at any moment, replayed over the finished trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import unchanged
from optuna_mofs.samplers.moead.decomposition import Decomposition

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

    Each trial competes for its own subproblem and the neighbours of that; one that belongs to
    none (it was queued or added from outside) competes for all. An empty place takes anyone. The
    state is a function of the history alone, so it survives whatever happens to a process.

    Args:
        weights: Subproblems × objectives.
        neighbours: Subproblems × the places for which a trial competes, its own first.
        decomposition: Losses and weights in, one number a subproblem out.
        most: Places that one trial may take.
        normalise: Whether objectives are divided by their range over the members.
    """

    def __init__(
        self,
        weights: Array,
        neighbours: Array,
        decomposition: Decomposition,
        *,
        most: int,
        normalise: bool,
    ) -> None:
        self._weights = weights
        self._neighbours = neighbours
        self._decomposition = decomposition
        self._most = most
        self._normalise = normalise
        self._numbers = np.zeros(0, dtype=np.int64)
        #: State after each number of trials; the oldest are dropped.
        self._states: list[tuple[int, _State]] = []

    def members(
        self, numbers: Array, values: Array, violations: Array, belongs: Sequence[int | None]
    ) -> Array:
        """Position in the history of the member of each subproblem, -1 for none.

        Args:
            numbers: Trial numbers, ascending.
            values: Trials × objectives, minimised.
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
        places = np.arange(count) if own is None else self._neighbours[own % count]
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
        if not self._normalise:
            return np.ones(len(ideal))
        held = state.members[state.members >= 0]
        span = values[held].max(axis=0) - ideal
        return np.where(span > 0, span, 1.0)

    def _forget_changed(self, numbers: Array) -> None:
        stable = unchanged(self._numbers, numbers)
        while self._states and self._states[-1][0] > stable:
            self._states.pop()
        self._numbers = numbers.copy()
