"""The transformer that keeps the chosen columns, first step of every fitted pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.feature_selection import SelectorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs.features.table import Array


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns at given positions.

    Args:
        columns: Positions to keep, ascending; None keeps all.

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
            skip_check_array=(hasattr(X, "iloc")),
        )
        self.support_ = np.ones(self.n_features_in_, dtype=bool)
        if self.columns is not None:
            positions = np.asarray(self.columns, dtype=int)
            if len(positions) and not 0 <= positions.min() <= positions.max() < len(self.support_):
                raise ValueError(
                    f"columns must lie in 0..{len(self.support_) - 1}, "
                    f"but go from {positions.min()} to {positions.max()}."
                )
            self.support_[:] = False
            self.support_[positions] = True
        return self

    def transform(self, X: Any) -> Any:
        """Reduce X to the chosen columns."""
        check_is_fitted(self)
        if not self.support_.any() and hasattr(X, "shape"):
            # An empty set is a valid configuration here; scikit-learn would warn.
            return X.iloc[:, []] if hasattr(X, "iloc") else X[:, []]
        return super().transform(X)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return self.support_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
