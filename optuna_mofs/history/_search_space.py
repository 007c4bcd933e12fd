"""Parameters as rows of numbers and back, and conditions of parameters."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from optuna_mofs._typing import Array


class SearchSpace:
    """Encodes hyperparameters as a row of numbers, one column per parameter.

    Numbers are mapped to [0, 1], through the logarithm if the scale is logarithmic. A value on a
    grid (integers, steps) is mapped to the middle of its cell, so that a uniform draw hits all
    values equally often. A category is encoded by its position. A missing parameter is NaN.

    Args:
        distributions: Distributions by name; those with a single value are left out.

    Example:
        >>> space = SearchSpace({"C": FloatDistribution(1, 64, log=True)})
        >>> space.encode({"C": 8.0}).tolist()
        [0.5]
        >>> round(space.decode(np.array([0.5]))["C"], 6)
        8.0
    """

    def __init__(self, distributions: Mapping[str, BaseDistribution]) -> None:
        self.distributions = {n: d for n, d in distributions.items() if not d.single()}
        self.names = list(self.distributions)
        self._axes = [_axis(d) for d in self.distributions.values()]
        self.categorical = np.array([isinstance(a, _Choice) for a in self._axes], dtype=bool)
        #: Number of distinct values of each parameter, infinite for a continuous one.
        self.cells = np.array([a.cells for a in self._axes], dtype=float)
        #: Parameters with tuples or lists among their choices.
        self.sequence_parameters = {
            name
            for name, axis in zip(self.names, self._axes)
            if isinstance(axis, _Choice)
            and any(isinstance(choice, list | tuple) for choice in axis.choices)
        }

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, params: Mapping[str, Any]) -> Array:
        """Return the row of parameter values, NaN for a value that its distribution excludes."""
        row = np.full(len(self.names), np.nan)
        for j, name in enumerate(self.names):
            if name in params:
                # Optuna allows adding trials of another version of the objective.
                with suppress(TypeError, ValueError):
                    row[j] = self._axes[j].encode(params[name])
        return row

    def decode(self, row: Array) -> dict[str, Any]:
        """Return the parameter values of a row; columns that are NaN are left out."""
        params = {}
        for name, axis, value in zip(self.names, self._axes, row.tolist()):
            if value == value:
                params[name] = axis.decode(value)
        return params

    def values(self, name: str, rows: Array) -> Array:
        """Return the values of one parameter in many rows, NaN where it is missing."""
        j = self.names.index(name)
        axis, column = self._axes[j], rows[:, j]
        if isinstance(axis, _Choice):
            # Filled one by one: NumPy would turn choices that are tuples into a matrix.
            choices: Array = np.empty(axis.cells + 1, dtype=object)
            choices[:] = [*axis.choices, np.nan]
            cell = np.clip(column, 0, axis.cells - 1)
            return choices[np.where(np.isnan(column), axis.cells, cell).astype(int)]
        position = axis.start + np.clip(column, 0.0, 1.0) * axis.width
        if isinstance(axis, _Continuous):
            return np.clip(np.exp(position) if axis.log else position, axis.low, axis.high)
        return np.minimum(axis.values(position), axis.high)

    def sample(self, rng: np.random.Generator, count: int = 1) -> Array:
        """Return random rows, uniform in every parameter."""
        return self.from_unit(rng.random((count, len(self.names))))

    def from_unit(self, unit: Array) -> Array:
        """Return rows from points of the unit cube, such as those of a design."""
        rows = unit.copy()
        columns = self.categorical
        rows[:, columns] = np.floor(unit[:, columns] * self.cells[columns])
        return rows

    def snapped(self, rows: Array) -> Array:
        """Return rows with values on grids moved to the middle of their cells."""
        rows = rows.copy()
        for j, axis in enumerate(self._axes):
            if isinstance(axis, _Grid):
                rows[:, j] = axis.snapped(rows[:, j])
        return rows

    def size(self) -> float:
        """Return the number of configurations, infinite if any parameter is continuous."""
        with np.errstate(over="ignore"):
            return float(np.prod(self.cells))

    def nth(self, n: int) -> Array:
        """Return the n-th of all configurations of a finite space."""
        row = np.empty(len(self))
        for i, axis in enumerate(self._axes):
            n, cell = divmod(n, int(axis.cells))
            row[i] = axis.middle(cell) if isinstance(axis, _Grid) else cell
        return row


class _Continuous:
    """A parameter with infinitely many values."""

    cells = math.inf

    def __init__(self, d: FloatDistribution) -> None:
        self.low, self.high, self.log = d.low, d.high, d.log
        self.start = math.log(d.low) if d.log else d.low
        self.width = (math.log(d.high) if d.log else d.high) - self.start

    def encode(self, value: Any) -> float:
        position = (math.log(value) if self.log else value) - self.start
        return min(1.0, max(0.0, position / self.width))

    def decode(self, value: float) -> float:
        position = self.start + min(1.0, max(0.0, value)) * self.width
        return min(self.high, max(self.low, math.exp(position) if self.log else position))


class _Grid:
    """Integers and stepped floats: one cell per value."""

    def __init__(self, d: IntDistribution | FloatDistribution) -> None:
        self.low, self.high, self.step = d.low, d.high, d.step or 1
        self.integer = isinstance(d, IntDistribution)
        self.log = d.log
        self.last = round((d.high - d.low) / self.step)
        self.cells = self.last + 1
        self.start = self._scale(-0.5)
        self.width = self._scale(self.last + 0.5) - self.start

    def _scale(self, k: float) -> float:
        return math.log(self.low + k * self.step) if self.log else k

    def encode(self, value: Any) -> float:
        return self.middle(min(self.last, max(0, (value - self.low) / self.step)))

    def middle(self, cell: float) -> float:
        """Return the number that encodes the value of a cell."""
        return (self._scale(cell) - self.start) / self.width

    def decode(self, value: float) -> Any:
        position = self.start + min(1.0, max(0.0, value)) * self.width
        k = (math.exp(position) - self.low) / self.step if self.log else position
        decoded = self.low + min(self.last, max(0, round(k))) * self.step
        # The last step of a float can exceed its bound by a rounding error.
        return int(decoded) if self.integer else min(self.high, decoded)

    def values(self, position: Array) -> Array:
        """Return the values at positions on the scale."""
        k = np.rint((np.exp(position) - self.low) / self.step if self.log else position)
        return self.low + np.clip(k, 0, self.last) * self.step

    def snapped(self, values: Array) -> Array:
        at = self.values(self.start + np.clip(values, 0.0, 1.0) * self.width)
        scaled = np.log(at) if self.log else (at - self.low) / self.step
        return (scaled - self.start) / self.width


class _Choice:
    """A category, encoded by its position."""

    def __init__(self, d: CategoricalDistribution) -> None:
        self.choices = d.choices
        self.cells = len(d.choices)
        self._distribution = d

    def encode(self, value: Any) -> float:
        return to_internal(self._distribution, value)

    def decode(self, value: float) -> Any:
        return self.choices[min(len(self.choices) - 1, max(0, int(value)))]


def to_internal(distribution: BaseDistribution, value: Any) -> float:
    """Return a value in Optuna's internal representation.

    Tuples and lists among choices count as equal, since a storage returns ``(50, 50)`` as
    ``[50, 50]``.

    Example:
        >>> to_internal(CategoricalDistribution(("relu", "tanh")), "tanh")
        1.0
    """
    if isinstance(distribution, CategoricalDistribution) and isinstance(value, list | tuple):
        return float([_to_lists(c) for c in distribution.choices].index(_to_lists(value)))
    return float(distribution.to_internal_repr(value))


def _to_lists(choice: Any) -> Any:
    return [_to_lists(c) for c in choice] if isinstance(choice, list | tuple) else choice


def _axis(distribution: BaseDistribution) -> _Continuous | _Grid | _Choice:
    if isinstance(distribution, CategoricalDistribution):
        return _Choice(distribution)
    if isinstance(distribution, IntDistribution):
        return _Grid(distribution)
    assert isinstance(distribution, FloatDistribution)
    return _Continuous(distribution) if distribution.step is None else _Grid(distribution)


def merge_distributions(old: BaseDistribution, new: BaseDistribution) -> BaseDistribution:
    """Return one distribution of a parameter whose range or step changes between trials.

    It covers both, so that it stops changing, and does not depend on the order of the trials. Of
    two distributions of different kinds, which Optuna allows only for trials that were added to
    the study, it is always the same one.

    Example:
        >>> merge_distributions(IntDistribution(0, 8, step=4), IntDistribution(2, 14, step=6))
        IntDistribution(high=14, log=False, low=0, step=2)
    """
    same_log = getattr(old, "log", None) == getattr(new, "log", None)
    if isinstance(old, IntDistribution) and isinstance(new, IntDistribution) and same_log:
        # The coarsest grid that has all values of both; a single value has no step.
        steps = [0 if d.single() else d.step for d in (old, new)]
        step = 1 if new.log else math.gcd(*steps, old.low - new.low) or 1
        low, high = min(old.low, new.low), max(old.high, new.high)
        return IntDistribution(low, high, log=new.log, step=step)
    if isinstance(old, FloatDistribution) and isinstance(new, FloatDistribution) and same_log:
        grid = old.step if old.step == new.step else None
        shift = 0.0 if grid is None else (new.low - old.low) / grid
        if abs(shift - round(shift)) >= 1e-8:  # the steps are equal but the grids are not
            grid = None
        return FloatDistribution(
            min(old.low, new.low), max(old.high, new.high), log=new.log, step=grid
        )
    return max(old, new, key=repr)


#: A grid of at most this many values can be the parent of a condition, as a category can.
_MAX_LEVELS = 64


@dataclass(frozen=True)
class _Condition:
    """Column ``child`` is active at some levels of column ``parent``."""

    child: int
    parent: int
    #: Whether the child is active, by level of the parent; the last level is "parent inactive".
    active: Array


class ConditionalParameters:
    """Conditions under which parameters are active, described by the study or inferred.

    For each parameter that some trials lack, the category (or small grid of integers) is chosen
    that predicts best whether the parameter is active. At a value that no trial has, the
    parameter counts as active: an inactive parameter in a proposal is ignored, but a missing one
    is drawn at random. Conditions that the study describes are not inferred.

    Args:
        space: The parameters.
        rows: Rows of completed trials, NaN where a parameter was inactive.
        described: Parent of each conditional parameter, and choices of the parent at which the
            parameter is active.

    Example:
        >>> from optuna.distributions import CategoricalDistribution, FloatDistribution
        >>> space = SearchSpace(
        ...     {"kind": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)}
        ... )
        >>> conditional = ConditionalParameters(space, np.array([[0.0, 0.3], [1.0, np.nan]]))
        >>> conditional.apply(np.array([[0.0, 0.5], [1.0, 0.5]])).tolist()
        [[0.0, 0.5], [1.0, nan]]
    """

    def __init__(
        self,
        space: SearchSpace,
        rows: Array,
        described: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
    ) -> None:
        self._space = space
        self._can_be_parent = space.categorical | (space.cells <= _MAX_LEVELS)
        self._conditions = self._read(described or {})
        if len(rows):
            self._conditions += self._infer(rows, {c.child for c in self._conditions})

    @property
    def conditional(self) -> bool:
        """Whether any parameter depends on another."""
        return bool(self._conditions)

    @property
    def signature(self) -> list[tuple[int, int, list[bool]]]:
        """The conditions as plain values: equal signatures have equal effects."""
        return [(c.child, c.parent, c.active.tolist()) for c in self._conditions]

    def apply(self, rows: Array) -> Array:
        """Return rows with inactive parameters set to NaN."""
        if not self._conditions:
            return rows
        rows = rows.copy()
        for condition in self._conditions:
            level = self._levels(rows[:, condition.parent], condition.parent)
            rows[~condition.active[level], condition.child] = np.nan
        return rows

    def _levels(self, column: Array, i: int) -> Array:
        cells = int(self._space.cells[i])
        scaled = column if self._space.categorical[i] else column * cells
        inactive = np.isnan(column)
        level = np.clip(np.floor(np.where(inactive, 0, scaled)), 0, cells - 1).astype(np.int64)
        return np.where(inactive, cells, level)

    def _read(self, described: Mapping[str, tuple[str, Sequence[Any]]]) -> list[_Condition]:
        columns = {name: j for j, name in enumerate(self._space.names)}

        def depth(name: str) -> int:
            return 1 + depth(described[name][0]) if name in described else 0

        conditions = []
        # Parents before their children: this is the order in which conditions are applied.
        known = described.keys() & columns.keys()
        for child in sorted(known, key=lambda name: (depth(name), columns[name])):
            parent, choices = described[child]
            distribution = self._space.distributions.get(parent)
            if isinstance(distribution, CategoricalDistribution):
                active = [*(choice in choices for choice in distribution.choices), False]
                conditions.append(_Condition(columns[child], columns[parent], np.array(active)))
        return conditions

    def _infer(self, rows: Array, exclude: set[int]) -> list[_Condition]:
        active = ~np.isnan(rows)
        # Parents before their children: a parent is active at least as often.
        order = np.argsort(-active.sum(axis=0), kind="stable").tolist()
        conditions = []
        for position, child in enumerate(order):
            if child in exclude or active[:, child].all():
                continue
            parents = [j for j in order[:position] if self._can_be_parent[j]]
            candidates = [self._candidate(rows, active, child, parent) for parent in parents]
            if candidates:
                _, best = min(candidates, key=lambda candidate: candidate[0])
                if not best.active.all():
                    conditions.append(best)
        return conditions

    def _candidate(
        self, rows: Array, active: Array, child: int, parent: int
    ) -> tuple[float, _Condition]:
        """Return the number of trials that contradict a condition, and the condition."""
        level = self._levels(rows[:, parent], parent)
        n_levels = int(self._space.cells[parent]) + 1
        n_trials = np.bincount(level, minlength=n_levels)
        n_active = np.bincount(level, weights=active[:, child], minlength=n_levels)
        # At a level where the child is active in only some of the trials, it counts as active.
        n_wrong = float((n_trials - n_active)[n_active > 0].sum())
        return n_wrong, _Condition(child, parent, (n_active > 0) | (n_trials == 0))
