"""The rows and columns of a search, and its cross-validation splits."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    StratifiedGroupKFold,
    check_cv,
    train_test_split,
)
from sklearn.utils import _safe_indexing

from optuna_mofs._tables import check_labels, check_unique, column_labels, to_pandas
from optuna_mofs._typing import Array
from optuna_mofs._validation import to_array
from optuna_mofs.data._target import (
    check_classes,
    check_numbers,
    check_target,
    strata,
    varying_outputs,
)

#: Rows of a training fold, and of its test fold.
Split = tuple[Array, Array]
#: Larger arrays are used in place, because a copy could be more than the memory holds.
MAX_COPIED_BYTES = 100_000_000
#: Fewer rows than these are not split into rows of the search and held-out rows.
_MIN_ROWS = 40
#: Number of random choices of groups, of which the most similar to all rows is held out.
_GROUP_DRAWS = 30


class Dataset:
    """Rows and columns of a learning task.

    Args:
        X: Array, sparse matrix or table of any library, copied; a table becomes a DataFrame. An
            array of more than 100 MB is not copied and must not be changed during the search.
            Masked entries of a :class:`numpy.ma.MaskedArray` become NaN.
        y: Target, which can have several outputs: one per column.
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
        X = to_pandas(X)
        _warn_if_indices_differ(X, y)
        # Copies: changes that the caller makes to the table later must not affect trials.
        if sparse.issparse(X):
            X = X.tocsr(copy=True)
        elif isinstance(X, pd.DataFrame):
            X = X.copy()
        elif type(X) is np.ndarray and X.nbytes > MAX_COPIED_BYTES:
            X = X.view()
            X.flags.writeable = False
        else:
            X = to_array(X)
        if X.ndim == 0:
            raise ValueError(
                f"X must be a table (a DataFrame, an array or a sparse matrix), got {X.item()!r}."
            )
        if X.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (rows and columns), got shape {X.shape}. "
                "Turn a single column into X.reshape(-1, 1)."
            )
        if X.shape[1] == 0:
            raise ValueError("X has 0 columns. Pass at least one feature.")
        if X.shape[0] == 0:
            raise ValueError("X has 0 rows. Pass some.")
        #: The table, and the rows of it that are in use: None for all.
        self._table = X
        self._rows: Any = None
        self._X: Any = X
        self.classification = classification
        self.y = self._checked(y, X.shape[0])
        self.column_names = _column_names(check_labels(X), feature_names)
        #: Names of the columns as the user's table has them, for example integers.
        self.labels: tuple[Any, ...] = self.column_names
        if feature_names is None:
            self.labels = tuple(column_labels(X) or self.column_names)
        #: Positions of these columns in the user's table, of which these can be a part.
        self.positions = np.arange(X.shape[1])
        #: Number of columns of that table, and their names if it has names that are strings.
        self.n_table_columns = X.shape[1]
        self.table_labels = tuple(label for label in column_labels(X) or () if _is_name(label))
        self.sample_weight = _check_weights(sample_weight, X.shape[0])
        #: Whether the weights count in scores too.
        self.weighted_scoring = True
        self.groups = _check_rows("groups", groups, X.shape[0])
        #: Row numbers in the table of the user, of which these can be a part.
        self.row_numbers = np.arange(X.shape[0])

    def _checked(self, y: Any, n_rows: int) -> Array:
        target = check_target(y, n_rows, several=True)
        return check_classes(target) if self.classification else check_numbers(target)

    @property
    def X(self) -> Any:  # noqa: N802
        """All rows and columns. A part of a large array is copied when this is first needed."""
        if self._X is None:
            self._X = self._table[self._rows]
        return self._X

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return len(self.y), self._table.shape[1]

    @property
    def n_entries(self) -> int:
        """Number of cells, without the zeros of a sparse matrix."""
        return int(self.X.nnz) if self.is_sparse else self.shape[0] * self.shape[1]

    @property
    def is_sparse(self) -> bool:
        """Whether X is a sparse matrix."""
        return bool(sparse.issparse(self._table))

    def content_parts(self) -> tuple[Any, ...]:
        """Return what determines the rows and the target, without a copy of the rows."""
        return (self.X, self.y) if self._X is not None else (self._table, self._rows, self.y)

    def rows(self, positions: Array) -> Any:
        """Return some rows of all columns, in the container of X."""
        if self._X is None:
            return self._table[self._rows[positions]]
        return take_rows(self._X, positions)

    @property
    def score_weight(self) -> Array | None:
        """Weight of each row in scores."""
        return self.sample_weight if self.weighted_scoring else None

    def columns(self, positions: Array) -> Any:
        """Return all rows of some columns, in the container of X."""
        if self._X is None:
            return self._table[np.ix_(self._rows, positions)]
        if type(self._X) is np.ndarray:
            return self._X[:, positions]
        return _safe_indexing(self._X, positions, axis=1)

    def narrowed(self, positions: Array) -> Dataset:
        """Return the same rows with some of the columns."""
        narrow = copy.copy(self)
        narrow._table = narrow._X = self.columns(positions)
        narrow._rows = None
        narrow.column_names = tuple(self.column_names[j] for j in positions)
        narrow.labels = tuple(self.labels[j] for j in positions)
        narrow.positions = self.positions[positions]
        return narrow

    def take(self, rows: Array, y: Any = None) -> Dataset:
        """Return some rows, which can have another target."""
        part = copy.copy(self)
        if type(self._table) is np.ndarray and self._table.nbytes > MAX_COPIED_BYTES:
            # Trials need few columns, and filters a sample: most searches never copy it all.
            part._rows = rows if self._rows is None else self._rows[rows]
            part._X = None
        else:
            part._table = part._X = take_rows(self._X, rows)
        part.y = self.y[rows] if y is None else self._checked(y, len(rows))
        part.sample_weight = None if self.sample_weight is None else self.sample_weight[rows]
        part.groups = None if self.groups is None else self.groups[rows]
        part.row_numbers = self.row_numbers[rows]
        return part


