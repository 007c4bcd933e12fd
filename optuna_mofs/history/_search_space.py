"""Parameters as rows of numbers, both ways, and which parameters are active."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    """Maps hyperparameters to a row in the unit cube, one column each.

    Numbers go to [0, 1], logarithmic scales through the logarithm; a value on a grid (integers,
    steps) goes to the middle of its cell, so that a uniform draw hits all values equally often.
    A categorical goes to the position of its choice. A missing parameter is NaN.

    Args:
        distributions: By name; those of a single value are left out.

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
        self.categorical = np.array([a.choices is not None for a in self._axes], dtype=bool)
        #: Number of distinct values of each parameter, infinite for a continuous one.
        self.cells = np.array([a.cells for a in self._axes], dtype=float)

    def __len__(self) -> int:
        return len(self.names)

    def encode(self, params: Mapping[str, Any]) -> Array:
        """A row from parameter values; what does not fit its distribution counts as missing."""
        return np.array(
            [
                _encoded(axis, params[name]) if name in params else np.nan
                for name, axis in zip(self.names, self._axes)
            ],
            dtype=float,
        )

    def decode(self, row: Array) -> dict[str, Any]:
        """Parameter values from a row; columns that are NaN are left out."""
        return {
            name: axis.decode(value)
            for name, axis, value in zip(self.names, self._axes, row.tolist())
            if value == value
        }

    def sample(self, rng: np.random.Generator, count: int = 1) -> Array:
        """Random rows, uniform in every parameter."""
        return self.from_unit(rng.random((count, len(self))))

    def from_unit(self, unit: Array) -> Array:
        """Rows from points of the unit cube (a design): categoricals become choices."""
        rows = unit.copy()
        which = self.categorical
        rows[:, which] = np.floor(unit[:, which] * self.cells[which])
        return rows

    def snapped(self, rows: Array) -> Array:
        """Rows with every value of a grid where :meth:`encode` puts it."""
        rows = rows.copy()
        for j, axis in enumerate(self._axes):
            if isinstance(axis, _Grid):
                rows[:, j] = axis.snapped(rows[:, j])
        return rows

    def size(self) -> float:
        """Number of different configurations, infinite if any parameter is continuous."""
        with np.errstate(over="ignore"):
            return float(np.prod(self.cells))

    def nth(self, place: int) -> Array:
        """The row at a place in the list of all configurations of a finite space."""
        row = np.empty(len(self))
        for i, axis in enumerate(self._axes):
            place, cell = divmod(place, int(axis.cells))
            row[i] = axis.middle(cell)
        return row


class _Axis:
    """One parameter; the base is a continuous float."""

    choices: tuple[Any, ...] | None = None
    cells: float = math.inf

    def encode(self, value: Any) -> float:
        raise NotImplementedError

    def decode(self, value: float) -> Any:
        raise NotImplementedError

    def middle(self, cell: int) -> float:
        """Where the value of a cell goes."""
        raise NotImplementedError


class _Continuous(_Axis):
    def __init__(self, d: FloatDistribution) -> None:
        self.low, self.high, self.log = d.low, d.high, d.log
        self.start = math.log(d.low) if d.log else d.low
        self.width = (math.log(d.high) if d.log else d.high) - self.start

    def encode(self, value: Any) -> float:
        place = (math.log(value) if self.log else value) - self.start
        return min(1.0, max(0.0, place / self.width))

    def decode(self, value: float) -> float:
        place = self.start + min(1.0, max(0.0, value)) * self.width
        return min(self.high, max(self.low, math.exp(place) if self.log else place))


