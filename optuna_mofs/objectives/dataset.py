"""X and y, checked once, whatever they are: array, DataFrame or sparse matrix."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import type_of_target

from optuna_mofs._typing import Array


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
        # Copies: what the caller does to the table later must not change what trials see.
        if sparse.issparse(X):
            X = X.tocsr(copy=True)
        elif isinstance(X, pd.DataFrame):
            X = X.copy()
        else:
            X = np.array(X)
        if X.ndim == 0:
            raise ValueError(
                "X must be a table (a DataFrame, an array or a sparse matrix), "
                f"but is {X.item()!r}."
            )
        if X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (rows and columns), but has shape {X.shape}. "
                "Turn a single column into X.reshape(-1, 1)."
            )
        if X.shape[1] == 0:
            raise ValueError("There are no features: X has 0 columns. Pass at least one.")
        if X.shape[0] == 0:
            raise ValueError("There is nothing to learn from: X has 0 rows. Pass some.")
        self.X = X
        target = plain_target(y, X.shape[0])
        self.y = _classes(target) if classification else _numbers(target)
        self.classification = classification
        self.column_names = _column_names(X, feature_names)
        self.sample_weight = _checked_weight(sample_weight, X.shape[0])
        self.groups = _per_row("groups", groups, X.shape[0])

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        return self.X.shape[0], self.X.shape[1]

    def columns(self, positions: Array) -> Any:
        """All rows of some columns, in the container that X came in."""
        return _safe_indexing(self.X, positions, axis=1)

    def narrowed(self, positions: Array) -> Dataset:
        """The same rows with some columns only."""
        narrow = copy.copy(self)
        narrow.X = self.columns(positions)
        narrow.column_names = tuple(self.column_names[j] for j in positions)
        return narrow


def take_rows(X: Any, rows: Array) -> Any:
    """Some rows of an array, DataFrame or sparse matrix."""
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def plain_target(y: Any, rows: int) -> Array:
    """The target as a plain array without missing values."""
    target = np.array(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1:
        raise ValueError(
            f"y must have one dimension, but has shape {target.shape}. "
            "Search one target at a time."
        )
    if len(target) != rows:
        raise ValueError(f"X has {rows} rows but y has {len(target)}. Pass a target for each row.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} missing values, the first in row "
            f"{int(np.argmax(missing))}. Drop those rows."
        )
    if target.dtype.kind == "O":
        # Columns of strings, categories or nullable numbers come as objects.
        kinds = {isinstance(label, str) for label in target}
        if len(kinds) > 1:
            raise ValueError(
                f"y mixes texts with other labels: {sorted(set(target), key=repr)[:4]}. "
                "Make all of them texts."
            )
        target = np.asarray(target.tolist())
    return target


def _classes(target: Array) -> Array:
    kind = type_of_target(target)
    if kind not in ("binary", "multiclass"):
        raise ValueError(
            f"Classes are needed for classification, but y is {kind!r} (it starts with "
            f"{target[:3].tolist()}). Pass classes, or a regressor for numbers."
        )
    if len(np.unique(target)) < 2:
        raise ValueError(
            f"y holds only one class: {target[:1].tolist()[0]!r}. Pass rows of at least two."
        )
    return target


def _numbers(target: Array) -> Array:
    if target.dtype.kind not in "biuf":
        raise ValueError(
            f"Numbers are needed for regression, but y starts with {target[:3].tolist()}. "
            "Pass numbers, or a classifier for classes."
        )
    target = target.astype(float)
    infinite = np.isinf(target)
    if infinite.any():
        raise ValueError(
            f"y holds infinity, first in row {int(np.argmax(infinite))}. Drop those rows."
        )
    return target


def _column_names(X: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    p = X.shape[1]
    if isinstance(X, pd.DataFrame):
        kinds = Counter(isinstance(name, str) for name in X.columns)
        if len(kinds) > 1:
            other = next(name for name in X.columns if not isinstance(name, str))
            raise ValueError(
                f"The column names of X are part texts, part not ({other!r}), which scikit-learn "
                "refuses. Make them texts: X.columns = X.columns.astype(str)."
            )
    if given is not None:
        names = tuple(map(str, given))
        if len(names) != p:
            raise ValueError(
                f"X has {p} columns but feature_names has {len(names)}. Name each column."
            )
    elif isinstance(X, pd.DataFrame):
        names = tuple(map(str, X.columns))
    else:
        names = tuple(f"x{j}" for j in range(p))
    if len(set(names)) != p:
        twice = next(name for name, times in Counter(names).items() if times > 1)
        raise ValueError(f"Column names must be unique, but {twice!r} occurs twice. Rename one.")
    return names


def _per_row(what: str, values: Any, rows: int) -> Array | None:
    if values is None:
        return None
    array = np.array(values)
    if array.shape != (rows,):
        raise ValueError(
            f"{what} must hold one value for each of the {rows} rows, but has shape {array.shape}."
        )
    return array


def _checked_weight(values: Any, rows: int) -> Array | None:
    weight = _per_row("sample_weight", values, rows)
    if weight is None:
        return None
    weight = weight.astype(float)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight must be finite and at least 0, but row {bad[0]} has {weight[bad[0]]}."
        )
    return weight
