"""Lexicographic order with tolerances and goals; all objectives are minimized.

The targets and the order are those of Zhang et al. (2023), *Targeted hyperparameter optimization
with lexicographic preferences over multiple objectives* (ICLR), section 2.1 and equations 2 to 8.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs._typing import Floats
from optuna_mofs.fronts._dominance import as_points, has_no_nan
from optuna_mofs.study._completed_trials import metric_column, per_metric

# A sum like 0.7 + 0.1 falls just short of 0.8; who allows 0.1 means to include 0.8.
_ROUNDING = 1e-12


@dataclass(frozen=True)
class LexicographicOrder:
    """Which of two points is preferred: priorities, tolerances and goals over columns.

    Everything the paper defines by cases is one plain order: lift every value that reaches its
    target to the target, compare lexicographically (equations 5 to 7), and compare what is then
    equal by the values themselves (equations 2 to 4, line 13 of Algorithm 1).

    Args:
        columns: All columns, the most important first.
        absolute: Tolerance of each column in its own unit.
        relative: Tolerance of each column as a share of the size of its best value.
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
        """An order over ``width`` columns; see :func:`lexicographic_index` for the arguments."""
        slacks = _slacks(tolerances, width)
        return cls(
            columns=_columns(priorities, width),
            absolute=tuple(slack[0] for slack in slacks),
            relative=tuple(slack[1] for slack in slacks),
            goals=_goals(goals, width),
        )

    def targets(self, points: Floats) -> Floats:
        """The target of each column given the points seen (equation 8).

        Rows with a NaN are left out.
        """
        running = points[has_no_nan(points)]
        if len(running) == 0:
            raise ValueError(f"Nothing to choose from: {len(points)} points, none without NaN.")
        targets = np.empty(points.shape[1])
        for column in self.columns:
            values = running[:, column]
            best = float(values.min())
            # Of an infinite best value no share can be taken.
            finite = math.isfinite(best)
            share = self.relative[column] * abs(best) if finite else 0.0
            targets[column] = max(best + self.absolute[column] + share, self.goals[column])
            running = running[self.reached(column, values, targets[column])]
        return targets

    def ranking(self, points: Floats, targets: Floats | None = None) -> NDArray[np.intp]:
        """Rows from the most to the least preferred; ties by row, rows with a NaN last.

        Args:
            points: One row a point.
            targets: Those of :meth:`targets`; by default computed from ``points``.
        """
        whole = has_no_nan(points)
        if targets is None:
            targets = self.targets(points)
        keys = np.hstack([self.lifted(points, targets), points[:, self.columns]])
        return np.lexsort((*keys.T[::-1], ~whole))

    def lifted(self, points: Floats, targets: Floats) -> Floats:
        """Columns in order of priority, in which values that reach their target equal it."""
        columns = [
            np.where(self.reached(c, points[:, c], targets[c]), targets[c], points[:, c])
            for c in self.columns
        ]
        return np.column_stack(columns)

    def equal(self, a: Floats, b: Floats, targets: Floats) -> bool:
        """Equation 5: in every column both are equal or both reach the target."""
        x, y = self.lifted(np.array([a, b]), targets).tolist()
        return bool(x == y)

    def better(self, a: Floats, b: Floats, targets: Floats) -> bool:
        """Equation 6: a is better in the most important column in which they are not equal."""
        x, y = self.lifted(np.array([a, b]), targets).tolist()
        return bool(x < y)

    def not_worse(self, a: Floats, b: Floats, targets: Floats) -> bool:
        """Equation 7: better or equal."""
        x, y = self.lifted(np.array([a, b]), targets).tolist()
        return bool(x <= y)

    def accepts(self, new: Floats, old: Floats, targets: Floats) -> bool:
        """Line 13 of Algorithm 1: better by targets, or equal and better by the values."""
        x, y = self.lifted(np.array([new, old]), targets).tolist()
        order = list(self.columns)
        return bool((x, new[order].tolist()) < (y, old[order].tolist()))

    def after_violations(self) -> LexicographicOrder:
        """The same order behind a new first column, the violation of constraints.

        Its target is 0 as soon as any point keeps all constraints.
        """
        return LexicographicOrder(
            columns=(0, *(column + 1 for column in self.columns)),
            absolute=(0.0, *self.absolute),
            relative=(0.0, *self.relative),
            goals=(0.0, *self.goals),
        )

    def without_tolerances(self) -> LexicographicOrder:
        """The same order in which nothing may be given up."""
        none = (0.0,) * len(self.columns)
        return replace(self, absolute=none, relative=none)

    def reached(self, column: int, values: Floats, target: float) -> NDArray[np.bool_]:
        """Which values of a column reach its target, rounding errors of the tolerance aside."""
        reached: NDArray[np.bool_] = values <= target
        if (self.absolute[column] or self.relative[column]) and math.isfinite(target):
            reached |= np.abs(values - target) <= _ROUNDING * abs(target)
        return reached


