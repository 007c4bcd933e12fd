"""Configurations that were looked at, with what they promise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array


@dataclass(frozen=True)
class Candidates:
    """Rows, each with one of a list of masks where there are masks.

    Args:
        rows: Candidates × parameters.
        scores: The lower the better.
        source: Position of the good trial that each goes back to, or -1.
        operators: Name of what made each.
        masks: Distinct masks.
        index: Which mask each candidate has.
    """

    rows: Array
    scores: Array
    source: Array
    operators: Array
    masks: Array | None = None
    index: Array | None = None

    def mask(self, k: int) -> Array | None:
        """The mask of the k-th candidate."""
        return None if self.masks is None or self.index is None else self.masks[self.index[k]]

    def masks_of(self, positions: Array) -> Array | None:
        """The masks of some candidates."""
        if self.masks is None or self.index is None:
            return None
        return self.masks[self.index[positions]]

    @classmethod
    def joined(cls, parts: list[Candidates]) -> Candidates:
        """Several as one."""
        flat = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in ("rows", "scores", "source", "operators")
        }
        lists = [part.masks for part in parts if part.masks is not None]
        if not lists:
            return cls(**flat)
        before = np.cumsum([0, *map(len, lists[:-1])])
        index = [part.index + k for part, k in zip(parts, before)]
        return cls(**flat, masks=np.concatenate(lists), index=np.concatenate(index))