def _warn_if_indices_differ(X: Any, y: Any) -> None:
    is_pandas = isinstance(X, pd.DataFrame) and isinstance(y, pd.Series | pd.DataFrame)
    if is_pandas and len(X) == len(y) and not X.index.equals(y.index):
        warnings.warn(
            "The indices of X and y differ. Rows belong together by position, as in scikit-learn. "
            "If they belong together by index, pass y.loc[X.index]; if not, y.to_numpy().",
            UserWarning,
            stacklevel=2,
        )


def _is_name(label: Any) -> bool:
    return isinstance(label, str)


def take_rows(X: Any, rows: Array) -> Any:
    """Return some rows of an array, DataFrame or sparse matrix."""
    return X[rows] if isinstance(X, np.ndarray) else _safe_indexing(X, rows)


def _column_names(X: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    n_columns = X.shape[1]
    if given is not None:
        names = tuple(map(str, given))
        if len(names) != n_columns:
            raise ValueError(
                f"X has {n_columns} columns but feature_names has {len(names)}. Name each column."
            )
    elif isinstance(X, pd.DataFrame):
        names = tuple(map(str, X.columns))
    else:
        names = tuple(f"x{j}" for j in range(n_columns))
    check_unique(names)
    return names


def _check_rows(name: str, values: Any, n_rows: int) -> Array | None:
    if values is None:
        return None
    array: Array = to_array(values)
    if array.shape != (n_rows,):
        raise ValueError(
            f"{name} must hold one value for each of the {n_rows} rows, got shape {array.shape}."
        )
    if np.ma.is_masked(values):
        raise ValueError(
            f"{name} must hold one value for each of the {n_rows} rows, but row "
            f"{int(np.argmax(np.ma.getmaskarray(values)))} is masked. Fill it, or drop the row."
        )
    return array


def _check_weights(values: Any, n_rows: int) -> Array | None:
    weight = _check_rows("sample_weight", values, n_rows)
    if weight is None:
        return None
    weight = weight.astype(float)
    bad = np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))
    if len(bad):
        raise ValueError(
            f"sample_weight must be finite and at least 0, but row {bad[0]} has {weight[bad[0]]}."
        )
    return weight


