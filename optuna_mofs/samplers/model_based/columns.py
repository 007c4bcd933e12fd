"""Configurations as columns of numbers, which is what surrogates learn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.model_based.encoding import RowEncoding
from optuna_mofs.samplers.model_based.masks import MaskView
from optuna_mofs.samplers.model_based.set_view import FilterSets, SetView
from optuna_mofs.samplers.model_based.warp import Warp

Kept = Callable[[str, Callable[[], Any]], Any]


class Columns:
    """Hyperparameters, and after them the feature set as the surrogate can use it.

    A surrogate that knows configurations by their distances (``by_distance``) sees feature sets as
    points (:class:`SetView`); the weights of filters, which only say which features are chosen, it
    does not see: weights far apart may stand for one set. Any other surrogate sees weights as they
    are, and masks by a summary (:class:`MaskView`).

    Args:
        history: Finished trials.
        filters: What weights of filters stand for, if the study has such.
        warp: How rows are seen.
        kept: Keeps from trial to trial what was made of each.
        by_distance: Whether the surrogate knows configurations by their distances.
    """

    def __init__(
        self,
        history: History,
        filters: FilterSets | None,
        warp: Warp,
        kept: Kept,
        *,
        by_distance: bool,
    ) -> None:
        self._history = history
        self._warp = warp
        self._rows = warp(history.rows)
        self._filters = filters if by_distance else None
        self._masks: SetView | MaskView | None = None
        table = history.table
        if table is not None:
            make = SetView if by_distance else MaskView
            self._masks = kept(f"columns of masks {by_distance}", lambda: make(table))
        hidden = () if self._filters is None else self._filters.parameters
        self._encoding = RowEncoding(history.space, self._rows, hidden)
        self._known: dict[int, Array] = kept(f"seen sets {by_distance}", dict)

    @property
    def width(self) -> int:
        """Number of columns, those of a feature set as one."""
        has_sets = self._filters is not None or self._masks is not None
        return self._encoding.width + has_sets

    @property
    def together(self) -> int:
        """The last so many columns are a feature set seen by distance."""
        if self._filters is not None:
            return len(self._filters.view.shown)
        return len(self._masks.shown) if isinstance(self._masks, SetView) else 0

    def of_trials(self) -> Array:
        """A row for each finished trial."""
        plain = self._encoding(self._rows)
        if self._filters is None and self._masks is None:
            return plain
        sets = self._history.of_each(self._known, self._sets_of_trials)
        return np.hstack([plain, np.array(sets)])

    def __call__(
        self, rows: Array, masks: Array | None = None, index: Array | None = None
    ) -> Array:
        """A row for each configuration.

        Args:
            rows: Warped rows.
            masks: Distinct masks.
            index: Which mask each row has.
        """
        plain = self._encoding(rows)
        if self._filters is not None:
            return np.hstack([plain, self._of_filters(self._warp.back(rows))])
        if masks is None or index is None:
            return plain
        return np.hstack([plain, self._of_masks(masks)[index]])

    def _sets_of_trials(self, positions: list[int]) -> Array:
        if self._filters is not None:
            return self._of_filters(self._history.rows[positions])
        return self._of_masks(self._history.masks(positions))

    def _of_filters(self, rows: Array) -> Array:
        assert self._filters is not None
        return self._filters.view.points(self._filters(rows))

    def _of_masks(self, masks: Array) -> Array:
        assert self._masks is not None
        seen = self._masks(masks)
        if not isinstance(self._masks, SetView):
            return seen
        p = max(1, masks.shape[1])
        sizes = np.log1p(masks.sum(axis=1, keepdims=True)) / np.log1p(p)
        return np.hstack([sizes, seen])
