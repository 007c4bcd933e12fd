"""Masks that were tried."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._codec import pack
from optuna_mofs.history import History


class TriedMasks:
    """The masks of finished trials, kept up to date as the history grows."""

    def __init__(self) -> None:
        self._numbers = np.zeros(0, dtype=np.int64)
        self._masks: set[bytes] = set()

    def update(self, history: History) -> None:
        """Take in what is new."""
        known = len(self._numbers)
        numbers = history.numbers
        if not np.array_equal(numbers[:known], self._numbers):
            self._masks, known = set(), 0  # a late trial came in between
        self._masks.update(row.tobytes() for row in history.packed[known:])
        self._numbers = numbers.copy()

    def wastes(self, mask: Array, parent: Array | None, *, anything_fixed: bool) -> bool:
        """Whether evaluating a mask is likely to tell nothing new.

        A mask that was tried is worth another trial only on purpose: if it is the parent's and
        the hyperparameters alone change. An empty set has no hyperparameters to change.
        """
        if pack(mask) not in self._masks:
            return False
        empty = not anything_fixed and not mask.any()
        return empty or parent is None or not np.array_equal(mask, parent)
