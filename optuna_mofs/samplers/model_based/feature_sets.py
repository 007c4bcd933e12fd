"""Feature sets that several rows of filter weights stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.history import History


class FeatureSets:
    """How often each feature set was tried, where rows say it only through filters.

    Top features of many weights are the same, above all when they are few: a model that sees the
    weights asks for the same one or two features again and again. A set of ``k`` features is worth
    ``sqrt(k)`` trials, with other hyperparameters each.

    Args:
        history: Finished trials.
        kept: Keeps what was counted from trial to trial.
    """

    def __init__(self, history: History, kept: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._history = history
        described = history.described
        chosen = None if described is None else described.representation
        # Masks that a sampler sets itself it does not set twice.
        ranked = chosen is not None and chosen.ranks is not None and chosen.table.ranks is not None
        self._chosen = chosen if ranked else None
        known: dict[int, bytes] = kept("feature sets", dict)
        self._tries: Counter[bytes] = Counter()
        for number, row in zip(history.numbers.ravel().tolist(), history.rows if ranked else ()):
            if number not in known:
                known[number] = self._key(self._set(row))
            self._tries[known[number]] += 1

    def is_spent(self, row: Array) -> bool:
        """Whether the set that a row stands for had its trials."""
        found = self._set(row)
        if found is None:
            return False
        return self._tries[self._key(found)] >= max(1.0, float(np.sqrt(found.sum())))

    def _set(self, row: Array) -> Array | None:
        params = self._history.space.decode(row)
        if self._chosen is None or not params.keys() >= self._chosen.distributions.keys():
            return None
        return self._chosen.choose(params)

    @staticmethod
    def _key(mask: Array | None) -> bytes:
        return b"" if mask is None else np.packbits(mask).tobytes()
