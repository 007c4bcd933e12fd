"""Which parameters a conditional space asks for, as described or learned from the trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from optuna.distributions import CategoricalDistribution

from optuna_mofs._typing import Array
from optuna_mofs.parameters import ParameterSpace

#: A grid of at most this many values can switch other parameters, as a category can.
_LEVELS = 64


@dataclass(frozen=True)
class _Rule:
    """Parameter ``child`` is asked for at some levels of ``parent``."""

    child: int
    parent: int
    active: Array  # by level; the last is "parent inactive"


class Activity:
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
        >>> space = ParameterSpace(
        ...     {"kind": CategoricalDistribution(["a", "b"]), "x": FloatDistribution(0, 1)}
        ... )
        >>> activity = Activity(space, np.array([[0.0, 0.3], [1.0, np.nan]]))
        >>> activity.apply(np.array([[0.0, 0.5], [1.0, 0.5]])).tolist()
        [[0.0, 0.5], [1.0, nan]]
    """

    def __init__(
        self,
        space: ParameterSpace,
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
