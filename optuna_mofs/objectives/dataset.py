"""X and y, checked once, whatever they are: array, DataFrame or sparse matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target

from optuna_mofs.features.table import Array


class Dataset:
    """Rows and columns of a learning task.

    Args:
        X: Array, DataFrame or sparse matrix, kept as it is.
        y: Target.
        classification: Whether ``y`` holds classes.
        feature_names: Names of the columns; by default those of a DataFrame, else ``x0, x1, …``.
        sample_weight: Weight of each row.
        groups: Group of each row, for the cross-validation splitter.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        classification: bool,
        feature_names: Sequence[str] | None = None,
        sample_weight: Any = None,
        groups: Any = None,
    ) -> None:
        if sparse.issparse(X):
            X = X.tocsr()
        elif not isinstance(X, pd.DataFrame):
            X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must have two dimensions, but has shape {X.shape}.")
        if X.shape[1] == 0:
            raise ValueError("There are no features: X has 0 columns. Pass at least one.")
        self.X = X
        self.y = _checked_target(y, X.shape[0], classification)
        self.classification = classification
        self.column_names = _column_names(X, feature_names)
        self.sample_weight = _per_row("sample_weight", sample_weight, X.shape[0], float)
        self.groups = _per_row("groups", groups, X.shape[0], None)

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    def columns(self, positions: Array) -> Any:
        """All rows of some columns, in the container that X came in."""
        return take_columns(self.X, positions)

    def numeric(self) -> Any:
        """X as numbers (categories by code), for trees that only look at its structure."""
        if not isinstance(self.X, pd.DataFrame):
            return self.X if sparse.issparse(self.X) else np.asarray(self.X, dtype=float)
        columns = []
        for j in range(self.X.shape[1]):
            column = self.X.iloc[:, j]
            if pd.api.types.is_numeric_dtype(column) or pd.api.types.is_bool_dtype(column):
                columns.append(column.to_numpy(dtype=float, na_value=np.nan))
            else:
                codes = pd.factorize(column, sort=False)[0].astype(float)
                columns.append(np.where(codes < 0, np.nan, codes))
        return np.column_stack(columns)


def take_columns(X: Any, positions: Array) -> Any:
    """Some columns of an array, DataFrame or sparse matrix."""
    return X.iloc[:, positions] if hasattr(X, "iloc") else X[:, positions]


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, DataFrame or sparse matrix."""
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def _checked_target(y: Any, rows: int, classification: bool) -> Array:
    target = np.asarray(y)
    if target.ndim != 1:
        raise ValueError(f"y must have one dimension, but has shape {target.shape}.")
    if len(target) != rows:
        raise ValueError(f"X has {rows} rows but y has {len(target)}.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} missing values, the first in row "
            f"{int(np.argmax(missing))}. Drop those rows."
        )
    if classification:
        kind = type_of_target(target)
        if kind not in ("binary", "multiclass"):
            raise ValueError(
                f"The estimator is a classifier, but y is {kind!r} (it starts with "
                f"{target[:3].tolist()}). Pass classes, or a regressor."
            )
        if len(np.unique(target)) < 2:
            raise ValueError(f"y holds only one class: {target[0]!r}.")
    else:
        target = target.astype(float)
        if not np.isfinite(target).all():
            raise ValueError("y holds infinite values.")
    return target


def _column_names(X: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    p = X.shape[1]
    if given is not None:
        names = tuple(map(str, given))
        if len(names) != p:
            raise ValueError(f"X has {p} columns but feature_names has {len(names)}.")
    elif isinstance(X, pd.DataFrame):
        names = tuple(map(str, X.columns))
    else:
        names = tuple(f"x{j}" for j in range(p))
    if len(set(names)) != p:
        twice = pd.Series(names)[pd.Series(names).duplicated()].iloc[0]
        raise ValueError(f"Column names must be unique, but {twice!r} occurs twice.")
    return names


def _per_row(what: str, values: Any, rows: int, dtype: Any) -> Array | None:
    if values is None:
        return None
    array = np.asarray(values, dtype=dtype)
    if array.shape != (rows,):
        raise ValueError(
            f"{what} must hold one value for each of the {rows} rows, but has shape {array.shape}."
        )
    return array