def draw_splits(data: Dataset, cv: Any, seed: int) -> list[Split]:
    """Return the training and test rows of each fold; rows of one group stay together.

    ``cv`` is a number of folds (shuffled with the seed, stratified for classes), a splitter, or an
    iterable of splits.
    """
    y = data.y
    if data.classification and is_fold_count(cv):
        y = strata(y, int(cv))
    splitter = _splitter(data, y, cv, seed)
    X = y if is_fold_count(cv) else data.X  # only a splitter of the user may look at it
    splits = [
        (_positions(train), _positions(test)) for train, test in splitter.split(X, y, data.groups)
    ]
    if not splits:
        raise ValueError(f"cv={cv!r} yields no folds. Pass a number of folds of at least 2.")
    for k, (train, test) in enumerate(splits):
        _check_split(data, f"{k} of cv={cv!r}", train, test)
    return splits


def restrict_splits(splits: Sequence[Split], rows: Array, n_rows: int) -> list[Split]:
    """Return splits of a table as splits of some of its rows; the other rows are left out.

    Example:
        >>> split = (np.array([0, 1]), np.array([2, 3]))
        >>> [part.tolist() for part in restrict_splits([split], np.array([3, 1]), 4)[0]]
        [[1], [0]]
    """
    position = np.full(n_rows, -1)
    position[rows] = np.arange(len(rows))
    moved = [(position[train], position[test]) for train, test in splits]
    kept = [(train[train >= 0], test[test >= 0]) for train, test in moved]
    for k, pair in enumerate(kept):
        if not all(map(len, pair)):
            raise ValueError(
                f"Fold {k} has no {'test' if len(pair[0]) else 'training'} rows among the "
                f"{len(rows)} of {n_rows} rows in use. Use fewer folds."
            )
    return kept


def is_fold_count(cv: Any) -> bool:
    """Return whether ``cv`` is a number of folds."""
    return isinstance(cv, int | np.integer) and not isinstance(cv, bool)


def _splitter(data: Dataset, y: Array, cv: Any, seed: int) -> Any:
    if not is_fold_count(cv):
        if cv is None or isinstance(cv, bool):
            raise ValueError(f"cv must be a number of folds, a splitter or splits, got {cv!r}.")
        return check_cv(cv, y, classifier=data.classification)
    if cv < 2:
        raise ValueError(f"cv must be at least 2 folds, got {cv}.")
    if data.classification:
        largest = int(np.unique(y, return_counts=True)[1].max())
        if largest < cv:
            raise ValueError(
                f"No class has enough rows for {cv} folds: the largest of "
                f"{len(np.unique(y))} has {largest} of {data.shape[0]} rows. Use fewer "
                "folds, or a regressor if y is a number."
            )
    if data.groups is not None:
        # Rows of one group in both parts would leak from the training to the test fold.
        kind = StratifiedGroupKFold if data.classification else GroupKFold
        return kind(int(cv), shuffle=True, random_state=seed)
    splitter = check_cv(int(cv), y, classifier=data.classification)
    splitter.shuffle, splitter.random_state = True, seed
    return splitter


def _positions(rows: Any) -> Array:
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
    if data.classification and not varying_outputs(data.y[train]):
        raise ValueError(
            f"The training fold {which} holds only one class: {data.y[train].tolist()[0]!r}. "
            "Use fewer folds or a stratified splitter."
        )


