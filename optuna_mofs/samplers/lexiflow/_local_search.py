"""Incumbent, step size and restarts of Algorithm 1 (Zhang et al. 2023), replayed over the history.

The note on a trial holds its restart, direction and sign. Everything else is computed from notes
and values in order of trial numbers, so that a trial that completes late counts like any other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_float, check_optional_int, check_probability
from optuna_mofs.fronts._lexicographic import LexicographicOrder, RunningTargets
from optuna_mofs.history._history import History, HistoryFollower
from optuna_mofs.samplers._initial_design import RandomDesign
from optuna_mofs.study._trial_note import TrialNote

#: Largest first step size per axis of a restart by default: larger steps reach the whole space.
_MAX_RESTART_STEP_SIZE = 0.3


@dataclass(frozen=True)
class LexiFlowSettings:
    """Further settings of :class:`LexiFlowSampler`.

    Args:
        step_size: First step size of a local search, per axis of the normalized space; times √d
            it is the paper's δ_init.
        min_step_size: Step size below which the search restarts; times √d it is δ_lower.
        max_failures: Maximum number of failed directions in a row before the step size shrinks.
            The paper's 2^(d-1) applies where it is smaller, and everywhere if this is None.
        strict_incumbent_prob: Probability that a direction starts from the strict incumbent, the
            best trial without tolerances, instead of from the incumbent, and that the acquisition
            function improves an objective before the last; 0 in the paper.
        random_prob: Probability that a trial is a random point; 0 in the paper.
        sparse_direction_prob: Probability that a direction moves only some of the parameters; 0
            in the paper.
        unit_sphere: Whether all steps have exactly the length δ, as in the paper, or lengths that
            vary about it. Ignored if there are candidates.
        restart_step_increase: How much each restart adds to the length δ of the first step; 1 in
            the paper. None adds the length of the first step, up to 0.3 per axis.
        as_printed: Whether incumbent and counters are those of Algorithm 1 line by line: a trial
            is compared under the targets before its direction, the incumbent stays until a trial
            replaces it, an improvement does not reset the failures (s), and a restart does not
            reset the iterations (i and i'). If not, failures are consecutive, and the incumbent
            is always the best trial since the restart under the current targets.
        initial_design: Makes the first configurations, from the rows of a Latin hypercube, unless
            there is a low-cost configuration.
    """

    step_size: float = 0.1
    min_step_size: float = 0.01
    max_failures: int | None = 5
    strict_incumbent_prob: float = 0.7
    random_prob: float = 0.05
    sparse_direction_prob: float = 0.5
    unit_sphere: bool = False
    restart_step_increase: float | None = None
    as_printed: bool = False
    initial_design: RandomDesign = field(default_factory=RandomDesign)

    def __post_init__(self) -> None:
        check_float("step_size", self.step_size, 0, 1, low_is_open=True)
        check_float("min_step_size", self.min_step_size, 0, low_is_open=True)
        if self.min_step_size >= self.step_size:
            raise ValueError(
                f"min_step_size must be below step_size ({self.step_size}), "
                f"got {self.min_step_size}."
            )
        check_optional_int("max_failures", self.max_failures, 1)
        for name in ("strict_incumbent_prob", "random_prob", "sparse_direction_prob"):
            check_probability(name, getattr(self, name))
        if self.restart_step_increase is not None:
            check_float("restart_step_increase", self.restart_step_increase, 0)

    def first_step_size(self, restart: int, dimension: int) -> float:
        """Return the first step size per axis after some restarts (line 11)."""
        if self.restart_step_increase is not None:
            increase = self.restart_step_increase / math.sqrt(max(1, dimension))
            return self.step_size + restart * increase
        return min(max(_MAX_RESTART_STEP_SIZE, self.step_size), self.step_size * (1 + restart))

    def failure_limit(self, dimension: int) -> int:
        """Return how many directions must fail in a row before the step size shrinks (line 9)."""
        limit: int = 1 << min(30, max(0, dimension - 1))
        return limit if self.max_failures is None else min(self.max_failures, limit)


@dataclass(frozen=True)
class LexiFlowNote(TrialNote):
    """The note of :class:`LexiFlowSampler` on a trial.

    Args:
        operator: Empty while the note of a running trial has not been written.
        parents: The trial from which the step was made, if any.
        restart: Number of restarts before the trial; None if another sampler proposed it.
        sign: 1 for a direction whose opposite is still to be tried, -1 for an opposite or a
            candidate chosen by the acquisition function, 0 for any other point.
        direction_seed: Seed that a direction and its opposite share.
        opposite_of: The trial that this one is the opposite of.
        no_opposite: Trials whose opposites were found to be duplicates.
        step_size: Step size per axis.
        iteration: Directions tried before this one since the restart.
        n_failures: How many of the latest of them failed in a row.
        dimension: Number of hyperparameters, plus 1 if there is a mask.
        point: The point in the Euclidean space, before rounding.
        improves: Position of the objective that a candidate was chosen to improve; -1 for the
            constraints.
    """

    operator: str = ""
    restart: int | None = None
    sign: int = 0
    direction_seed: int = 0
    opposite_of: int | None = None
    no_opposite: tuple[int, ...] = ()
    step_size: float = 0.0
    iteration: int = 0
    n_failures: int = 0
    dimension: int = 0
    point: tuple[float, ...] = ()
    improves: int | None = None


@dataclass(frozen=True)
class LocalSearchState:
    """State of the local search after some trials.

    Args:
        restart: Number of restarts so far.
        step_size: Step size per axis.
        incumbent: Position in the history of the best trial since the restart, -1 for none.
        strict_incumbent: The same by the order without tolerances.
        n_trials: Number of completed trials since the restart.
        iteration: Directions tried since the restart (i).
        last_improvement: The last of them that improved an incumbent (i').
        n_failures: Directions in a row that did not (s).
        unpaired: Trials that did not improve and whose opposite has not been tried: their number
            and the number of the trial from which they stepped.
    """

    restart: int
    step_size: float
    incumbent: int = -1
    strict_incumbent: int = -1
    n_trials: int = 0
    iteration: int = 0
    last_improvement: int = 0
    n_failures: int = 0
    unpaired: tuple[tuple[int, int], ...] = ()

    def note(self, operator: str, **fields: Any) -> LexiFlowNote:
        """Return the note of a trial proposed in this state."""
        return LexiFlowNote(
            operator,
            restart=self.restart,
            iteration=self.iteration,
            n_failures=self.n_failures,
            **fields,
        )


class LocalSearchReplay(HistoryFollower):
    """The state after each completed trial, by the order of violations and values."""

    def __init__(self, order: LexicographicOrder, settings: LexiFlowSettings) -> None:
        super().__init__()
        #: The order, and the same without tolerances.
        self.orders = (order, order.without_tolerances())
        #: Violation and values of each trial, minimized.
        self.losses: Array = np.zeros((0, 0))
        self._settings = settings
        self._running = tuple(RunningTargets(order) for order in self.orders)
        self._restarts: list[int] = []
        self._states = [LocalSearchState(0, settings.step_size)]
        self._targets: list[tuple[Array, ...]] = [()]

    @property
    def state(self) -> LocalSearchState:
        """The state after the last trial."""
        return self._states[-1]

    @property
    def targets(self) -> tuple[Array, ...]:
        """Targets after the last trial, by each of the orders."""
        return self._targets[-1]

    def rewind(self, n_trials: int) -> None:
        """Drop the states after the first ``n_trials`` trials."""
        for running in self._running:
            running.forget()
        del self._restarts[n_trials:], self._states[n_trials + 1 :], self._targets[n_trials + 1 :]

    def advance(self, history: History) -> None:
        """Add the states after new trials."""
        self.losses = np.column_stack([history.violations, history.values])
        for i in range(len(self._restarts), len(history)):
            self._add(i, history.numbers, history.note(i, LexiFlowNote))

    def _add(self, i: int, numbers: Array, note: LexiFlowNote) -> None:
        before = self.state
        restart = before.restart if note.restart is None else note.restart
        self._restarts.append(restart)
        targets = tuple(running.after(self.losses[: i + 1]) for running in self._running)
        if self._settings.as_printed:
            first = i if note.opposite_of is None else np.searchsorted(numbers, note.opposite_of)
            incumbent = self._printed_incumbent(i, before.incumbent, self._targets[int(first)])
            strict_incumbent = incumbent
        else:
            incumbent = self._incumbent(i, 0, before.incumbent, targets)
            strict_incumbent = self._incumbent(i, 1, before.strict_incumbent, targets)
        self._targets.append(targets)
        bases = {int(numbers[k]) for k in (incumbent, strict_incumbent) if k >= 0}
        state = replace(
            before,
            incumbent=incumbent,
            strict_incumbent=strict_incumbent,
            # The opposite is tried only while the direction started from one of the incumbents.
            unpaired=tuple(pair for pair in before.unpaired if pair[1] in bases),
        )
        if restart == before.restart:
            old = (before.incumbent, before.strict_incumbent)
            improved = (incumbent, strict_incumbent) != old
            state = _counted(state, note, int(numbers[i]), bases, improved=improved)
            if improved and self._settings.as_printed:
                state = replace(state, n_failures=before.n_failures)
        if state.n_failures > before.n_failures:
            state = self._adapted(state, note.dimension)
        self._states.append(state)

    def _incumbent(self, i: int, k: int, old: int, targets: tuple[Array, ...]) -> int:
        """Return the best trial since the restart by the k-th order (lines 12 to 18)."""
        restart = self.state.restart
        belongs = self._restarts[i] == restart
        if old < 0:
            return i if belongs else -1
        order, losses = self.orders[k], self.losses
        if not self.targets or not np.array_equal(targets[k], self.targets[k]):
            # Under new targets an earlier trial can be better than the incumbent.
            members = np.flatnonzero(np.array(self._restarts[: i + 1]) == restart)
            return int(members[order.best(losses[members], targets[k])])
        return i if belongs and order.accepts(losses[i], losses[old], targets[k]) else old

    def _printed_incumbent(self, i: int, old: int, targets: tuple[Array, ...]) -> int:
        """Return the incumbent after one comparison under the given targets (lines 4 to 6)."""
        if self._restarts[i] != self.state.restart:
            return old
        losses = self.losses
        return i if old < 0 or self.orders[0].accepts(losses[i], losses[old], targets[0]) else old

    def _adapted(self, state: LocalSearchState, dimension: int) -> LocalSearchState:
        """Shrink the step size, or restart (lines 9 to 11)."""
        if state.n_failures < self._settings.failure_limit(dimension):
            return state
        i, last_improvement = state.iteration, state.last_improvement
        printed = self._settings.as_printed
        if printed:
            # Algorithm 1 counts iterations from 0 and shrinks the step within the last one.
            i, last_improvement = i - 1, max(0, last_improvement - 1)
        step_size = state.step_size * math.sqrt((last_improvement + 1) / (i + 1))
        if step_size >= self._settings.min_step_size:
            return replace(state, n_failures=0, step_size=step_size)
        restart = state.restart + 1
        begun = LocalSearchState(restart, self._settings.first_step_size(restart, dimension))
        if not printed:
            return begun
        return replace(begun, iteration=state.iteration, last_improvement=state.last_improvement)


def _counted(
    state: LocalSearchState, note: LexiFlowNote, number: int, bases: set[int], *, improved: bool
) -> LocalSearchState:
    """Count a trial: its direction improved an incumbent, failed, or is still unpaired."""
    state = replace(state, n_trials=state.n_trials + 1)
    if note.sign == 0:
        return state
    done = {*note.no_opposite, note.opposite_of}
    unpaired = tuple(pair for pair in state.unpaired if pair[0] not in done)
    n_failed = len(state.unpaired) - len(unpaired) if note.sign > 0 else 0
    if improved:
        i = state.iteration + n_failed + 1
        return replace(state, iteration=i, last_improvement=i, n_failures=0, unpaired=unpaired)
    if note.sign > 0 and note.parents[0] in bases:
        unpaired = (*unpaired, (number, note.parents[0]))
    else:
        # Both signs failed, or the incumbents have moved and the opposite will not be tried.
        n_failed += 1
    return replace(
        state,
        iteration=state.iteration + n_failed,
        n_failures=state.n_failures + n_failed,
        unpaired=unpaired,
    )
