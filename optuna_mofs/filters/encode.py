"""From what users hold (frames, arrays, sparse matrices, labels) to columns of numbers."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

Task = Literal["classification", "regression"]
MANY_VALUES = 32
FEW_REPEATS = 10


def encode_columns(X: Any) -> tuple[Any, NDArray[np.bool_]]:
    """Turn ``X`` into a float array (or a sparse CSC matrix) and say which columns are nominal.

    Strings and categories become the position of their level among the sorted (or declared)
    levels, dates become numbers, missing entries of any kind become NaN. Ordered categories are
    not nominal: their codes have a meaning.
    """
    if sparse.issparse(X):
        values = sparse.csc_array(X, dtype=np.float64)
        _refuse_infinity(values.data)
        return values, np.zeros(values.shape[1], dtype=bool)
    if not isinstance(X, pd.DataFrame):
        array = np.asarray(X)
        if array.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (samples × features), got shape {array.shape}. "
                "A single feature is given as X.reshape(-1, 1)."
            )
        if array.dtype.kind == "c":
            raise ValueError("X holds complex numbers; give their real and imaginary parts.")
        if array.dtype.kind in "biuf":
            values = array.astype(np.float64, copy=False)
            _refuse_infinity(values)
            return values, np.zeros(array.shape[1], dtype=bool)
        X = pd.DataFrame(array).infer_objects()
    frame = cast(pd.DataFrame, X)
    nominal = np.zeros(frame.shape[1], dtype=bool)
    if all(isinstance(dtype, np.dtype) and dtype.kind in "biuf" for dtype in frame.dtypes):
        values = frame.to_numpy(dtype=np.float64)
    else:
        values = np.empty(frame.shape, dtype=np.float64)
        for k in range(frame.shape[1]):
            values[:, k], nominal[k] = _encode_series(frame.iloc[:, k])
    _refuse_infinity(values)
    return values, nominal


def _encode_series(column: pd.Series[Any]) -> tuple[NDArray[np.float64], bool]:
    kind = pd.api.types
    dtype = column.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes = column.cat.codes.to_numpy(dtype=np.float64)
        return np.where(codes < 0, np.nan, codes), not dtype.ordered
    if kind.is_datetime64_any_dtype(dtype) or kind.is_timedelta64_dtype(dtype):
        numbers = column.astype("int64").to_numpy(dtype=np.float64)
        return np.where(column.isna(), np.nan, numbers), False
    if kind.is_bool_dtype(dtype) or kind.is_numeric_dtype(dtype):
        return column.to_numpy(dtype=np.float64, na_value=np.nan), False
    codes = column.astype("category").cat.codes.to_numpy(dtype=np.float64)
    return np.where(codes < 0, np.nan, codes), True


def _refuse_infinity(values: NDArray[np.float64]) -> None:
    # A sum is enough to notice infinity; only then is every entry looked at.
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and np.isinf(values).any():
        raise ValueError("X holds infinity; replace it by NaN or by a large number.")


def encode_target(y: Any) -> NDArray[Any]:
    """Check ``y`` and return it as a vector without missing values."""
    vector = y.to_numpy() if isinstance(y, (pd.Series, pd.DataFrame)) else np.asarray(y)
    if vector.ndim == 2 and vector.shape[1] == 1:
        vector = vector[:, 0]
    if vector.ndim != 1:
        raise ValueError(f"y must be a vector with one label per sample, got shape {vector.shape}")
    missing = np.asarray(pd.isna(vector))
    if missing.any():
        raise ValueError(f"y has {int(missing.sum())} missing value(s); drop these samples first.")
    if vector.dtype.kind == "O":  # nullable and categorical columns arrive as objects
        vector = np.asarray(vector.tolist())
    if vector.dtype.kind == "f" and np.isinf(vector).any():
        raise ValueError("y holds infinity; drop these samples first.")
    return vector


def detect_task(y: Any) -> Task:
    """Tell classification from regression by the target alone.

    Strings, booleans and categories are classes; numbers with a fractional part are a regression
    target. Whole numbers are classes (``type_of_target`` calls them so) unless there are more than
    32 different ones and they are stored as floats, or repeat fewer than 10 times on average:
    a price or an age is then a quantity. State the task where this guess would be wrong.

    Example:
        >>> detect_task([0, 1, 1, 0]), detect_task([0.5, 1.2, 3.3])
        ('classification', 'regression')
        >>> detect_task(range(1000))
        'regression'
    """
    vector = encode_target(y)
    kind = type_of_target(vector)
    if kind.startswith("continuous"):
        return "regression"
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y is of type {kind!r}; give one label or one number per sample.")
    if vector.dtype.kind in "iuf":
        distinct = len(np.unique(vector))
        repeats = len(vector) / max(distinct, 1)
        if distinct > MANY_VALUES and (vector.dtype.kind == "f" or repeats < FEW_REPEATS):
            return "regression"
    return "classification"
