"""Lexicographic choice with tolerances and goals; all objectives are minimised.

The targets and the order are those of Zhang et al. (2023), *Targeted hyperparameter optimization
with lexicographic preferences over multiple objectives* (ICLR), section 2.1 and equations 5 to 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from optuna_mofs.fronts._arrays import as_points, has_no_nan
from optuna_mofs.fronts.knees import first_in_order

# A sum like 0.7 + 0.1 falls just short of 0.8; who allows 0.1 means to include 0.8.
_ROUNDING = 1e-12


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
        points: One row a point, one column an objective to be minimised. Rows with a NaN are left
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
    array = as_points(points)
    order = _order(priorities, array.shape[1])
    running, _ = _run(array, tolerances, goals, order)
    return int(running[first_in_order(array[running][:, order])])


def lexicographic_targets(
    points: ArrayLike,
    *,
    tolerances: Sequence[float | str] | None = None,
    goals: Sequence[float | None] | None = None,
    priorities: Sequence[int] | None = None,
) -> NDArray[np.float64]:
    """Return the target of each objective, in the order of the columns (equation 8).

    The arguments are those of :func:`lexicographic_index`.

    Example:
        >>> lexicographic_targets([[0.5, 100], [0.25, 600]], tolerances=["50%", 0]).tolist()
        [0.375, 600.0]
    """
    array = as_points(points)
    return _run(array, tolerances, goals, _order(priorities, array.shape[1]))[1]


def _run(
    array: NDArray[np.float64],
    tolerances: Sequence[float | str] | None,
    goals: Sequence[float | None] | None,
    order: list[int],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    """Narrow the rows objective by objective; return the rows left and the targets."""
    width = array.shape[1]
    slacks = _slacks(tolerances, width)
    floors = _goals(goals, width)
    running = np.flatnonzero(has_no_nan(array))
    if len(running) == 0:
        raise ValueError(f"Nothing to choose from: {len(array)} points, none without NaN.")
    targets = np.empty(width)
    for column in order:
        values = array[running, column]
        absolute, relative = slacks[column]
        best = float(values.min())
        # Of an infinite best value no share can be taken.
        slack = absolute + relative * abs(best) if math.isfinite(best) else 0.0
        target = max(best + slack, floors[column])
        keep = values <= target
        if slack > 0.0:
            keep |= np.isclose(values, target, rtol=_ROUNDING, atol=0.0)
        running, targets[column] = running[keep], target
    return running, targets


def _order(priorities: Sequence[int] | None, width: int) -> list[int]:
    """Return all columns in order of priority."""
    chosen = [int(column) for column in priorities] if priorities is not None else []
    if len(set(chosen)) < len(chosen) or not set(chosen) <= set(range(width)):
        raise ValueError(
            f"priorities must be different columns from 0 to {width - 1}, got {chosen}."
        )
    return chosen + [column for column in range(width) if column not in chosen]


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


def _goals(goals: Sequence[float | None] | None, width: int) -> list[float]:
    """Return the goal of each column, minus infinity where there is none."""
    given = [None] * width if goals is None else list(goals)
    if len(given) != width:
        raise ValueError(f"goals needs {width} entries, one an objective or None, got {given!r}.")
    floors = [-math.inf if goal is None else float(goal) for goal in given]
    if any(math.isnan(floor) for floor in floors):
        raise ValueError(f"A goal must not be NaN, got {given!r}. Use None for no goal.")
    return floors
