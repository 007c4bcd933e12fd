"""Configurations that trials have tried or reserved."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping


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
        self._reserved: set[str] = set()

    @property
    def n_completed(self) -> int:
        """Largest number of distinct completed configurations with the same parameters."""
        return max(map(len, self._completed.values()), default=0)

    def add_finished(self, values: Mapping[str, float], *, complete: bool) -> None:
        """Add the parameters of a finished trial."""
        if values:
            seen = self._completed if complete else self._failed
            seen.setdefault(frozenset(values), set()).add(_ordered(values, values))

    def add_unfinished(self, values: Mapping[str, float], reserved: str | None = None) -> None:
        """Add the parameters that a running or waiting trial has so far.

        ``reserved`` is the fingerprint of the configuration that it will suggest, if known.
        """
        self._unfinished.append(values)
        if reserved is not None:
            self._reserved.add(reserved)

    def clear_unfinished(self) -> None:
        """Forget all unfinished trials."""
        self._unfinished, self._reserved = [], set()

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
        for other in self._unfinished:
            if other.items() <= values.items() and self._is_complete(frozenset(other)):
                return True
        return False

    def _is_complete(self, names: frozenset[str]) -> bool:
        if not names or any(names < others for others in self._completed):
            return False
        return names in self._completed or (bool(self.required) and self.required <= names)


def fingerprint(values: Mapping[str, float]) -> str:
    """Return a short text that identifies parameters in internal representation."""
    text = repr(sorted(values.items())).encode()
    return hashlib.blake2b(text, digest_size=8).hexdigest()


def _ordered(values: Mapping[str, float], names: Collection[str]) -> tuple[float, ...]:
    return tuple(map(values.__getitem__, sorted(names)))
