"""Rows of parameters as a surrogate sees them."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import ParameterSpace


class RowEncoding:
    """Numbers as they are, categories as indicators.

    An inactive category is a level of its own (Horn and Bischl 2016, section II b). An inactive
    number stays NaN: where it is put is for the surrogate to say.

    Args:
        space: The parameters.
        rows: Finished trials, NaN where a parameter was inactive.
        hidden: Names of parameters that are left out.
    """

    def __init__(self, space: ParameterSpace, rows: Array, hidden: Collection[str] = ()) -> None:
        shown = np.array([name not in hidden for name in space.names], dtype=bool)
        self._number = np.flatnonzero(~space.categorical & shown)
        pairs = []
        for j in np.flatnonzero(space.categorical & shown):
            missing = bool(np.isnan(rows[:, j]).any())
            # Two choices need one indicator; a third level is "missing".
            first = 1 if space.cells[j] == 2 and not missing else 0
            pairs += [(j, level) for level in range(first, int(space.cells[j]))]
        self._source = np.array([j for j, _ in pairs], dtype=np.int64)
        self._level = np.array([level for _, level in pairs], dtype=float)

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self._number) + len(self._source)

    def __call__(self, rows: Array) -> Array:
        """Rows × columns for a surrogate."""
        numbers: Array = rows[:, self._number]
        if not len(self._source):
            return numbers
        return np.hstack([numbers, rows[:, self._source] == self._level])
