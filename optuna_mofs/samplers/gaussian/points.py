"""Trials as a Gaussian process sees them: by their distances, one part a parameter.

Numbers differ by how far they are apart, categories by being equal or not, masks by the share of
features that they do not have in common and by their size.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.operators.places import Places


@dataclass(frozen=True)
class Points:
    """Points of a space of mixed parameters.

    Args:
        rows: Numbers in [0, 1], positions of choices, NaN where a parameter is inactive.
        categorical: Which columns hold choices.
        masks: Points × features, or None.
    """

    rows: Array
    categorical: Array
    masks: Array | None = None

    def __getitem__(self, chosen: Array) -> Points:
        masks = None if self.masks is None else self.masks[chosen]
        return Points(self.rows[chosen], self.categorical, masks)

    def squares(self, others: Points) -> Array:
        """Squared distances: parts × these points × the others."""
        a, b = self.rows.T[:, :, None], others.rows.T[:, None, :]
        parts = (a - b) ** 2
        missing = np.isnan(parts)
        parts[self.categorical] = parts[self.categorical] != 0
        if missing.any():
            # Who alone has a parameter is as far as it gets from who has not.
            parts = np.where(missing, np.isnan(a) != np.isnan(b), parts)
        if self.masks is None or others.masks is None:
            return parts
        return np.concatenate([parts, _mask_squares(self.masks, others.masks)])


def _mask_squares(a: Array, b: Array) -> Array:
    """Jaccard's distance, and the difference of the logarithms of sizes, as parts."""
    x, y = a.astype(np.float32), b.astype(np.float32)
    both = (x @ y.T).astype(float)
    m, n = a.sum(axis=1)[:, None], b.sum(axis=1)[None, :]
    either = np.maximum(m + n - both, 1.0)
    sizes = (np.log1p(m) - np.log1p(n)) / np.log1p(a.shape[1])
    return np.stack([1.0 - np.where(m + n > 0, both / either, 1.0), sizes**2])


def points_of(history: History, places: Places, chosen: Array) -> Points:
    """Some of a study's trials.

    Args:
        history: Finished trials.
        places: Of their hyperparameters.
        chosen: Positions of the trials.
    """
    masks = None
    if history.table is not None:
        count = len(history.table.free)
        masks = np.unpackbits(history.packed[chosen], axis=1, count=count).astype(bool)
    rows = places.coordinates(history.rows[chosen])
    return Points(rows, history.space.categorical, masks)
