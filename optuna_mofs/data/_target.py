"""The target: its check, and the task that it implies."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils.multiclass import type_of_target

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_one_kind, to_array

Task = Literal["classification", "regression"]
#: Whole numbers with at most this many distinct values are classes.
_MAX_CLASSES = 32
#: More distinct integers are classes only if each occurs this often on average.
_MIN_REPEATS = 10
#: More distinct integers than these are never classes.
_MAX_REPEATED_CLASSES = 200
#: Numbers that repeat less often on average are unlikely to be meant as classes.
_FEW_REPEATS = 2.5


def check_target(y: Any, n_rows: int | None = None, *, several: bool = False) -> Array:
    """Return the target as a vector, or raise if it has missing or infinite values.

    Args:
        y: Target.
        n_rows: Number of rows of X, to compare the lengths.
        several: Whether there can be several outputs, one per column of y.

    Example:
        >>> check_target([["yes"], ["no"]], 2).tolist()
        ['yes', 'no']
    """
    target: Array = y.toarray() if sparse.issparse(y) else to_array(y)
    if target.ndim == 2 and target.shape[1] == 1:
        target = target[:, 0]
    if target.ndim != 1 and not (several and target.ndim == 2 and target.shape[1]):
        raise ValueError(
            f"y must be a vector with one value per row, got shape {target.shape}. "
            "Use one target at a time."
        )
    if n_rows is not None and len(target) != n_rows:
        raise ValueError(f"X has {n_rows} rows but y has {len(target)}. Pass one value per row.")
    missing = np.asarray(pd.isna(target))
    if missing.any():
        raise ValueError(
            f"y has {int(missing.sum())} missing values, the first in row "
            f"{_first_row(missing)}. Drop those rows."
        )
    if target.dtype.kind == "O":  # strings, categories and nullable numbers arrive as objects
        target = np.asarray(check_one_kind(target).tolist())
    if target.dtype.kind == "f" and np.isinf(target).any():
        raise ValueError(
            f"y holds infinity, first in row {_first_row(np.isinf(target))}. Drop those rows."
        )
    return target


def _first_row(wrong: Array) -> int:
    return int(np.argmax(wrong if wrong.ndim == 1 else wrong.any(axis=1)))


def check_classes(target: Array) -> Array:
    """Return the target, or raise if it does not hold at least two classes."""
    kind = type_of_target(target)
    if kind not in ("binary", "multiclass", "multilabel-indicator", "multiclass-multioutput"):
        raise ValueError(
            f"y must hold classes for classification, got {kind!r} values that start with "
            f"{target[:3].tolist()}. Pass classes, or a regressor for numbers."
        )
    if not varying_outputs(target):
        raise ValueError(
            f"y holds only one class: {target[:1].tolist()[0]!r}. Pass rows of at least two."
        )
    return target


def check_like(target: Array, known: Array) -> None:
    """Raise if a target of classes cannot be compared with another one.

    New classes are allowed, numbers in place of strings are not.

    Example:
        >>> check_like(np.array([0.5, 0.7]), np.array([0, 1]))
        Traceback (most recent call last):
        ...
        ValueError: Expected classes such as [0, 1], got y with 'continuous' values: [0.5, 0.7].
    """
    kind, wanted = type_of_target(target), type_of_target(known)
    is_text = target.dtype.kind in "OSU"
    if (
        kind.startswith("continuous")
        or target.ndim != known.ndim
        or (is_text != (known.dtype.kind in "OSU"))
        or "unknown" in (kind, wanted)
    ):
        raise ValueError(
            f"Expected classes such as {np.unique(known)[:2].tolist()}, got y with {kind!r} "
            f"values: {target[:2].tolist()}."
        )


def check_repeats(target: Array) -> None:
    """Raise if classes are numbers that rarely repeat, which suggests regression.

    scikit-learn would fit each number as a class, and only warn.
    """
    if target.ndim != 1 or target.dtype.kind not in "iuf":
        return
    n_distinct = len(np.unique(target))
    if n_distinct > _MAX_CLASSES and len(target) < _FEW_REPEATS * n_distinct:
        raise ValueError(
            f"y holds {n_distinct} different numbers in {len(target)} rows, but the estimator is "
            "a classifier. Pass a regressor, such as spaces.get_learner('svm', 'regression'). If "
            "the numbers are classes, make them strings: y.astype(str)."
        )


def varying_outputs(target: Array) -> list[Array]:
    """Return the outputs of a target, which are its columns if it has several, that vary.

    Example:
        >>> varying_outputs(np.array([[0, 1], [0, 2]]))
        [array([1, 2])]
    """
    outputs = [target] if target.ndim == 1 else list(target.T)
    return [output for output in outputs if (output != output[0]).any()]


def strata(target: Array, least: int = 2) -> Array:
    """Return one class per row, to draw rows stratified by class.

    With several outputs, it is the combination of their classes. Combinations of fewer rows than
    ``least`` are one stratum, or belong to the most frequent one if there are too few of them.

    Example:
        >>> strata(np.array([[0, 1], [0, 1], [1, 1], [1, 1], [0, 0]])).tolist()
        [0, 0, 1, 1, 0]
    """
    if target.ndim == 1:
        return target
    codes = np.unique(target, axis=0, return_inverse=True)[1].reshape(-1)
    counts = np.bincount(codes)
    rare = counts < least
    is_rare = rare[codes]
    codes[is_rare] = len(counts) if counts[rare].sum() >= least else counts.argmax()
    return np.unique(codes, return_inverse=True)[1]


def check_numbers(target: Array) -> Array:
    """Return the target as floats, or raise if it does not hold numbers."""
    if target.dtype.kind not in "biuf":
        raise ValueError(
            "y must hold numbers for regression, got values that start with "
            f"{target[:3].tolist()}. Pass numbers, or a classifier for classes."
        )
    return target.astype(float)


def detect_task(y: Any) -> Task:
    """Return the task that a target implies.

    Strings, booleans and categories are classes; numbers with a fractional part are a regression
    target. Whole numbers are classes (as ``type_of_target`` has it) unless there are more than 32
    distinct ones and they are stored as floats, or repeat fewer than 10 times on average, or there
    are more than 200: a price or an age is then a quantity. Pass the task where this guess would
    be wrong.

    Example:
        >>> detect_task([0, 1, 1, 0]), detect_task([0.5, 1.2, 3.3])
        ('classification', 'regression')
        >>> detect_task(range(1000))
        'regression'
    """
    target = check_target(y)
    kind = type_of_target(target)
    if kind.startswith("continuous"):
        return "regression"
    if kind not in ("binary", "multiclass"):
        raise ValueError(f"y must hold one label or one number per row, got {kind!r}.")
    if target.dtype.kind in "iuf":
        n_distinct = len(np.unique(target))
        n_repeats = len(target) / max(n_distinct, 1)
        is_rare = target.dtype.kind == "f" or n_repeats < _MIN_REPEATS
        if n_distinct > _MAX_REPEATED_CLASSES or (n_distinct > _MAX_CLASSES and is_rare):
            return "regression"
    return "classification"
