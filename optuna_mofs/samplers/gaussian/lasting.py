"""What is learned from the first trials of a history, and kept while they are but a few more."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from optuna_mofs.history._history import History
from optuna_mofs.samplers.gaussian.process import learned_from

T = TypeVar("T")


class Lasting:
    """Learns anew only when trials are some times as many, such as length scales.

    Whoever reads the history later must learn the same: what is learned may depend on nothing but
    the first trials.

    Args:
        first: Up to so many trials everything is learned for each proposal.
        again: Then when there are this many times as many.
    """

    def __init__(self, *, first: int = 8, again: float = 1.3) -> None:
        self._first = first
        self._again = again
        self._kept: dict[Hashable, tuple[Any, Any]] = {}

    def of(
        self, history: History, name: Hashable, learn: Callable[[int], T], *, form: Any = None
    ) -> T:
        """What was learned last, or is learned now.

        Args:
            history: The trials.
            name: Of what is learned.
            learn: Learns from the first trials, of which it is told the number.
            form: How trials are shown to a model, if that can change from trial to trial.
        """
        count = learned_from(len(history), first=self._first, again=self._again)
        # Trials that end late can be among the first; a range that grows moves what lies in it.
        key = history.numbers[:count].tobytes(), history.space.distributions, form
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = key, learn(count)
        found: T = self._kept[name][1]
        return found
