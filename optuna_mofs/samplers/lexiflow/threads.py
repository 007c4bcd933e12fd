"""Where the search stands: Algorithm 1 of Zhang et al. (2023), replayed over finished trials.

A *thread* is one local search, from a start or restart to the next. The trials carry which thread,
direction and sign they were; everything else is computed from them and their values, in order of
trial numbers. A result that comes late is inserted where it belongs and the rest is replayed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.fronts.lexicographic import LexicographicOrder


@dataclass(frozen=True)
class Rules:
    """The numbers of Algorithm 1.

    Args:
        first_step: Step at the start of a thread, for each axis (times √d it is δ_init).
        least_step: Step below which a thread ends (times √d it is δ_lower).
        largest_step: Step above which restarts do not go.
        most_failures: Cap on the 2^(d-1) failed directions after which the step shrinks.
    """

    first_step: float = 0.1
    least_step: float = 0.01
    largest_step: float = 0.3
    most_failures: int = 8

    def __post_init__(self) -> None:
        if not 0 < self.first_step <= 1:
            raise ValueError(f"step must be above 0 and at most 1, but is {self.first_step}.")
        if not 0 < self.least_step < self.first_step:
            raise ValueError(
                f"least_step must be above 0 and below step ({self.first_step}), "
                f"but is {self.least_step}."
            )
        if self.most_failures < 1:
            raise ValueError(f"most_failures must be at least 1, but is {self.most_failures}.")

    def step_of(self, thread: int) -> float:
        """First step of a thread: each restart adds δ_init (line 11)."""
        return min(max(self.largest_step, self.first_step), self.first_step * (1 + thread))

    def limit(self, dimension: int) -> int:
        """Failed directions in a row after which the step shrinks (line 9)."""
        return min(self.most_failures, 1 << min(30, max(0, dimension - 1)))


@dataclass(frozen=True)
class Stand:
    """Where a thread stands after some trials.

    Args:
        thread: Number of restarts before it.
        step: Step for each axis.
        incumbent: Position in the history of the thread's best trial, -1 before the first.
        members: Number of finished trials of the thread.
        iteration: Directions tried in the thread (i).
        improved: The last of them that improved (i').
        failures: Directions in a row that did not (s).
        waiting: Numbers of trials that did not improve and whose opposite has not been tried.
    """

    thread: int
    step: float
    incumbent: int = -1
    members: int = 0
    iteration: int = 0
    improved: int = 0
    failures: int = 0
    waiting: tuple[int, ...] = ()


class Threads:
    """The stand after each finished trial; a cache that follows the history.

    Args:
        order: Of the violation of constraints and the values.
        rules: The numbers of the algorithm.
    """

    def __init__(self, order: LexicographicOrder, rules: Rules) -> None:
        self.order = order
        self.rules = rules
        self._numbers = np.zeros(0, dtype=np.int64)
        self._threads: list[int] = []
        self._stands: list[Stand] = [Stand(0, rules.step_of(0))]
        self._targets: list[Array | None] = [None]

    def after(self, numbers: Array, points: Array, notes: list[dict[str, Any]]) -> Stand:
        """The stand after all finished trials.

        Args:
            numbers: Trial numbers, ascending.
            points: Violation and values of each trial, minimised.
            notes: What the sampler wrote on each trial.
        """
        known = min(len(self._numbers), len(numbers))
        differ = np.flatnonzero(self._numbers[:known] != numbers[:known])
        first = int(differ[0]) if len(differ) else known
        del self._threads[first:], self._stands[first + 1 :], self._targets[first + 1 :]
        for i in range(first, len(numbers)):
            self._consume(i, numbers, points, notes[i])
        self._numbers = numbers.copy()
        return self._stands[-1]

    def _consume(self, i: int, numbers: Array, points: Array, note: dict[str, Any]) -> None:
        stand = self._stands[-1]
        # A trial that this sampler did not make is taken up by the thread of its time.
        thread = int(note.get("thread", stand.thread))
        self._threads.append(thread)
        targets = self.order.targets(points[: i + 1])
        last = self._targets[-1]
        moved = last is None or not np.array_equal(targets, last)
        self._targets.append(targets)
        incumbent = self._incumbent(i, stand, points, targets, moved=moved)
        improved = incumbent != stand.incumbent
        if thread == stand.thread:
            from_here = note.get("incumbent") == (
                int(numbers[stand.incumbent]) if stand.incumbent >= 0 else None
            )
            stand = _counted(stand, note, int(numbers[i]), improved=improved, from_here=from_here)
        if improved:
            stand = replace(stand, incumbent=incumbent, waiting=())
        elif stand.failures > self._stands[-1].failures:
            stand = self._adapted(stand, int(note["dimension"]))
        self._stands.append(stand)

    def _incumbent(
        self, i: int, stand: Stand, points: Array, targets: Array, *, moved: bool
    ) -> int:
        """The best of the thread under the targets of now (Update, lines 12 to 18)."""
        mine = self._threads[i] == stand.thread
        if stand.incumbent < 0:
            return i if mine else -1
        if moved:
            # Points that were equal before need not be now: all of the thread are looked at.
            members = np.flatnonzero(np.array(self._threads[: i + 1]) == stand.thread)
            return int(members[self.order.ranking(points[members], targets)[0]])
        better = mine and self.order.accepts(points[i], points[stand.incumbent], targets)
        return i if better else stand.incumbent

    def _adapted(self, stand: Stand, dimension: int) -> Stand:
        """Shrink the step, or restart (lines 9 to 11)."""
        if stand.failures < self.rules.limit(dimension):
            return stand
        step = stand.step * math.sqrt((stand.improved + 1) / (stand.iteration + 1))
        if step >= self.rules.least_step:
            return replace(stand, failures=0, step=step)
        thread = stand.thread + 1
        return Stand(thread, self.rules.step_of(thread))


def _counted(
    stand: Stand, note: dict[str, Any], number: int, *, improved: bool, from_here: bool
) -> Stand:
    """Count a trial of the thread: a direction succeeded, failed, or awaits its opposite."""
    stand = replace(stand, members=stand.members + 1)
    sign = note.get("sign", 0)
    if sign == 0:
        return stand
    if improved:
        i = stand.iteration + 1
        return replace(stand, iteration=i, improved=i, failures=0)
    if sign > 0 and from_here:
        return replace(stand, waiting=(*stand.waiting, number))
    # Both signs were tried, or the incumbent has moved on and the opposite is not worth it.
    waiting = tuple(n for n in stand.waiting if n != note.get("opposite"))
    return replace(
        stand, iteration=stand.iteration + 1, failures=stand.failures + 1, waiting=waiting
    )
