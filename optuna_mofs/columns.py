"""Transformers that keep the chosen columns, by position or by name: first steps of models."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs._typing import Array


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns at given positions, in the order in which X holds them.

    With ``set_output(transform="pandas")`` the columns of a DataFrame keep their types.

    Args:
        columns: Positions to keep, an empty list for none; None keeps all.
        by_name: Whether new DataFrames need no more than the kept columns, in any order: they are
            found by the names they had when the selector was fitted.

    Example:
        >>> ColumnSelector(columns=[0, 2]).fit_transform(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [[1, 3], [4, 6]]
    """

    def __init__(self, columns: Sequence[int] | None = None, *, by_name: bool = False) -> None:
        self.columns = columns
        self.by_name = by_name

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

    def transform(self, X: Any) -> Any:
        """The kept columns."""
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        if not self.by_name or names is None or not isinstance(X, pd.DataFrame):
            return super().transform(X)
        kept = names[self.support_]
        _refuse_lacking([name for name in kept if name not in X.columns], len(kept))
        return X[list(kept)]

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


def _refuse_lacking(lacking: Sequence[str], count: int) -> None:
    if lacking:
        raise ValueError(
            f"The table lacks {len(lacking)} of the {count} columns of the model: "
            f"{', '.join(map(repr, lacking[:5]))}{' ...' if len(lacking) > 5 else ''}."
        )


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


class NamedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Pick columns of a table by their names, with the types they had when the model was made.

    The first step of a model that leaves home: the tables it meets may have more columns, in
    another order, and a column of words may happen to hold numbers only.

    Args:
        columns: Names to keep, in this order.
        words: Those that hold words; all others hold numbers.
        table: Names of all columns of the full table, so that an array without names can be used.
        as_frame: Whether to give a DataFrame; words need one.

    Example:
        >>> import pandas as pd
        >>> new = pd.DataFrame({"id": [7, 8], "age": ["31", "45"], "city": ["Rome", None]})
        >>> NamedColumns(["city", "age"], words=["city"]).transform(new).values.tolist()
        [['Rome', 31.0], [nan, 45.0]]
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        words: Sequence[str] = (),
        table: Sequence[str] | None = None,
        as_frame: bool = True,
    ) -> None:
        self.columns = columns
        self.words = words
        self.table = table
        self.as_frame = as_frame

    def fit(self, X: Any = None, y: Any = None) -> NamedColumns:
        """Nothing is learned."""
        return self

    def transform(self, X: Any) -> Any:
        """The columns, words as texts and numbers as floats."""
        frame = X if isinstance(X, pd.DataFrame) else self._named(np.asarray(X))
        lacking = [name for name in self.columns if name not in frame.columns]
        _refuse_lacking(lacking, len(self.columns))
        typed = typed_columns(frame[list(self.columns)], self.words)
        return typed if self.as_frame else typed.to_numpy(dtype=np.float64)

    def _named(self, X: Array) -> pd.DataFrame:
        names = self.columns if self.table is None else self.table
        if X.ndim != 2 or X.shape[1] != len(names):
            raise ValueError(
                f"An array must have the {len(names)} columns of the full table, but has shape "
                f"{X.shape}. Pass a DataFrame, in which columns are found by name."
            )
        return pd.DataFrame(X, columns=list(names))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The names that are kept."""
        return np.asarray(self.columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags


def typed_columns(frame: pd.DataFrame, words: Container[str]) -> pd.DataFrame:
    """Columns of words as texts, all others as floats; what is missing stays missing (NaN).

    Args:
        frame: A table.
        words: Names of the columns that hold words.
    """
    if not any(name in words for name in frame.columns) and all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes
    ):
        return frame.astype(np.float64)
    typed: dict[Any, pd.Series[Any]] = {}
    for name, column in frame.items():
        if name in words:
            typed[name] = pd.Series(
                [np.nan if pd.isna(v) else _word(v) for v in column], frame.index, dtype=object
            )
            continue
        try:
            numbers = pd.to_numeric(column)
        except (ValueError, TypeError) as error:
            raise ValueError(f"Column {name!r} holds numbers in the model: {error}.") from error
        typed[name] = numbers.astype("Float64").astype(np.float64)
    return pd.DataFrame(typed, index=frame.index, columns=frame.columns)


def _word(value: Any) -> str:
    # Codes such as 12 become floats in a column with gaps.
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
