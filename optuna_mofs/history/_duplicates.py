"""Configurations and feature sets that trials have tried or reserved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._codec import pack

if TYPE_CHECKING:
    from optuna_mofs.history._history import History
    from optuna_mofs.samplers._encoding import FilterSets


class _Known:
    """Configurations that were or are being tried.

    A trial that failed, or was cut off, between two suggestions says nothing of those that were
    to come: a trial that is not complete counts only if it has as many parameters as trials of
    its kind have.
    """

    def __init__(self) -> None:
        #: Parameters that the study's description names; every whole trial has them.
        self.named: frozenset[str] = frozenset()
        self.unfinished: list[dict[str, float]] = []
        #: Fingerprints of what running trials are going to suggest.
        self.announced: set[str | None] = set()
        self._complete: dict[frozenset[str], set[tuple[float, ...]]] = {}
        self._failed: dict[frozenset[str], set[tuple[float, ...]]] = {}

    def add(self, values: Mapping[str, float], *, complete: bool) -> None:
        if values:
            where = self._complete if complete else self._failed
            where.setdefault(frozenset(values), set()).add(_ordered(values, values))

    def holds(self, values: Mapping[str, float]) -> bool:
        have = values.keys()
        for names, seen in self._complete.items():
            if names <= have and _ordered(values, names) in seen:
                return True
        for names, seen in self._failed.items():
            if names <= have and _ordered(values, names) in seen and self._is_whole(names):
                return True
        if self.announced and fingerprint(values) in self.announced:
            return True
        return any(
            other.items() <= values.items() and self._is_whole(frozenset(other))
            for other in self.unfinished
        )

    @property
    def tried(self) -> int:
        return max(map(len, self._complete.values()), default=0)

    def _is_whole(self, names: frozenset[str]) -> bool:
        if not names or any(names < others for others in self._complete):
            return False
        return names in self._complete or (bool(self.named) and self.named <= names)


def fingerprint(values: Mapping[str, float]) -> str:
    """A short text that is the same for equal parameters, which are given in Optuna's numbers."""
    text = repr(sorted(values.items())).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _ordered(values: Mapping[str, float], names: Collection[str]) -> tuple[float, ...]:
    return tuple(values[name] for name in sorted(names))


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
