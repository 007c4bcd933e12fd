"""The transformer that keeps the chosen columns, first step of every fitted pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs.features.table import Array


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns at given positions, in the order in which X holds them.

    With ``set_output(transform="pandas")`` the columns of a DataFrame keep their types.

    Args:
        columns: Positions to keep, an empty list for none; None keeps all.

    Example:
        >>> ColumnSelector(columns=[0, 2]).fit_transform(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [[1, 3], [4, 6]]
    """

    def __init__(self, columns: Sequence[int] | None = None) -> None:
        self.columns = columns

    def fit(self, X: Any, y: Any = None) -> ColumnSelector:
        """Learn the number and names of columns."""
        validate_data(
            self,
            X,
            accept_sparse="csr",
            dtype=None,
            ensure_all_finite=False,
            skip_check_array=hasattr(X, "iloc"),
        )
        self.support_ = np.ones(self.n_features_in_, dtype=bool)
        if self.columns is not None:
            self.support_[:] = False
            self.support_[_positions(self.columns, self.n_features_in_)] = True
        return self

    def _transform(self, X: Any) -> Any:
        # An empty set is a valid configuration here, of which scikit-learn would warn.
        return _safe_indexing(X, np.flatnonzero(self.support_), axis=1)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


def _positions(columns: Sequence[int], count: int) -> Array:
    positions: Array = np.asarray(columns)
    if len(positions) == 0:
        return positions.astype(int)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise ValueError(
            f"columns must be a list of positions (integers), but is {columns!r}. "
            "Turn a mask into positions by np.flatnonzero(mask)."
        )
    if positions.min() < 0 or positions.max() >= count:
        raise ValueError(
            f"columns must lie in 0..{count - 1}, "
            f"but go from {positions.min()} to {positions.max()}."
        )
    return positions