def draw_holdout(data: Dataset, holdout: float | int | Sequence[int] | Array, seed: int) -> Array:
    """Return the rows to hold out of a search, sorted.

    Args:
        data: All rows.
        holdout: Fraction or number of rows (drawn with the shares of the classes; whole groups),
            or row numbers.
        seed: Seed of the draw.

    Raises:
        ValueError: If too few rows would be left in one of the parts.
    """
    n = data.shape[0]
    if np.ndim(holdout) > 0:
        rows = check_row_numbers("holdout", holdout, n)
        if len(rows) == n:
            raise ValueError(f"holdout names all {n} rows. Leave some for the search.")
        return np.sort(rows)
    is_number = isinstance(holdout, int | float | np.integer | np.floating)
    number = float(holdout) if is_number and not isinstance(holdout, bool) else 0.0  # type: ignore[arg-type]
    if not 0 < number < n or (number >= 1 and number % 1):
        raise ValueError(
            f"holdout must be a fraction between 0 and 1, a number of rows below {n}, row "
            f"numbers, 'auto' or None, got {holdout!r}."
        )
    size = round(number * n) if number < 1 else int(number)
    if n < _MIN_ROWS or min(size, n - size) < 2:
        raise ValueError(
            f"holdout={holdout!r} of {n} rows leaves too few: it needs at least {_MIN_ROWS} rows "
            "in total and 2 in each part. Pass holdout=None."
        )
    if data.groups is not None:
        held_out = _draw_groups(data, size, seed)
    else:
        labels = strata(data.y) if data.classification else None
        try:
            held_out = train_test_split(
                np.arange(n), test_size=size, random_state=seed, stratify=labels
            )[1]
        except ValueError as error:  # a class with one row, or fewer held-out rows than classes
            reason = str(error).rstrip(".")
            raise ValueError(
                f"holdout={holdout!r} cannot be drawn: {reason}. Pass holdout=None."
            ) from None
    if data.classification and data.y.ndim == 1:
        classes, codes = np.unique(data.y, return_inverse=True)
        inside = np.bincount(codes[held_out], minlength=len(classes))
        fewest = np.minimum(inside, np.bincount(codes) - inside)
        if fewest.min() < 2:
            rare = classes[fewest.argmin()].item()
            raise ValueError(
                f"holdout={holdout!r} leaves fewer than 2 rows of class {rare!r} in one of the "
                "parts. Pass holdout=None, another size, or row numbers."
            )
    return np.sort(held_out)


def check_row_numbers(name: str, rows: Any, n_rows: int, *, repeated: bool = False) -> Array:
    """Return row numbers, or a boolean mask of rows, as an array of row numbers.

    Each row can occur once only, unless ``repeated``.

    Example:
        >>> check_row_numbers("rows", [True, False, True], 3).tolist()
        [0, 2]
    """
    array = _positions(rows)
    is_valid = array.ndim == 1 and array.dtype.kind in "iu" and len(array) > 0
    if not is_valid or array.min() < 0 or array.max() >= n_rows:
        raise ValueError(f"{name} must hold numbers of rows from 0 to {n_rows - 1}, got {rows!r}.")
    if not repeated and len(np.unique(array)) < len(array):
        raise ValueError(f"{name} must hold each row once, got {rows!r}.")
    return array


def _draw_groups(data: Dataset, size: int, seed: int) -> Array:
    """Return the rows of whole groups: about ``size`` of them, with the shares of the classes."""
    n = data.shape[0]
    codes = np.zeros(n, int)
    if data.classification:
        codes = np.unique(strata(data.y), return_inverse=True)[1]
    wanted = np.bincount(codes) * size / n
    draws = GroupShuffleSplit(_GROUP_DRAWS, test_size=size / n, random_state=seed)
    held_out = [test for _, test in draws.split(data.y, groups=data.groups)]
    counts = [np.bincount(codes[rows], minlength=len(wanted)) for rows in held_out]
    best = int(np.argmin([np.abs(count - wanted).sum() for count in counts]))
    return held_out[best]
