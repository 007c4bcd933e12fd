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

from optuna_mofs._typing import Array
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.history._history import n_unchanged

#: Step for each axis beyond which restarts do not go: further is anywhere in the space.
WIDEST = 0.3


@dataclass(frozen=True)
class Rules:
    """The numbers of Algorithm 1.

    Args:
        first_step: Step at the start of a thread, for each axis (times √d it is δ_init).
        least_step: Step below which a thread ends (times √d it is δ_lower).
        most_failures: Cap on the 2^(d-1) failed directions after which the step shrinks.
        widen: What each restart adds to δ_init; None for δ_init, up to :data:`WIDEST`.
    """

    first_step: float = 0.1
    least_step: float = 0.01
    most_failures: int | None = None
    widen: float | None = None

    def __post_init__(self) -> None:
        if not 0 < self.first_step <= 1:
            raise ValueError(f"step must be above 0 and at most 1, but is {self.first_step}.")
        if not 0 < self.least_step < self.first_step:
            raise ValueError(
                f"least_step must be above 0 and below step ({self.first_step}), "
                f"but is {self.least_step}."
            )
        if self.most_failures is not None and self.most_failures < 1:
            raise ValueError(f"most_failures must be at least 1, but is {self.most_failures}.")
        if self.widen is not None and not self.widen >= 0:
            raise ValueError(f"widen must be None or at least 0, but is {self.widen}.")

    def step_of(self, thread: int, dimension: int) -> float:
        """First step of a thread, for each of the axes (line 11)."""
        if self.widen is not None:
            return self.first_step + thread * self.widen / math.sqrt(max(1, dimension))
        return min(max(WIDEST, self.first_step), self.first_step * (1 + thread))

    def limit(self, dimension: int) -> int:
        """Failed directions in a row after which the step shrinks (line 9)."""
        limit: int = 1 << min(30, max(0, dimension - 1))
        return limit if self.most_failures is None else min(self.most_failures, limit)


@dataclass(frozen=True)
class LocalSearchState:
    """Where a thread stands after some trials.

    Args:
        thread: Number of restarts before it.
        step: Step for each axis.
        incumbent: Position in the history of the thread's best trial, -1 before the first.
        leader: Position of its best trial if nothing may be given up for later objectives.
        members: Number of finished trials of the thread.
        iteration: Directions tried in the thread (i).
        improved: The last of them that improved (i').
        failures: Directions in a row that did not (s).
        waiting: Trials that did not improve and whose opposite has not been tried: their number
            and the number of the trial from which they stepped.
    """

    thread: int
    step: float
    incumbent: int = -1
    leader: int = -1
    members: int = 0
    iteration: int = 0
    improved: int = 0
    failures: int = 0
    waiting: tuple[tuple[int, int], ...] = ()


