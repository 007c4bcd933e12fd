"""Filter ranks of all data and of training folds, computed when first needed and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from optuna_mofs.features.prior import mean_tree_size
from optuna_mofs.features.table import Array, FeatureTable
from optuna_mofs.filters import FilterEnsemble, resolve_filters
from optuna_mofs.objectives.dataset import Dataset, take_rows


class Ranking:
    """Ranks the features of a data set by an ensemble of filters.

    Args:
        data: The data.
        layout: Its features, without ranks.
        filters: Filters by name or as functions; empty for none.
        random_state: Seed of the random filters.
        mean_size: Size prior; None to estimate it from the data.
    """

    def __init__(
        self,
        data: Dataset,
        layout: FeatureTable,
        filters: Sequence[Any],
        random_state: int,
        mean_size: float | None = None,
    ) -> None:
        self.data = data
        self.layout = layout
        self.filters = filters
        self.filter_names = tuple(name for name, _ in resolve_filters(filters)) if filters else ()
        self.random_state = random_state
        self.mean_size = mean_size
        self._by_rows: dict[bytes, Array] = {}

    @cached_property
    def table(self) -> FeatureTable:
        """The features with ranks of all rows and the size prior."""
        size = self.mean_size
        if size is None and len(self.layout.free):
            size = mean_tree_size(
                self.data.numeric(),
                self.data.y,
                classification=self.data.classification,
                columns=self.layout.columns,
                random_state=self.random_state,
            )
        everything = np.arange(self.data.shape[0])
        ranks = self.of_rows(everything) if self.filters and len(self.layout.free) else None
        names = self.filter_names if ranks is not None else ()
        return replace(self.layout, filters=names, ranks=ranks, mean_size=size)

    def of_rows(self, rows: Array) -> Array:
        """Ranks, filters × features, from some rows only."""
        key = rows.tobytes()
        if key not in self._by_rows:
            ensemble = FilterEnsemble(
                self.filters,
                task="classification" if self.data.classification else "regression",
                random_state=self.random_state,
            )
            ensemble.fit(
                take_rows(self.data.X, rows), self.data.y[rows], groups=self.layout.columns
            )
            self._by_rows[key] = ensemble.ranks_
        return self._by_rows[key]
