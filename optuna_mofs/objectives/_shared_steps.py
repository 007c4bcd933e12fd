"""Leading steps of a pipeline that treat each column alone, fitted once for all trials.

Scaling and imputation of a column do not depend on the other columns. In a training fold, their
result for the columns of a trial is therefore a part of that for all columns.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn import get_config
from sklearn.base import clone
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from optuna_mofs._estimators import routing_is_enabled
from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split, take_rows

_SCALERS = (MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler)
#: The results of all folds have at most so many cells (80 MB).
MAX_CELLS = 10_000_000

Steps = list[tuple[str, Any]]


class Prepared(NamedTuple):
    """What the last step of a pipeline gets in one fold.

    Attributes:
        steps: The leading steps, fitted.
        X_train: The training rows after these steps.
        X_test: The test rows after these steps.
    """

    steps: Steps
    X_train: Array
    X_test: Array

    def narrowed(self, columns: Array) -> Prepared:
        """Return the same for some of the columns."""
        steps = [(name, _narrowed(step, columns)) for name, step in self.steps]
        parts = (np.take(X, columns, axis=1) for X in (self.X_train, self.X_test))
        return Prepared(steps, *parts)


class SharedSteps:
    """Fits the leading steps of pipelines to all columns, once per training fold.

    Args:
        data: The rows of the search.
        splits: The folds whose results are kept.
    """

    def __init__(self, data: Dataset, splits: Sequence[Split]) -> None:
        self._data = data
        self._splits = list(splits)
        self.__setstate__({})

    def prepared(self, estimator: Any, split: Split, columns: Array) -> Prepared | None:
        """Return the input of the last step of an estimator, or None if it must fit all steps.

        Args:
            estimator: Unfitted.
            split: One of the folds.
            columns: Positions of the selected columns.
        """
        fold = self._numbers.get(id(split))
        # numpy adds up a single column in another order, which can change the last bit.
        if fold is None or len(columns) < 2 or routing_is_enabled() or not _is_plain(estimator):
            return None
        key = _key(estimator.steps[:-1])
        if key is None:
            return None
        if key not in self._by_steps:
            if not self._can_share(estimator.steps[0][1]):
                return None
            self._by_steps[key] = {}
        found = self._by_steps[key]
        if fold not in found:
            found[fold] = _fit(estimator.steps[:-1], self._data, self._splits[fold])
        whole = found[fold]
        return None if whole is None else whole.narrowed(columns)

    def _can_share(self, first: Any) -> bool:
        """Return whether there is room, and each choice of columns has a result of one type."""
        X, n_cells = self._data.X, self._data.n_entries * len(self._splits)
        if not isinstance(X, np.ndarray | pd.DataFrame):
            return False
        if get_config()["transform_output"] != "default":
            return False
        if (len(self._by_steps) + 1) * n_cells > MAX_CELLS:
            return False
        dtypes = {X.dtype} if isinstance(X, np.ndarray) else set(X.dtypes)
        if not all(isinstance(d, np.dtype) and d.kind in "iuf" for d in dtypes):
            return False
        # Scalers turn whole numbers into floats; there must not be floats of several sizes.
        floats = {d for d in dtypes if d.kind == "f"}
        return len(dtypes) == 1 or (isinstance(first, _SCALERS) and floats <= {np.dtype(float)})

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_numbers", "_by_steps")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._numbers = {id(split): i for i, split in enumerate(self._splits)}
        self._by_steps: dict[tuple[Any, ...], dict[int, Prepared | None]] = {}


def _is_plain(estimator: Any) -> bool:
    """Return whether all steps but the last one treat each column alone, and are fitted alone."""
    if type(estimator) is not Pipeline or len(estimator.steps) < 2:
        return False
    if estimator.memory is not None or estimator.transform_input or estimator.verbose:
        return False
    steps = [step for _, step in estimator.steps]
    return hasattr(steps[-1], "fit") and all(
        type(step) in (*_SCALERS, SimpleImputer) and not hasattr(step, "_sklearn_output_config")
        for step in steps[:-1]
    )


def _key(steps: Steps) -> tuple[Any, ...] | None:
    """Return what tells the steps from others, or None if a parameter may be changed in place."""
    key = [(name, type(step), *vars(step).items()) for name, step in steps]
    values = [value for _, step in steps for value in vars(step).values()]
    # NaN differs from itself, but not in a representation.
    is_plain = all(isinstance(v, str | int | float | tuple | None) for v in values)
    return (repr(key),) if is_plain else None


def _fit(steps: Steps, data: Dataset, split: Split) -> Prepared | None:
    """Return the steps fitted to all columns, or None if not all columns can be used."""
    X_train, X_test = (take_rows(data.X, rows) for rows in split)
    fitted = []
    with warnings.catch_warnings():
        # An error or warning can be about a column that a trial does not select.
        warnings.simplefilter("error")
        try:
            for name, step in steps:
                own = clone(step)
                X_train = own.fit_transform(X_train)
                X_test = own.transform(X_test)
                fitted.append((name, own))
        except Exception:
            return None
    is_whole = isinstance(X_train, np.ndarray) and X_train.shape[1] == data.shape[1]
    return Prepared(fitted, X_train, X_test) if is_whole else None


def _narrowed(step: Any, columns: Array) -> Any:
    """Return a fitted step for some of its columns."""
    found, n_columns = copy.copy(step), step.n_features_in_
    for name, value in vars(step).items():
        if isinstance(value, np.ndarray) and value.shape == (n_columns,):
            setattr(found, name, value[columns])
    found.n_features_in_ = len(columns)
    return found