class LocalSearchReplay:
    """The stand after each finished trial; a cache that follows the history.

    Args:
        order: Of the violation of constraints and the values.
        rules: The numbers of the algorithm.
    """

    def __init__(self, order: LexicographicOrder, rules: Rules) -> None:
        self.orders = (order, order.without_tolerances())
        self.rules = rules
        self._numbers = np.zeros(0, dtype=np.int64)
        self._threads: list[int] = []
        self._stands: list[LocalSearchState] = [LocalSearchState(0, rules.first_step)]
        self._targets: list[tuple[Array, ...]] = [()]

    def after(
        self, numbers: Array, points: Array, notes: list[dict[str, Any]]
    ) -> LocalSearchState:
        """The stand after all finished trials.

        Args:
            numbers: Trial numbers, ascending.
            points: Violation and values of each trial, minimized.
            notes: What the sampler wrote on each trial.
        """
        first = n_unchanged(self._numbers, numbers)
        del self._threads[first:], self._stands[first + 1 :], self._targets[first + 1 :]
        for i in range(first, len(numbers)):
            self._consume(i, numbers, points, notes[i])
        self._numbers = numbers.copy()
        return self._stands[-1]

    @property
    def targets(self) -> tuple[Array, ...]:
        """Those of all trials that were read, by each of the orders."""
        return self._targets[-1]

    def _consume(self, i: int, numbers: Array, points: Array, note: dict[str, Any]) -> None:
        before = self._stands[-1]
        # A trial that this sampler did not make is taken up by the thread of its time.
        thread = int(note.get("thread", before.thread))
        self._threads.append(thread)
        incumbent, leader = self._bests(i, before, points)
        here = {int(numbers[k]) for k in (incumbent, leader) if k >= 0}
        stand = replace(
            before,
            incumbent=incumbent,
            leader=leader,
            # An opposite is worth a trial as long as one of the two stands where it begins.
            waiting=tuple(pair for pair in before.waiting if pair[1] in here),
        )
        if thread == before.thread:
            improved = (incumbent, leader) != (before.incumbent, before.leader)
            stand = _counted(stand, note, int(numbers[i]), improved=improved, here=here)
        if stand.failures > before.failures:
            stand = self._adapted(stand, int(note["dimension"]))
        self._stands.append(stand)

    def _bests(self, i: int, stand: LocalSearchState, points: Array) -> tuple[int, int]:
        """Incumbent and leader after the i-th trial."""
        found = []
        targets = tuple(order.targets(points[: i + 1]) for order in self.orders)
        for k, old in enumerate((stand.incumbent, stand.leader)):
            last = self._targets[-1]
            moved = not last or not np.array_equal(targets[k], last[k])
            found.append(self._best(i, stand.thread, old, points, targets[k], k, moved=moved))
        self._targets.append(targets)
        return found[0], found[1]

    def _best(
        self, i: int, thread: int, old: int, points: Array, targets: Array, k: int, *, moved: bool
    ) -> int:
        """The best of a thread under the targets of now (Update, lines 12 to 18)."""
        mine = self._threads[i] == thread
        if old < 0:
            return i if mine else -1
        if moved:
            # Points that were equal before need not be now: all of the thread are looked at.
            members = np.flatnonzero(np.array(self._threads[: i + 1]) == thread)
            return int(members[self.orders[k].ranking(points[members], targets)[0]])
        return i if mine and self.orders[k].accepts(points[i], points[old], targets) else old

    def _adapted(self, stand: LocalSearchState, dimension: int) -> LocalSearchState:
        """Shrink the step, or restart (lines 9 to 11)."""
        if stand.failures < self.rules.limit(dimension):
            return stand
        step = stand.step * math.sqrt((stand.improved + 1) / (stand.iteration + 1))
        if step >= self.rules.least_step:
            return replace(stand, failures=0, step=step)
        thread = stand.thread + 1
        return LocalSearchState(thread, self.rules.step_of(thread, dimension))


def _counted(
    stand: LocalSearchState, note: dict[str, Any], number: int, *, improved: bool, here: set[int]
) -> LocalSearchState:
    """Count a trial of the thread: a direction succeeded, failed, or awaits its opposite."""
    stand = replace(stand, members=stand.members + 1)
    sign = note.get("sign", 0)
    if sign == 0:
        return stand
    ended = {*note.get("no_opposite", ()), note.get("opposite")}
    waiting = tuple(pair for pair in stand.waiting if pair[0] not in ended)
    failed = len(stand.waiting) - len(waiting) if sign > 0 else 0
    if improved:
        i = stand.iteration + failed + 1
        return replace(stand, iteration=i, improved=i, failures=0, waiting=waiting)
    if sign > 0 and note["incumbent"] in here:
        waiting = (*waiting, (number, int(note["incumbent"])))
    else:
        # Both signs were tried, or the search has moved on and the opposite is not worth it.
        failed += 1
    return replace(
        stand,
        iteration=stand.iteration + failed,
        failures=stand.failures + failed,
        waiting=waiting,
    )
