"""Objectives that the number of features alone decides: computed, not modelled."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array

#: Different numbers of features that an objective must have been seen at.
_LEAST = 3


class ExactObjectives:
    """Finds objectives that were ``a + b k`` in all trials, ``k`` the number of features.

    The fraction of features is such a one, and their number. Nobody has to say so: it shows in the
    trials. A model of them would be an error where there need be none.

    Args:
        values: Trials × objectives.
        sizes: Number of features of each trial.

    Example:
        >>> values = np.array([[0.3, 0.1], [0.2, 0.2], [0.4, 0.4]])
        >>> exact = ExactObjectives(values, np.array([1, 2, 4]))
        >>> exact(np.array([10])).round(9).tolist()
        [[nan, 1.0]]
    """

    def __init__(self, values: Array, sizes: Array) -> None:
        m = values.shape[1]
        self._lines = np.full((m, 2), np.nan)
        if len(np.unique(sizes)) < _LEAST:
            return
        low, high = int(sizes.argmin()), int(sizes.argmax())
        slope = (values[high] - values[low]) / (sizes[high] - sizes[low])
        start = values[low] - slope * sizes[low]
        off = np.abs(values - (start + slope * sizes[:, None])).max(axis=0)
        found = (slope != 0) & (off <= 1e-9 * np.abs(values[high] - values[low]))
        self._lines[found] = np.column_stack([start, slope])[found]

    @property
    def unknown(self) -> list[int]:
        """Positions of the objectives that need a model."""
        return np.flatnonzero(np.isnan(self._lines[:, 0])).tolist()

    def __call__(self, sizes: Array) -> Array:
        """Values at these numbers of features, NaN where a model is needed."""
        values: Array = self._lines[:, 0] + self._lines[:, 1] * np.asarray(sizes)[:, None]
        return values
