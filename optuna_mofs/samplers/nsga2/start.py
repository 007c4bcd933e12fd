"""The first configurations of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from optuna_mofs.features._mask_sampling import (
    MaskStart,
    ensemble_start,
    geometric_start,
    prefix_start,
    wide_start,
)
from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2.configuration import Configuration


@dataclass(frozen=True)
class Start:
    """Random hyperparameters, and masks from several recipes in turn.

    Args:
        masks: Recipes; trial ``n`` takes the recipe ``n`` modulo their number.
    """

    masks: Sequence[MaskStart] = (ensemble_start, prefix_start, geometric_start, wide_start)

    def __call__(
        self, rng: np.random.Generator, history: History, number: int
    ) -> tuple[Configuration, str]:
        """A configuration, and the name of its recipe."""
        row = history.space.sample(rng)[0]
        if history.table is None:
            return Configuration(row, None, np.zeros(0)), "start"
        recipe = self.masks[number % len(self.masks)]
        raw = rng.random(len(history.table.filters))
        made = Configuration(row, None, raw)
        mask = recipe(rng, history.table, made.weights)
        return Configuration(row, mask, raw), recipe.__name__
