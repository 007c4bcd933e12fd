"""A configuration as the operators see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._representation import weights_from_raw
from optuna_mofs.history._history import History

#: Step size and switching probability of a configuration that remembers none.
FIRST_STEP = 0.1
FIRST_RATE = 0.1


@dataclass(frozen=True)
class Configuration:
    """Hyperparameters, mask, and the strategy parameters that are adapted along with them.

    Args:
        row: Hyperparameters, see :class:`optuna_mofs.history._search_space.ParameterSpace`.
        mask: Over the free features, or None.
        raw: Raw filter weights in [0, 1], see :func:`weights_from_raw`.
        step: Step size of numbers, in units of their range.
        rate: Probability that a category is switched.
    """

    row: Array
    mask: Array | None
    raw: Array
    step: float = FIRST_STEP
    rate: float = FIRST_RATE

    @classmethod
    def of(cls, history: History, i: int) -> Configuration:
        """The i-th trial of the history; one that our sampler did not make has even weights."""
        note = history.notes[i]
        filters = 0 if history.table is None else len(history.table.filters)
        raw = np.array(note.get("raw_weights", ()), dtype=float)
        return cls(
            row=history.rows[i],
            mask=None if history.table is None else history.mask(i),
            raw=raw if len(raw) == filters else np.full(filters, 0.5),
            step=note.get("step", FIRST_STEP),
            rate=note.get("rate", FIRST_RATE),
        )

    @property
    def weights(self) -> Array:
        """Filter weights on the simplex; none where there are no filters."""
        return weights_from_raw(self.raw) if len(self.raw) else self.raw

    def memory(self) -> dict[str, Any]:
        """What is remembered of it on the trial."""
        return {"raw_weights": self.raw.tolist(), "step": self.step, "rate": self.rate}


def raw_from_weights(weights: Array) -> Array:
    """Raw weights that stand for these weights: the inverse of :func:`weights_from_raw`.

    Example:
        >>> weights_from_raw(raw_from_weights(np.array([0.2, 0.8]))).round(6).tolist()
        [0.2, 0.8]
    """
    raw: Array = -np.expm1(-weights * len(weights))
    return raw
