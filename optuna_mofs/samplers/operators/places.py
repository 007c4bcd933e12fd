"""The space in which a direction is a direction: hyperparameters as places in a Euclidean space.

Zhang et al. (2023), section 3, walk in the normalised space of Wu et al. (2021). A number is one
axis, [0, 1], logarithmic where its distribution is. A category with m choices is m axes, one a
choice; the choice with the largest coordinate holds. So a small step keeps the category, a large
one leaves it, and the opposite direction leads to other choices than the direction does.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.rows import reflect

#: Coordinate of the choice that holds; the others are 0. Twice the first step of a number: a
#: category of two choices is left by about one direction in six at first, by none at the end.
HEIGHT = 0.2

#: Digits kept of a place on the trial.
_DIGITS = 6


class Places:
    """Rows of a :class:`ParameterSpace` ↔ places, both ways.

    Args:
        space: The parameters.
        sizes: Columns that hold a fraction of features, with the number of features: a step
            changes the number of features by a factor, so they run over log(1/p) to log(1).
    """

    def __init__(self, space: ParameterSpace, sizes: dict[int, int] | None = None) -> None:
        self.space = space
        self._sizes = {j: p for j, p in (sizes or {}).items() if p > 1}
        widths = np.where(space.categorical, space.cells, 1).astype(int)
        ends = np.cumsum(widths)
        #: Axes of each column.
        self._axes = [slice(int(end - w), int(end)) for end, w in zip(ends, widths)]
        self.dimension = int(ends[-1]) if len(ends) else 0

    @classmethod
    def of(cls, history: History) -> Places:
        """The places of a study's hyperparameters."""
        described = history.described
        chosen = None if described is None else described.representation
        sizes = {}
        if chosen is not None and chosen.ranks is not None and "fraction" in history.space.names:
            sizes[history.space.names.index("fraction")] = len(chosen.table.free)
        return cls(history.space, sizes)

    def place(self, row: Array) -> Array:
        """The place of a row without NaN, or of several rows."""
        place = np.zeros((*row.shape[:-1], self.dimension))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                holds = row[..., j, None] == np.arange(axes.stop - axes.start)
                place[..., axes] = HEIGHT * holds
            else:
                place[..., axes.start] = self._narrow(j, row[..., j])
        return place

    def row(self, place: Array) -> Array:
        """The row at a place, or the rows at several."""
        row = np.empty((*place.shape[:-1], len(self._axes)))
        for j, axes in enumerate(self._axes):
            if self.space.categorical[j]:
                row[..., j] = np.argmax(place[..., axes], axis=-1)
            else:
                row[..., j] = self._widen(j, place[..., axes.start])
        return row

    def coordinates(self, rows: Array) -> Array:
        """Rows for a model of them: fractions of features on their logarithmic scale."""
        if not self._sizes:
            return rows
        seen = rows.copy()
        for j in self._sizes:
            seen[:, j] = self._narrow(j, rows[:, j])
        return seen

    def inside(self, place: Array) -> Array:
        """A place, or several, with numbers folded back into [0, 1]."""
        place = place.copy()
        for j, axes in enumerate(self._axes):
            part = place[..., axes]
            if self.space.categorical[j]:
                # Only differences matter; bounded, or a category could never be left again.
                highest = part.max(axis=-1, keepdims=True)
                place[..., axes] = np.clip(part - highest + HEIGHT, 0.0, HEIGHT)
            else:
                # Projected, steps across a bound would pile up on it and try it again and again.
                place[..., axes] = reflect(part)
        return place

    def from_unit(self, unit: Array, *, wide: bool = False) -> Array:
        """A row, or several, from points of the unit cube with one coordinate a parameter.

        Args:
            unit: The points.
            wide: Whether every other fraction of features is drawn evenly from all fractions. By
                their logarithms more than half of all features are hardly ever drawn.
        """
        row: Array = self.space.from_unit(np.atleast_2d(unit)).reshape(unit.shape)
        for j in self._sizes:
            u = unit[..., j]
            row[..., j] = self._widen(j, u)
            if wide:
                row[..., j] = np.where(u < 0.5, self._widen(j, 2 * u), 2 * u - 1)
        return row

    def remembered(self, row: Array, noted: list[float] | None) -> Array:
        """The place that a trial noted, where it still means the row that was evaluated.

        A grid value or a category stands for many places: the one noted is where the steps led,
        so that steps smaller than a cell add up.
        """
        place = self.place(row)
        if noted is None or len(noted) != self.dimension:
            return place
        there = np.array(noted, dtype=float)
        mine, theirs = self.space.decode(row), self.space.decode(self.row(there))
        for name, axes in zip(self.space.names, self._axes):
            a, b = mine[name], theirs[name]
            close = isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-4 * abs(a)
            if close or a is b or a == b:
                place[axes] = there[axes]
        return place

    def note(self, place: Array) -> list[float]:
        """A place as it is written on a trial."""
        noted: list[float] = np.round(place, _DIGITS).tolist()
        return noted

    def _narrow(self, j: int, value: Any) -> Any:
        p = self._sizes.get(j)
        return value if p is None else 1.0 + np.log(np.maximum(value, 1 / p)) / np.log(p)

    def _widen(self, j: int, value: Any) -> Any:
        p = self._sizes.get(j)
        inside = np.minimum(1.0, np.maximum(0.0, value))
        return inside if p is None else p ** (inside - 1.0)
