"""The target: its task, and its classes or numbers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.utils.multiclass import type_of_target

from optuna_mofs._typing import Array

Task = Literal["classification", "regression"]
MANY_VALUES = 32
FEW_REPEATS = 10


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
