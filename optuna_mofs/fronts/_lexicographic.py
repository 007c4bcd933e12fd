"""Lexicographic order with tolerances and goals; all objectives are minimized.

The targets and the order are those of Zhang et al. (2023), *Targeted hyperparameter optimization
with lexicographic preferences over multiple objectives* (ICLR), section 2.1 and equations 2 to 8.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs.fronts._dominance import as_points, has_no_nan
from optuna_mofs.study._completed_trials import metric_column, per_metric

#: Relative rounding error of a target: 0.7 + 0.1 is below 0.8, which a tolerance of 0.1 includes.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class LexicographicOrder:
    """Order of points by priorities, tolerances and goals of their columns.

    The paper defines it by cases. Equivalently, every value that reaches its target is lifted to
    the target, points are compared lexicographically (equations 5 to 7), and points that are then
    equal are compared by their values (equations 2 to 4, line 13 of Algorithm 1).

    Args:
        columns: All columns, the most important first.
        absolute: Tolerance of each column in its unit.
        relative: Tolerance of each column as a share of the absolute value of its best value.
        goals: Value of each column that is good enough, minus infinity for none.
    """

    columns: tuple[int, ...]
    absolute: tuple[float, ...]
    relative: tuple[float, ...]
    goals: tuple[float, ...]

    @classmethod
    def of(
        cls,
        width: int,
        *,
        tolerances: Sequence[float | str] | None = None,
        goals: Sequence[float | None] | None = None,
        priorities: Sequence[int] | None = None,
    ) -> LexicographicOrder:
        """Return an order of ``width`` columns; see :func:`lexicographic_index` for the rest."""
        chosen = [] if priorities is None else [int(column) for column in priorities]
        if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(width)):
            raise ValueError(
                f"priorities must be different columns from 0 to {width - 1}, got {chosen}."
            )
        tolerances = [0.0] * width if tolerances is None else list(tolerances)
        goals = [None] * width if goals is None else list(goals)
        for name, given in (("tolerances", tolerances), ("goals", goals)):
            if len(given) != width:
                raise ValueError(
                    f"{name} must have {width} entries, one per objective, got {given!r}."
                )
        parsed = [parse_tolerance(tolerance) for tolerance in tolerances]
        return cls(
            columns=(*chosen, *(column for column in range(width) if column not in chosen)),
            absolute=tuple(absolute for absolute, _ in parsed),
            relative=tuple(relative for _, relative in parsed),
            goals=tuple(parse_goal(goal) for goal in goals),
        )

    def targets(self, points: Floats) -> Floats:
        """Return the target of each column after these points (equation 8).

        Rows with NaN are ignored.
        """
        return self.targets_and_best(points)[0]

    def targets_and_best(self, points: Floats) -> tuple[Floats, Floats]:
        """Return :meth:`targets`, and the best value of each column among the points that count.

        These are the points that reach the targets of all columns before.
        """
        remaining = points[has_no_nan(points)]
        if len(remaining) == 0:
            raise ValueError(f"Expected at least one point without NaN, got {len(points)} points.")
        targets, lowest = np.empty(points.shape[1]), np.empty(points.shape[1])
        for column in self.columns:
            values = remaining[:, column]
            lowest[column] = best = float(values.min())
            # A share of an infinite best value would be infinite or NaN.
            share = self.relative[column] * abs(best) if math.isfinite(best) else 0.0
            targets[column] = max(best + self.absolute[column] + share, self.goals[column])
            remaining = remaining[self.reached(column, values, targets[column])]
        return targets, lowest

    def ranking(self, points: Floats, targets: Floats | None = None) -> Indices:
        """Return the rows from best to worst; ties by row, rows with NaN last.

        ``targets`` are by default those of ``points``.
        """
        if targets is None:
            targets = self.targets(points)
        keys = self.keys(points, targets)
        valid = has_no_nan(points)
        # With many points, most of the time goes into keys that decide nothing: constant columns,
        # such as violations of feasible points, and columns that their target does not change.
        known: list[Floats] = []
        for key in keys:
            if len(key) and (key != key[0]).any() and not any((key == k).all() for k in known):
                known.append(key)
        if not valid.all() or not known:
            return np.lexsort((*known[::-1], ~valid))
        # One sort, and another one of the ties only.
        order = np.argsort(known[0], kind="stable")
        tied = known[0][order[1:]] == known[0][order[:-1]]
        in_run = np.append(tied, False) | np.append(False, tied)
        rows = np.sort(order[in_run])
        order[in_run] = rows[np.lexsort([key[rows] for key in known[::-1]])]
        return order

    def keys(self, points: Floats, targets: Floats) -> Floats:
        """Return what decides a ranking, one row per key, the first one first."""
        # Rows, because a row is compared in a fraction of the time of a column.
        return np.vstack([self.lifted(points, targets).T, points[:, self.columns].T])

    def best(self, points: Floats, targets: Floats) -> int:
        """Return the first row of :meth:`ranking`, which takes much longer."""
        remaining = np.flatnonzero(has_no_nan(points))
        if len(remaining) == 0:
            return 0
        for is_lifted in (True, False):
            for column in self.columns:
                values = points[remaining, column]
                if is_lifted:
                    reached = self.reached(column, values, targets[column])
                    values = np.where(reached, targets[column], values)
                remaining = remaining[values == values.min()]
        return int(remaining[0])

    @property
    def has_tolerances(self) -> bool:
        """Whether a tolerance is above 0."""
        return any(self.absolute) or any(self.relative)

    def lifted(self, points: Floats, targets: Floats) -> Floats:
        """Return the columns by priority, with values that reach their target set to it."""
        columns = [
            np.where(self.reached(c, points[:, c], targets[c]), targets[c], points[:, c])
            for c in self.columns
        ]
        return np.column_stack(columns)

    def accepts(self, new: Floats, old: Floats, targets: Floats) -> bool:
        """Return whether ``new`` replaces the incumbent ``old`` (line 13 of Algorithm 1).

        It does if it is better by the targets, or equal and better by the values.
        """
        x, y = self.lifted(np.array([new, old]), targets).tolist()
        order = list(self.columns)
        return bool((x, new[order].tolist()) < (y, old[order].tolist()))

    def after_violations(self) -> LexicographicOrder:
        """Return this order after a new first column, the total constraint violation.

        The target of that column is 0 as soon as a point is feasible.
        """
        return LexicographicOrder(
            columns=(0, *(column + 1 for column in self.columns)),
            absolute=(0.0, *self.absolute),
            relative=(0.0, *self.relative),
            goals=(0.0, *self.goals),
        )

    def without_tolerances(self) -> LexicographicOrder:
        """Return this order with all tolerances 0."""
        zeros = (0.0,) * len(self.columns)
        return replace(self, absolute=zeros, relative=zeros)

    def reached(self, column: int, values: Floats, target: float) -> Bools:
        """Return which values of a column reach its target, up to rounding of the tolerance."""
        reached: Bools = values <= target
        if (self.absolute[column] or self.relative[column]) and math.isfinite(target):
            reached |= np.abs(values - target) <= _ROUNDING * abs(target)
        return reached


class GrowingRanking:
    """:meth:`LexicographicOrder.ranking` of points to which points are added.

    New points are inserted where the old ones keep their keys, as they do unless a target changes.

    Example:
        >>> order, ranking = LexicographicOrder.of(1), GrowingRanking()
        >>> points = np.array([[3.0], [1.0], [2.0], [1.0]])
        >>> ranking.update(order, points[:2]).tolist(), ranking.update(order, points).tolist()
        ([1, 0], [1, 3, 2, 0])
    """

    #: More new points than this are sorted with all others.
    _MAX_NEW = 16

    def __init__(self) -> None:
        self._keys: Floats = np.zeros((0, 0))
        self._ranking = np.zeros(0, dtype=np.intp)

    def update(self, order: LexicographicOrder, points: Floats) -> Indices:
        """Return the ranking of points, of which the first ones may be known."""
        targets = order.targets(points)
        keys, n_known = order.keys(points, targets), len(self._ranking)
        new = range(n_known, len(points))
        # NaN equals nothing, so that a ranking with NaN is not continued either.
        has_nan = bool(np.isnan(keys[:, n_known:]).any())
        is_known = np.array_equal(keys[:, :n_known], self._keys)
        if has_nan or len(new) > self._MAX_NEW or not is_known:
            self._ranking = order.ranking(points, targets)
        else:
            for row in new:
                place = bisect_right(self._ranking, keys[:, row].tolist(), key=self._key_of(keys))
                self._ranking = np.insert(self._ranking, place, row)
        self._keys = keys
        return self._ranking

    @staticmethod
    def _key_of(keys: Floats) -> Callable[[int], list[float]]:
        return lambda row: keys[:, row].tolist()


class RunningTargets:
    """The targets after each of many points, which are added one by one.

    Nearly all points change no target: they are not better than the best value of a column, or
    miss the target of an earlier one. Only the others require all points before them.

    Example:
        >>> running = RunningTargets(LexicographicOrder.of(2, tolerances=[1.0, 0.0]))
        >>> points = np.array([[3.0, 5.0], [5.0, 0.0], [4.0, 2.0], [1.0, 9.0]])
        >>> [running.after(points[: i + 1]).tolist() for i in range(4)]
        [[4.0, 5.0], [4.0, 5.0], [4.0, 2.0], [2.0, 9.0]]
    """

    def __init__(self, order: LexicographicOrder) -> None:
        self.order = order
        self._known: tuple[Floats, Floats] | None = None

    def forget(self) -> None:
        """Compute the next targets from all points."""
        self._known = None

    def after(self, points: Floats) -> Floats:
        """Return the targets of points, of which all but the last one were there before."""
        if self._known is None or self._changes(points[-1], *self._known):
            self._known = self.order.targets_and_best(points)
        return self._known[0]

    def _changes(self, point: Floats, targets: Floats, best: Floats) -> bool:
        if np.isnan(point).any():
            return False
        for column in self.order.columns:
            if point[column] < best[column]:
                return True
            if not self.order.reached(column, point[column : column + 1], targets[column])[0]:
                return False
        return False


def check_priorities(given: Any) -> None:
    """Raise if priorities are not None or a sequence of metrics."""
    is_sequence = isinstance(given, Sequence | None) and not isinstance(given, str)
    if not is_sequence or not all(isinstance(m, str | int | np.integer) for m in given or ()):
        raise ValueError(
            f"priorities must be a sequence of metrics (names or positions), got {given!r}. "
            "Put a single metric into a list."
        )


def named_order(
    names: Sequence[str],
    signs: Sequence[float] | Floats,
    *,
    tolerances: Any = None,
    goals: Any = None,
    priorities: Sequence[str | int] | None = None,
) -> LexicographicOrder:
    """Return an order from arguments by metric name, position or in the order of ``names``.

    Goals are in the directions of the metrics; ``signs`` is -1 for a maximized one.
    """
    check_priorities(priorities)
    given = per_metric("goals", goals, None, names)
    return LexicographicOrder.of(
        len(names),
        tolerances=per_metric("tolerances", tolerances, 0.0, names),
        goals=[None if goal is None else parse_goal(goal) * s for goal, s in zip(given, signs)],
        priorities=None if priorities is None else [metric_column(m, names) for m in priorities],
    )


def lexicographic_index(
    points: ArrayLike,
    *,
    tolerances: Sequence[float | str] | None = None,
    goals: Sequence[float | None] | None = None,
    priorities: Sequence[int] | None = None,
) -> int:
    """Return the row of the best point by priority, with tolerances and goals.

    The objectives are processed in order of priority. The target of each is its best value among
    the remaining points plus the tolerance, or the goal if that is larger (equation 8); points
    that miss it are removed. The plain lexicographic order decides among the points that remain
    (equations 2 to 4). The result is a non-dominated point (remark 1).

    Args:
        points: One row per point, one column per objective; all are minimized. Rows with NaN are
            ignored.
        tolerances: How much worse than its best value each objective may be in favor of later
            ones: a number in its unit, or ``"5%"`` of the absolute value of its best value.
            Default: 0.
        goals: Value of each objective that is good enough, or None. Default: none.
        priorities: Columns, the most important first. Other columns follow in their order.
            ``tolerances`` and ``goals`` stay in the order of the columns.

    Raises:
        ValueError: If every point has a NaN, or an argument has a bad value.

    Example:
        The worked example of the paper's section 2.1 (loss, features, instability):

        >>> front = [[0.2, 100, 0.1], [0.1, 600, 0.2], [0.13, 500, 0.2], [0.1, 300, 0.5]]
        >>> lexicographic_index(front, tolerances=[0.05, 0, 0], goals=[None, 500, None])
        2
    """
    array = as_points(points)
    order = LexicographicOrder.of(
        array.shape[1], tolerances=tolerances, goals=goals, priorities=priorities
    )
    return int(order.ranking(array)[0])


def lexicographic_targets(
    points: ArrayLike,
    *,
    tolerances: Sequence[float | str] | None = None,
    goals: Sequence[float | None] | None = None,
    priorities: Sequence[int] | None = None,
) -> Floats:
    """Return the target of each objective, in the order of the columns (equation 8).

    The arguments are those of :func:`lexicographic_index`.

    Example:
        >>> lexicographic_targets([[0.5, 100], [0.25, 600]], tolerances=["50%", 0]).tolist()
        [0.375, 600.0]
    """
    array = as_points(points)
    order = LexicographicOrder.of(
        array.shape[1], tolerances=tolerances, goals=goals, priorities=priorities
    )
    return order.targets(array)


def parse_tolerance(tolerance: float | str) -> tuple[float, float]:
    """Return the absolute and the relative part of a tolerance, one of which is 0.

    Example:
        >>> parse_tolerance(0.5), parse_tolerance("25%")
        ((0.5, 0.0), (0.0, 0.25))
    """
    is_relative = isinstance(tolerance, str)
    try:
        if isinstance(tolerance, str):
            text = tolerance.strip()
            number = float(text[:-1]) if text.endswith("%") else math.nan
        else:
            number = float(tolerance)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(
            "A tolerance must be a number of at least 0 or a percentage such as '5%', "
            f"got {tolerance!r}."
        )
    return (0.0, number / 100.0) if is_relative else (number, 0.0)


def parse_goal(goal: float | None) -> float:
    """Return a goal as a number, minus infinity for None."""
    try:
        number = -math.inf if goal is None else float(goal)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if math.isnan(number):
        raise ValueError(f"A goal must be a number, or None for no goal, not NaN; got {goal!r}.")
    return number
