"""Transformers that select columns by position or by name: first steps of models."""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import check_is_fitted, validate_data

from optuna_mofs._tables import check_labels, check_unique, column_labels, to_pandas
from optuna_mofs._typing import Array
from optuna_mofs._validation import fill_masked, to_array

_ISO_DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:.*)?"


class ColumnSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Select the columns at given positions, in the order of X.

    With ``set_output(transform="pandas")`` the columns of a DataFrame keep their types.

    Args:
        columns: Positions to select, an empty list for none; None selects all.
        by_name: Whether new tables need only the selected columns, in any order; they are found by
            the names they had when the selector was fitted.

    Example:
        >>> ColumnSelector(columns=[0, 2]).fit_transform(np.array([[1, 2, 3], [4, 5, 6]])).tolist()
        [[1, 3], [4, 6]]
    """

    def __init__(self, columns: Sequence[int] | None = None, *, by_name: bool = False) -> None:
        self.columns = columns
        self.by_name = by_name

    def fit(self, X: Any, y: Any = None) -> ColumnSelector:
        """Store the number and names of the columns.

        Args:
            X: Array, sparse matrix or table of any library.
            y: Ignored.
        """
        X = to_pandas(X)
        validate_table(self, X)
        self.labels_ = column_labels(X)
        self.support_ = np.ones(self.n_features_in_, dtype=bool)
        if self.columns is not None:
            self.support_[:] = False
            self.support_[_check_positions(self.columns, self.n_features_in_)] = True
        return self

    def transform(self, X: Any) -> Any:
        """Return the selected columns."""
        check_is_fitted(self)
        X = fill_masked(to_pandas(X))
        if not self.by_name or self.labels_ is None or not isinstance(X, pd.DataFrame):
            return super().transform(check_labels(X))
        selected = [self.labels_[j] for j in np.flatnonzero(self.support_)]
        _check_columns(X, selected)
        return X[selected]

    def _transform(self, X: Any) -> Any:
        # scikit-learn would warn about an empty selection, which is valid here.
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


def validate_table(estimator: Any, X: Any, **options: Any) -> Any:
    """Return X checked by scikit-learn; NaN and DataFrames are kept, masked entries become NaN.

    Args:
        estimator: Gets or compares the number and names of the columns.
        X: Array, sparse matrix or table of any library.
        options: Passed to ``validate_data``.
    """
    X = check_labels(to_pandas(X))
    return validate_data(
        estimator,
        fill_masked(X),
        accept_sparse="csr",
        dtype=None,
        ensure_all_finite=False,
        skip_check_array=hasattr(X, "iloc"),
        **options,
    )


def _check_columns(frame: pd.DataFrame, names: Sequence[Any]) -> None:
    if not frame.columns.is_unique:
        check_unique(str(label) for label in frame.columns if label in set(names))
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise ValueError(
            f"The table lacks {len(missing)} of the {len(names)} columns of the model: "
            f"{', '.join(map(repr, missing[:5]))}{' ...' if len(missing) > 5 else ''}."
        )


def _check_positions(columns: Sequence[int], n_columns: int) -> Array:
    positions: Array = np.asarray(columns)
    if positions.size == 0:
        return positions.astype(int)
    if positions.ndim != 1 or positions.dtype.kind not in "iu":
        raise ValueError(
            f"columns must be a list of positions (integers), got {columns!r}. "
            "Turn a mask into positions with np.flatnonzero(mask)."
        )
    if positions.min() < 0 or positions.max() >= n_columns:
        raise ValueError(
            f"columns must lie in 0..{n_columns - 1}, got {positions.min()} to {positions.max()}."
        )
    return positions


class NamedColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Select columns of a table by name, with the types they had when the model was fitted.

    This is the first step of an exported model: new tables can have more columns, in another
    order, and a text column may happen to hold only numbers.

    Args:
        columns: Names to select, in this order.
        text_columns: Those of them that hold text; all others hold numbers.
        all_columns: Names of all columns of the full table, so that an array without names can be
            used.
        as_frame: Whether to return a DataFrame; text columns need one.

    Example:
        >>> import pandas as pd
        >>> new = pd.DataFrame({"id": [7, 8], "age": ["31", "45"], "city": ["Rome", None]})
        >>> NamedColumns(["city", "age"], text_columns=["city"]).transform(new).values.tolist()
        [['Rome', 31.0], [nan, 45.0]]
    """

    def __init__(
        self,
        columns: Sequence[str],
        *,
        text_columns: Sequence[str] = (),
        all_columns: Sequence[str] | None = None,
        as_frame: bool = True,
    ) -> None:
        self.columns = columns
        self.text_columns = text_columns
        self.all_columns = all_columns
        self.as_frame = as_frame

    def fit(self, X: Any = None, y: Any = None) -> NamedColumns:
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns, text as strings and numbers as floats."""
        X = to_pandas(X)
        frame = X if isinstance(X, pd.DataFrame) else self._to_frame(to_array(X))
        _check_columns(frame, self.columns)
        typed = typed_columns(frame[list(self.columns)], self.text_columns)
        texts = [name for name in self.columns if name in self.text_columns]
        if texts and not self.as_frame:
            raise ValueError(f"Column {texts[0]!r} holds text, which needs as_frame=True.")
        return typed if self.as_frame else typed.to_numpy(dtype=np.float64)

    def _to_frame(self, X: Array) -> pd.DataFrame:
        names = self.columns if self.all_columns is None else self.all_columns
        if X.ndim != 2 or X.shape[1] != len(names):
            raise ValueError(
                f"An array must have the {len(names)} columns of the full table, got shape "
                f"{X.shape}. Pass a DataFrame, in which columns are found by name."
            )
        return pd.DataFrame(X, columns=list(names))

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the selected names."""
        return np.asarray(self.columns, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.requires_fit = False
        return tags


def typed_columns(frame: pd.DataFrame, text_columns: Container[str]) -> pd.DataFrame:
    """Return text columns as strings and all others as floats; missing entries become NaN.

    Dates become days since 1970.

    Args:
        frame: A table.
        text_columns: Names of the columns that hold text.
    """
    if not any(name in text_columns for name in frame.columns) and all(
        isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes
    ):
        return frame.astype(np.float64)
    typed: dict[Any, pd.Series[Any]] = {}
    for name, column in frame.items():
        if name in text_columns:
            typed[name] = pd.Series(
                [np.nan if pd.isna(v) else _to_text(v) for v in column], frame.index, dtype=object
            )
            continue
        try:
            numbers = days(column) if is_date(column) else pd.to_numeric(column)
        except (ValueError, TypeError) as error:
            raise ValueError(f"Column {name!r} must hold numbers: {error}.") from error
        typed[name] = numbers.astype("Float64").astype(np.float64)
    return pd.DataFrame(typed, index=frame.index, columns=frame.columns)


def is_date(column: pd.Series[Any]) -> bool:
    """Return whether a column holds dates, times or durations, or texts such as 2026-01-31.

    Example:
        >>> is_date(pd.Series(["2026-01-31", None])), is_date(pd.Series(["31", "1"]))
        (True, False)
    """
    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
        return True
    if kinds.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    texts = column.dropna()
    # Most columns of text fail at the first entry.
    if not len(texts) or not re.fullmatch(_ISO_DATE, str(texts.iloc[0])):
        return False
    return bool(texts.astype(str).str.fullmatch(_ISO_DATE).all())


def days(column: pd.Series[Any]) -> pd.Series[Any]:
    """Return dates as days since 1970, and durations as days.

    Example:
        >>> days(pd.Series(["1970-01-02", "1970-01-03 12:00"])).tolist()
        [1.0, 2.5]
    """
    if pd.api.types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds() / 86_400
    if not pd.api.types.is_datetime64_any_dtype(column.dtype):
        column = pd.to_datetime(column.astype("string"), format="ISO8601", utc=True)
    elif column.dt.tz is None:
        column = column.dt.tz_localize("UTC")
    return (column - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def _to_text(value: Any) -> str:
    # Codes such as 12 become floats in a column with missing entries.
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if is_whole else str(value)