class _Grid(_Axis):
    """Integers and stepped floats: value k of the grid owns the k-th cell."""

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
        return (self._scale(cell) - self.start) / self.width

    def decode(self, value: float) -> Any:
        place = self.start + min(1.0, max(0.0, value)) * self.width
        k = (math.exp(place) - self.low) / self.step if self.log else place
        found = self.low + min(self.last, max(0, round(k))) * self.step
        # The last step of a float may land a rounding error above its bound.
        return int(found) if self.integer else min(self.high, found)

    def snapped(self, values: Array) -> Array:
        place = self.start + np.minimum(1.0, np.maximum(0.0, values)) * self.width
        k = np.rint((np.exp(place) - self.low) / self.step if self.log else place)
        cells = np.minimum(self.last, np.maximum(0, k))
        scaled = np.log(self.low + cells * self.step) if self.log else cells
        snapped: Array = (scaled - self.start) / self.width
        return snapped


class _Choice(_Axis):
    def __init__(self, d: CategoricalDistribution) -> None:
        self.choices = d.choices
        self.cells = len(d.choices)
        self.place = d.to_internal_repr

    def encode(self, value: Any) -> float:
        return float(self.place(value))

    def decode(self, value: float) -> Any:
        assert self.choices is not None
        return self.choices[min(len(self.choices) - 1, max(0, int(value)))]

    def middle(self, cell: int) -> float:
        return float(cell)


def _encoded(axis: _Axis, value: Any) -> float:
    try:
        return axis.encode(value)
    except (TypeError, ValueError):
        # Optuna lets trials be added that another version of the objective made.
        return math.nan


def _axis(distribution: BaseDistribution) -> _Axis:
    if isinstance(distribution, CategoricalDistribution):
        return _Choice(distribution)
    if isinstance(distribution, IntDistribution):
        return _Grid(distribution)
    assert isinstance(distribution, FloatDistribution)
    return _Continuous(distribution) if distribution.step is None else _Grid(distribution)


def widened(old: BaseDistribution, new: BaseDistribution) -> BaseDistribution:
    """One distribution for a parameter whose range or step changes from trial to trial.

    It covers both, so that it settles, and is the same in whichever order trials come. Of two
    that differ in kind, which Optuna allows only for trials added from outside, it is always the
    same one.

    Example:
        >>> widened(IntDistribution(0, 8, step=4), IntDistribution(2, 14, step=6))
        IntDistribution(high=14, log=False, low=0, step=2)
    """
    same_log = getattr(old, "log", None) == getattr(new, "log", None)
    if isinstance(old, IntDistribution) and isinstance(new, IntDistribution) and same_log:
        # The coarsest grid with all values of both; a single value has no step of its own.
        steps = [0 if d.single() else d.step for d in (old, new)]
        step = 1 if new.log else math.gcd(*steps, old.low - new.low) or 1
        return IntDistribution(*_cover(old, new), log=new.log, step=step)
    if isinstance(old, FloatDistribution) and isinstance(new, FloatDistribution) and same_log:
        grid = old.step if _same_grid(old, new) else None
        return FloatDistribution(*_cover(old, new), log=new.log, step=grid)
    return max(old, new, key=repr)


def _cover(old: Any, new: Any) -> tuple[Any, Any]:
    return min(old.low, new.low), max(old.high, new.high)


def _same_grid(old: FloatDistribution, new: FloatDistribution) -> bool:
    if old.step is None or old.step != new.step:
        return False
    steps = (new.low - old.low) / old.step
    return abs(steps - round(steps)) < 1e-8


#: A grid of at most this many values can switch other parameters, as a category can.
_LEVELS = 64


@dataclass(frozen=True)
class _Rule:
    """Parameter ``child`` is asked for at some levels of ``parent``."""

    child: int
    parent: int
    active: Array  # by level; the last is "parent inactive"


