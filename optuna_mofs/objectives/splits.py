"""Rows of each training and test fold, drawn once and checked."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import GroupKFold, StratifiedGroupKFold, check_cv

from optuna_mofs._typing import Array
from optuna_mofs.objectives.dataset import Dataset

#: Rows of a training fold, and of its test fold.
Split = tuple[Array, Array]


def draw_splits(data: Dataset, cv: Any, seed: int) -> list[Split]:
    """Train and test rows of each fold.

    Args:
        data: The data; its groups keep rows together.
        cv: Number of folds (shuffled, stratified for classes), splitter, or iterable of splits.
        seed: Shuffles the rows if ``cv`` is a number.
    """
    splitter = _splitter(data, cv, seed)
    splits = [
        (_rows(train), _rows(test)) for train, test in splitter.split(data.X, data.y, data.groups)
    ]
    if not splits:
        raise ValueError(f"cv={cv!r} gives no folds. Pass a number of folds of at least 2.")
    for k, (train, test) in enumerate(splits):
        _check_split(data, f"{k} of cv={cv!r}", train, test)
    return splits


def is_number(cv: Any) -> bool:
    """Whether ``cv`` is a number of folds."""
    return isinstance(cv, Integral) and not isinstance(cv, bool)


def _splitter(data: Dataset, cv: Any, seed: int) -> Any:
    if not is_number(cv):
        if cv is None or isinstance(cv, bool):
            raise ValueError(f"cv must be a number of folds, a splitter or splits, but is {cv!r}.")
        return check_cv(cv, data.y, classifier=data.classification)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, but is {cv}.")
    if data.classification:
        largest = int(np.unique(data.y, return_counts=True)[1].max())
        if largest < cv:
            raise ValueError(
                f"No class has rows for {cv} folds: the largest of {len(np.unique(data.y))} has "
                f"{largest} of {data.shape[0]} rows. Use fewer folds, or a regressor if y is a "
                "number."
            )
    if data.groups is not None:
        # Rows of a group belong together, or the test fold would know the training fold.
        kind = StratifiedGroupKFold if data.classification else GroupKFold
        return kind(int(cv), shuffle=True, random_state=seed)
    splitter = check_cv(int(cv), data.y, classifier=data.classification)
    splitter.shuffle, splitter.random_state = True, seed
    return splitter


def _rows(rows: Any) -> Array:
    array = np.asarray(rows)
    return np.flatnonzero(array) if array.dtype == bool else array


def _check_split(data: Dataset, which: str, train: Array, test: Array) -> None:
    for part, rows in (("training", train), ("test", test)):
        if len(rows) == 0:
            raise ValueError(f"The {part} fold {which} has no rows. Use fewer folds.")
        if rows.min() < 0 or rows.max() >= data.shape[0]:
            raise ValueError(
                f"The {part} fold {which} has rows {rows.min()} to {rows.max()}, "
                f"but X has rows 0 to {data.shape[0] - 1}."
            )
    if data.classification and len(np.unique(data.y[train])) < 2:
        raise ValueError(
            f"Training fold {which} holds only one class: {data.y[train].tolist()[0]!r}. "
            "Use fewer folds or a stratified splitter."
        )