def named_order(
    names: Sequence[str],
    signs: Sequence[float] | Floats,
    *,
    tolerances: Any = None,
    goals: Any = None,
    priorities: Sequence[str | int] | None = None,
) -> LexicographicOrder:
    """An order from arguments by metric name and in the metrics' own directions.

    Args:
        names: Names of the metrics.
        signs: 1 for a minimized metric, -1 for a maximized one.
        tolerances: By name or position, or a sequence in the order of ``names``.
        goals: In the same form, in the metrics' own directions.
        priorities: Names or positions, the most important first.
    """
    wanted = per_metric("goals", goals, None, names)
    return LexicographicOrder.of(
        len(names),
        tolerances=per_metric("tolerances", tolerances, 0.0, names),
        goals=[None if goal is None else float(goal) * s for goal, s in zip(wanted, signs)],
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

    The objectives are taken in order of priority. For each a target is computed over the points
    still in the running, and the points that miss it leave: the target is the best value plus the
    tolerance, or the goal when that is laxer (equation 8). Of those that remain the plain
    lexicographic order decides (equations 2 to 4); it is a non-dominated point (remark 1).

    Args:
        points: One row a point, one column an objective to be minimized. Rows with a NaN are left
            out.
        tolerances: What may be given up of each objective for the sake of the later ones: a
            number in the objective's unit, or ``"5%"`` of the size of its best value. Default: 0.
        goals: For each objective the value that is good enough, or None. Default: none.
        priorities: Columns, the most important first. Columns left out follow in their order.
            ``tolerances`` and ``goals`` stay in the order of the columns.

    Raises:
        ValueError: If there is no point without NaN, or an argument has a bad value.

    Example:
        The worked example of the paper's section 2.1 (loss, features, instability):

        >>> front = [[0.2, 100, 0.1], [0.1, 600, 0.2], [0.13, 500, 0.2], [0.1, 300, 0.5]]
        >>> lexicographic_index(front, tolerances=[0.05, 0, 0], goals=[None, 500, None])
        2
    """
    array, order = _prepared(points, tolerances, goals, priorities)
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
    array, order = _prepared(points, tolerances, goals, priorities)
    return order.targets(array)


def _prepared(
    points: ArrayLike,
    tolerances: Sequence[float | str] | None,
    goals: Sequence[float | None] | None,
    priorities: Sequence[int] | None,
) -> tuple[Floats, LexicographicOrder]:
    array = as_points(points)
    return array, LexicographicOrder.of(
        array.shape[1], tolerances=tolerances, goals=goals, priorities=priorities
    )


def _columns(priorities: Sequence[int] | None, width: int) -> tuple[int, ...]:
    """Return all columns in order of priority."""
    chosen = [int(column) for column in priorities] if priorities is not None else []
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(width)):
        raise ValueError(
            f"priorities must be different columns from 0 to {width - 1}, got {chosen}."
        )
    return (*chosen, *(column for column in range(width) if column not in chosen))


def _slacks(tolerances: Sequence[float | str] | None, width: int) -> list[tuple[float, float]]:
    """Return the absolute and the relative tolerance of each column."""
    given = [0.0] * width if tolerances is None else list(tolerances)
    if len(given) != width:
        raise ValueError(f"tolerances needs {width} entries, one an objective, got {given!r}.")
    return [parse_tolerance(tolerance) for tolerance in given]


def parse_tolerance(tolerance: float | str) -> tuple[float, float]:
    """Return the absolute and the relative part of a tolerance, one of which is 0.

    Example:
        >>> parse_tolerance(0.5), parse_tolerance("25%")
        ((0.5, 0.0), (0.0, 0.25))
    """
    relative = isinstance(tolerance, str)
    try:
        text = tolerance.strip() if isinstance(tolerance, str) else tolerance
        if isinstance(text, str) and not text.endswith("%"):
            raise ValueError(text)
        number = float(text[:-1]) if isinstance(text, str) else float(text)
    except (TypeError, ValueError):
        number = math.nan
    if not 0.0 <= number < math.inf:
        raise ValueError(
            f"A tolerance is a number of at least 0 or a percentage like '5%', got {tolerance!r}."
        )
    return (0.0, number / 100.0) if relative else (number, 0.0)


def _goals(goals: Sequence[float | None] | None, width: int) -> tuple[float, ...]:
    """Return the goal of each column, minus infinity where there is none."""
    given = [None] * width if goals is None else list(goals)
    if len(given) != width:
        raise ValueError(f"goals needs {width} entries, one an objective or None, got {given!r}.")
    floors = tuple(-math.inf if goal is None else float(goal) for goal in given)
    if any(math.isnan(floor) for floor in floors):
        raise ValueError(f"A goal must not be NaN, got {given!r}. Use None for no goal.")
    return floors


def check_arguments(tolerances: Any, goals: Any) -> None:
    """Refuse bad tolerances and goals before the metrics are known."""
    for given in _each(tolerances):
        parse_tolerance(given)
    _goals(_each(goals), len(_each(goals)))


def _each(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given.values()) if isinstance(given, Mapping) else list(given)
