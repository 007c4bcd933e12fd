"""Reject columns that an estimator cannot be fitted on, before the first trial."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.objectives._evaluator import model_of_columns

_MAX_ROWS = 300
_MAX_NAMES = 8
_REMEDIES = {
    "texts": (
        "Use a learner that encodes them, such as spaces.get_learner('svm', one_hot=True). Or put "
        "an encoder before it: make_pipeline(make_column_transformer((OneHotEncoder("
        "handle_unknown='ignore'), make_column_selector(dtype_exclude='number')), "
        "remainder='passthrough'), estimator). Or make them categories, X.astype({'name': "
        "'category'}), for a learner that uses these: "
        "spaces.get_learner('hist_gradient_boosting'). Or drop them."
    ),
    "dates": (
        "Convert them to numbers, for example by (column - column.min()).dt.days, or drop them."
    ),
}


def check_columns(estimators: Sequence[Any], data: Dataset) -> None:
    """Raise if an estimator cannot be fitted on a column because it holds texts or dates.

    One column of each kind is tried. The check passes if the estimator cannot be fitted on numbers
    in place of the column either.

    Args:
        estimators: Unfitted estimators.
        data: All rows.

    Raises:
        ValueError: It names the columns, the error and the remedy.
    """
    if not isinstance(data.X, pd.DataFrame):
        return
    kinds: dict[tuple[str, str], list[int]] = {}
    numbers: list[int] = []
    for j, (_, column) in enumerate(data.X.items()):
        kind = _kind(column)
        if kind is not None:
            kinds.setdefault((kind, str(column.dtype)), []).append(j)
        elif pd.api.types.is_numeric_dtype(column.dtype) and not column.hasnans:
            numbers.append(j)
    rows = _few_rows(data) if kinds else np.zeros(0, dtype=int)
    for (kind, _), columns in kinds.items():
        # With a numeric column, because dates alone would be converted to nanoseconds. In the
        # order of the table, which estimators with columns by position expect.
        part = data.take(rows).narrowed(np.sort([columns[0], *numbers[:1]]))
        for estimator in estimators:
            error = _fit_error(estimator, part, part.X)
            if error is None or _fit_error(estimator, part, _codes(part.X)) is not None:
                continue
            names = [repr(data.column_names[j]) for j in columns]
            more = f" and {len(names) - _MAX_NAMES} more" if len(names) > _MAX_NAMES else ""
            values = data.X.iloc[:, columns[0]].dropna()
            reason = str(error).strip().splitlines()[0].rstrip(".")
            raise ValueError(
                f"{type(estimator).__name__} cannot be fitted on {kind}, which "
                f"{', '.join(names[:_MAX_NAMES])}{more} hold (for example "
                f"{str(values.iloc[0])!r}): {reason}. {_REMEDIES[kind]}"
            )


def _kind(column: pd.Series[Any]) -> str | None:
    kinds = pd.api.types
    if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
        return "dates"
    if kinds.is_numeric_dtype(column.dtype) or isinstance(column.dtype, pd.CategoricalDtype):
        return None
    values = column.dropna()
    return "texts" if len(values) and isinstance(values.iloc[0], str) else None


def _few_rows(data: Dataset) -> Array:
    """Return some rows, two of each class among them."""
    rows = np.linspace(0, data.shape[0] - 1, min(_MAX_ROWS, data.shape[0])).astype(int)
    if data.classification and data.y.ndim == 1:
        codes = np.unique(data.y, return_inverse=True)[1]
        order = np.argsort(codes, kind="stable")
        first = np.searchsorted(codes[order], np.arange(codes.max() + 1))
        rows = np.concatenate([rows, order[first], order[np.minimum(first + 1, len(order) - 1)]])
    return np.unique(rows)


def _fit_error(estimator: Any, data: Dataset, X: pd.DataFrame) -> Exception | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model_of_columns(estimator, data).fit(X, data.y)
    except Exception as error:  # of any estimator
        return error
    return None


def _codes(X: pd.DataFrame) -> pd.DataFrame:
    return pd.DataFrame({name: pd.factorize(column)[0] for name, column in X.items()})
