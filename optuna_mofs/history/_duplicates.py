"""Configurations and feature sets that trials have tried or reserved."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from optuna_mofs._typing import Array

if TYPE_CHECKING:
    from optuna_mofs.history._history import History


class SeenConfigurations:
    """Configurations of finished, running and enqueued trials, in internal representation.

    A trial that failed or was interrupted between two suggestions lacks the parameters that would
    have followed. A trial that is not complete therefore counts only if it has all parameters
    that completed trials of its kind have.
    """

    def __init__(self) -> None:
        #: Parameters that every trial has by the description of the study.
        self.required: frozenset[str] = frozenset()
        self._completed: dict[frozenset[str], set[tuple[float, ...]]] = {}
        self._failed: dict[frozenset[str], set[tuple[float, ...]]] = {}
        self._unfinished: list[Mapping[str, float]] = []
        #: Fingerprints of the configurations that running trials will suggest.
        self._reserved: set[str | None] = set()

    @property
    def n_completed(self) -> int:
        """Largest number of distinct completed configurations with the same parameters."""
        return max(map(len, self._completed.values()), default=0)

    def add_finished(self, values: Mapping[str, float], *, complete: bool) -> None:
        """Add the parameters of a finished trial."""
        if values:
            seen = self._completed if complete else self._failed
            seen.setdefault(frozenset(values), set()).add(_ordered(values, values))

    def add_unfinished(self, values: Mapping[str, float]) -> None:
        """Add the parameters that a running or waiting trial has so far."""
        self._unfinished.append(values)

    def reserve(self, fingerprint: str | None) -> None:
        """Add the configuration that a running trial will suggest."""
        self._reserved.add(fingerprint)

    def clear_unfinished(self) -> None:
        """Forget all unfinished trials."""
        self._unfinished = []
        self._reserved = set()

    def contains(self, values: Mapping[str, float]) -> bool:
        """Return whether a trial has these parameters."""
        have = values.keys()
        for names, seen in self._completed.items():
            if names <= have and _ordered(values, names) in seen:
                return True
        for names, seen in self._failed.items():
            if names <= have and _ordered(values, names) in seen and self._is_complete(names):
                return True
        if self._reserved and fingerprint(values) in self._reserved:
            return True
        return any(
            other.items() <= values.items() and self._is_complete(frozenset(other))
            for other in self._unfinished
        )

    def _is_complete(self, names: frozenset[str]) -> bool:
        if not names or any(names < others for others in self._completed):
            return False
        return names in self._completed or (bool(self.required) and self.required <= names)


def fingerprint(values: Mapping[str, float]) -> str:
    """Return a short text that identifies parameters in internal representation."""
    text = repr(sorted(values.items())).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _ordered(values: Mapping[str, float], names: Collection[str]) -> tuple[float, ...]:
    return tuple(values[name] for name in sorted(names))


class RowsToMasks(Protocol):
    """What the rows of a filter representation stand for."""

    def complete(self, rows: Array) -> Array:
        """Return which rows have all parameters of the representation."""

    def __call__(self, rows: Array) -> Array:
        """Return the mask of each row."""


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
        filters: RowsToMasks | None,
        kept: Callable[[str, Callable[[], Any]], Any],
    ) -> None:
        self._filters = filters
        known: dict[int, bytes] = kept("feature sets", dict)
        self._tries = Counter(
            history.per_trial(known, lambda new: _keys(self._of_trials(history, new)))
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
