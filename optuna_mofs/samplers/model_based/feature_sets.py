"""How often feature sets were tried."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history import History
from optuna_mofs.samplers.model_based.set_view import FilterSets


class FeatureSets:
    """Which feature sets had their trials.

    A model asks for the same few features again and again, with hyperparameters that promise a
    little more each time, while another set would tell it far more. A set of ``k`` features is
    worth ``sqrt(k)`` trials, with other hyperparameters each. The top features of many filter
    weights are one set, above all when they are few.

    Args:
        history: Finished trials.
        filters: What weights of filters stand for, if the study has such.
        kept: Keeps what was counted from trial to trial.
    """

    def __init__(
        self,
        history: History,
        filters: FilterSets | None,
        kept: Callable[[str, Callable[[], Any]], Any],
    ) -> None:
        self._filters = filters
        known: dict[int, bytes] = kept("feature sets", dict)
        self._tries = Counter(
            history.of_each(known, lambda new: _keys(self._of_trials(history, new)))
        )

    def spent(self, rows: Array, masks: Array | None = None) -> Array:
        """Whether the set of each configuration had its trials.

        Args:
            rows: As in the history.
            masks: Mask of each row, if the study has masks.
        """
        says = np.full(len(rows), masks is not None)
        sets = np.zeros((len(rows), 0), dtype=bool) if masks is None else masks
        if self._filters is not None:
            says, sets = self._filters.complete(rows), self._filters(rows)
        tries = np.array([self._tries[key] for key in _keys(sets)])
        found: Array = says & (tries >= np.sqrt(np.maximum(1, sets.sum(axis=1))))
        return found

    def _of_trials(self, history: History, positions: list[int]) -> Array:
        if self._filters is not None:
            return self._filters(history.rows[positions])
        if history.table is None:
            return np.zeros((len(positions), 0), dtype=bool)
        return history.masks(positions)


def _keys(sets: Array) -> list[bytes]:
    return [packed.tobytes() for packed in np.packbits(sets, axis=1)]
