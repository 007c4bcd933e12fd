"""Tables of any library as pandas DataFrames."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from scipy import sparse


def to_pandas(X: Any) -> Any:
    """Return a table of another library (polars, Arrow, ...) as a DataFrame with the same names.

    Arrays, sparse matrices, pandas DataFrames and everything that is not a table are returned
    unchanged. Columns get the types that pandas itself would use, so that the result of a search
    does not depend on the library: missing numbers become NaN, and the categories of a column are
    sorted unless it defines their order.

    Example:
        >>> import polars as pl
        >>> to_pandas(pl.DataFrame({"age": [31, None], "city": ["Rome", "Oslo"]})).values.tolist()
        [[31.0, 'Rome'], [nan, 'Oslo']]
    """
    if isinstance(X, np.ndarray | pd.DataFrame | list | tuple) or sparse.issparse(X):
        return X
    try:
        frame: Any = nw.from_native(X, pass_through=True)
    except nw.exceptions.DuplicateError as error:
        reason = " ".join(str(error).split())
        raise ValueError(
            f"Two columns of the table have the same name, rename one: {reason}"
        ) from error
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if not isinstance(frame, nw.DataFrame):
        return X
    return pd.DataFrame({name: _column(frame[name]) for name in frame.columns})


def _column(series: Any) -> Any:
    dtype = series.dtype
    has_nulls = series.null_count() > 0
    if dtype == nw.Enum or dtype == nw.Categorical:
        values = series.cast(nw.String).to_list()
        is_ordered = isinstance(dtype, nw.Enum)
        listed = dtype.categories if is_ordered else sorted({v for v in values if v is not None})
        return pd.Categorical(values, categories=list(listed))
    if dtype.is_numeric() or dtype == nw.Boolean:
        if has_nulls:
            numbers = series.cast(nw.Int8) if dtype == nw.Boolean else series
            return numbers.cast(nw.Float64).fill_null(float("nan")).to_numpy()
        return series.cast(nw.Float64).to_numpy() if dtype == nw.Decimal else series.to_numpy()
    if dtype == nw.Date:
        return pd.to_datetime(series.to_list())
    if dtype.is_temporal() and not has_nulls:
        return series.to_numpy()
    return pd.Series(series.to_list())


def check_labels(X: Any) -> Any:
    """Return X, or raise if scikit-learn would not accept its column names.

    Example:
        >>> check_labels(pd.DataFrame([[1, 2]], columns=["age", "age"]))
        Traceback (most recent call last):
        ...
        ValueError: Column names must be unique, but 'age' occurs twice. Rename one.
    """
    if not isinstance(X, pd.DataFrame):
        return X
    others = [label for label in X.columns if not isinstance(label, str)]
    if 0 < len(others) < X.shape[1]:
        raise ValueError(
            f"Some column names of X are strings, others are not ({others[0]!r}), which "
            "scikit-learn does not accept. Use X.columns = X.columns.astype(str)."
        )
    check_unique(map(str, X.columns))
    return X


def check_unique(names: Iterable[str]) -> None:
    """Raise if a column name occurs twice."""
    twice = next((name for name, times in Counter(names).items() if times > 1), None)
    if twice is not None:
        raise ValueError(f"Column names must be unique, but {twice!r} occurs twice. Rename one.")


def column_labels(X: Any) -> list[Any] | None:
    """Return the column names of a table as they are, None for arrays and sparse matrices."""
    return list(X.columns) if isinstance(X, pd.DataFrame) else None
