"""Filter ranks of all data and of training folds, computed when first needed and kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features.prior import mean_tree_size
from optuna_mofs.features.similarity import Similarity
from optuna_mofs.features.table import FeatureTable
from optuna_mofs.filters import FilterData, FilterEnsemble, resolve_filters
from optuna_mofs.filters.likeness import nearest_features
from optuna_mofs.objectives.dataset import Dataset, take_rows

#: Row sets of which ranks are kept: the folds of any sensible cross-validation, not those of
#: folds drawn anew for each trial.
_KEPT = 64


class Ranking:
    """Ranks the features of a data set by an ensemble of filters.

    Args:
        data: The data.
        layout: Its features, without ranks.
        filters: Filters by name or as functions; empty for none.
        random_state: Seed of the random filters.
        mean_size: Size prior; None to estimate it from the data.
        n_jobs: Threads or processes of the filters that can use several.
        similar: Whether to find out which features say nearly the same.
    """

    def __init__(
        self,
        data: Dataset,
        layout: FeatureTable,
        filters: Sequence[Any],
        random_state: int,
        mean_size: float | None = None,
        n_jobs: int | None = None,
        similar: bool = False,
    ) -> None:
        self.data = data
        self.filters = filters
        names = tuple(name for name, _ in resolve_filters(filters)) if filters else ()
        #: The features and the names of the filters, before these have looked at the data.
        self.unranked = replace(layout, filters=names, mean_size=mean_size)
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.similar = similar
        self._by_rows: dict[bytes, FeatureTable] = {}

    @cached_property
    def table(self) -> FeatureTable:
        """The features with ranks of all rows and the size prior."""
        table = self.unranked
        if len(table.free) == 0:
            return table
        size = table.mean_size
        if size is None:
            size = mean_tree_size(
                self.data.X,
                self.data.y,
                classification=self.data.classification,
                columns=table.columns,
                random_state=self.random_state,
            )
        if table.filters:
            table = self.of_rows(np.arange(self.data.shape[0]))
        return replace(table, mean_size=size)

    def of_rows(self, rows: Array) -> FeatureTable:
        """The features with ranks and similarity from some rows only."""
        key = rows.tobytes()
        table = self._by_rows.get(key)
        if table is None:
            table = self._look_at(take_rows(self.data.X, rows), self.data.y[rows])
            if len(self._by_rows) < _KEPT:
                self._by_rows[key] = table
        return table

    def _look_at(self, X: Any, y: Array) -> FeatureTable:
        columns = self.unranked.columns
        ensemble = FilterEnsemble(
            self.filters,
            task="classification" if self.data.classification else "regression",
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        ranks = ensemble.fit(X, y, groups=columns).ranks_
        similar = None
        if self.similar:
            similar = Similarity(*nearest_features(FilterData(X, y), columns))
        return replace(self.unranked, ranks=ranks, similar=similar)