class ConditionalParameters:
    """Switches off the parameters that trials with the same categories did not have.

    For each parameter that some trials lack, the category (or small grid of integers) is found
    whose value tells best whether it is there. A value not seen yet switches nothing off: a
    parameter proposed in vain costs nothing, one that lacks is drawn at random. What a study
    describes need not be learned.

    Args:
        space: The parameters.
        rows: Finished trials, NaN where a parameter was inactive.
        described: Parameters that others switch on: by which, and at which of its choices.

    Example:
        >>> from optuna.distributions import CategoricalDistribution, FloatDistribution
        >>> space = SearchSpace(
        ...     {"kind": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)}
        ... )
        >>> activity = ConditionalParameters(space, np.array([[0.0, 0.3], [1.0, np.nan]]))
        >>> activity.apply(np.array([[0.0, 0.5], [1.0, 0.5]])).tolist()
        [[0.0, 0.5], [1.0, nan]]
    """

    def __init__(
        self,
        space: SearchSpace,
        rows: Array,
        described: Mapping[str, tuple[str, Sequence[Any]]] | None = None,
    ) -> None:
        self._space = space
        self._switches = space.categorical | (space.cells <= _LEVELS)
        self._rules = self._read(described or {})
        if len(rows):
            self._rules += self._learn(rows, {rule.child for rule in self._rules})

    @property
    def conditional(self) -> bool:
        """Whether any parameter depends on another."""
        return bool(self._rules)

    @property
    def signature(self) -> list[tuple[int, int, list[bool]]]:
        """The rules as plain values: equal signatures, equal effect."""
        return [(rule.child, rule.parent, rule.active.tolist()) for rule in self._rules]

    def apply(self, rows: Array) -> Array:
        """Rows with inactive parameters set to NaN."""
        if not self._rules:
            return rows
        rows = rows.copy()
        for rule in self._rules:
            level = self._levels(rows[:, rule.parent], rule.parent)
            rows[~rule.active[level], rule.child] = np.nan
        return rows

    def _levels(self, column: Array, i: int) -> Array:
        cells = int(self._space.cells[i])
        scaled = column if self._space.categorical[i] else column * cells
        absent = np.isnan(column)
        level = np.clip(np.floor(np.where(absent, 0, scaled)), 0, cells - 1).astype(np.int64)
        return np.where(absent, cells, level)

    def _read(self, described: Mapping[str, tuple[str, Sequence[Any]]]) -> list[_Rule]:
        places = {name: j for j, name in enumerate(self._space.names)}

        def depth(name: str) -> int:
            return 1 + depth(described[name][0]) if name in described else 0

        rules = []
        # From the root to the leaves, as rules are applied.
        for child in sorted(described.keys() & places.keys(), key=lambda n: (depth(n), places[n])):
            parent, choices = described[child]
            switch = self._space.distributions.get(parent)
            if isinstance(switch, CategoricalDistribution):
                active = [*(choice in choices for choice in switch.choices), False]
                rules.append(_Rule(places[child], places[parent], np.array(active)))
        return rules

    def _learn(self, rows: Array, but: set[int]) -> list[_Rule]:
        there = ~np.isnan(rows)
        # From the root to the leaves: a parent is there at least as often as its child.
        order = np.argsort(-there.sum(axis=0), kind="stable")
        rules = []
        for child in order:
            if child in but or there[:, child].all():
                continue
            best: tuple[float, _Rule] | None = None
            for parent in order:
                if parent == child:
                    break
                if not self._switches[parent]:
                    continue
                found = self._rule(rows, there, int(child), int(parent))
                if best is None or found[0] < best[0]:
                    best = found
            if best is not None and not best[1].active.all():
                rules.append(best[1])
        return rules

    def _rule(self, rows: Array, there: Array, child: int, parent: int) -> tuple[float, _Rule]:
        level = self._levels(rows[:, parent], parent)
        count = int(self._space.cells[parent]) + 1
        seen = np.bincount(level, minlength=count)
        had = np.bincount(level, weights=there[:, child], minlength=count)
        # How many trials the rule gets wrong; levels where the child is sometimes there stay on.
        wrong = float((seen - had)[had > 0].sum())
        return wrong, _Rule(child, parent, (had > 0) | (seen == 0))
