"""Data prepared once for all filters of an ensemble."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal, TypedDict, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import check_random_state

from optuna_mofs._tables import to_pandas
from optuna_mofs._typing import Array, Bools, Floats, Indices
from optuna_mofs._validation import check_choice, check_int, check_n_jobs, to_array
from optuna_mofs.data._target import Task, check_target, detect_task
from optuna_mofs.filters._counts import PairInformation
from optuna_mofs.filters._discretize import MAX_BINS, bin_columns, bin_vector, sort_columns

DEFAULT_BINS = 5
BLOCK_ENTRIES = 2_000_000  # dense floats in memory at a time: 16 MB
PAIR_BUDGET = 400_000
MIN_STEPS = 100


class FilterOptions(TypedDict, total=False):
    """Keyword arguments of every filter; see :class:`FilterData`."""

    task: Literal["auto", "classification", "regression"]
    bins: int
    n_steps: int | None
    random_state: Any
    n_jobs: int | None


class FilterData:
    """Data prepared for filters: encoded and checked, and sorted and binned when first needed.

    Every filter accepts either ``(X, y)`` or such an object, so that several filters share it.

    Args:
        X: Samples × features: array, DataFrame (also strings, categories, booleans, dates) or
            scipy sparse matrix. Filters on bins treat NaN as a bin of its own, the others replace
            it by the column's median.
        y: Labels or numbers, one per sample.
        task: ``"auto"`` decides by :func:`~optuna_mofs.filters.detect_task`.
        bins: Number of equal-frequency bins of a column with more than ``2 * bins`` distinct
            values, and of a regression target. With five bins, two classes and 500 samples, a
            cell of the joint table of two features has ten samples on average.
        n_steps: Number of exact greedy steps of JMI, CMIM and mRMR. ``None`` evaluates about
            400,000 pairs of features, but at least 100 steps: the whole order for up to 632
            features, the first 100 of 10,935 features.
        random_state: Seed of the filters that draw random numbers.
        n_jobs: Number of threads or processes of the filters that support several.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from optuna_mofs.filters import FilterData, auc, jmi
        >>> data = FilterData(*load_wine(return_X_y=True))
        >>> int(auc(data).argmax()), int(jmi(data).argmax())
        (9, 6)
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        task: Literal["auto", "classification", "regression"] = "auto",
        bins: int = DEFAULT_BINS,
        n_steps: int | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        check_choice("task", task, ("auto", "classification", "regression"))
        self.bins = check_int("bins", bins, 2, MAX_BINS)
        self.n_steps = None if n_steps is None else check_int("n_steps", n_steps, 1)
        values, self.nominal = encode_columns(X)
        labels = check_target(y)
        self._values = values
        self.n_samples: int = values.shape[0]
        self.n_features: int = values.shape[1]
        if self.n_features == 0:
            raise ValueError("X has no features (0 columns). A filter needs at least one.")
        if len(labels) != self.n_samples:
            raise ValueError(
                f"X has {self.n_samples} samples but y has {len(labels)}. They must agree."
            )
        distinct, codes = np.unique(labels, return_inverse=True)
        if len(distinct) < 2:
            raise ValueError(
                "y has fewer than two different values, so no feature can be more relevant than "
                "another. Check how the samples were selected."
            )
        self.task: Task = detect_task(labels) if task == "auto" else task
        self.random_state = random_state
        self.n_jobs = check_n_jobs(n_jobs)
        if self.task == "regression":
            if labels.dtype.kind not in "biuf":
                raise ValueError(f"A regression target must be numeric, got dtype {labels.dtype}.")
            self.y: Array = labels.astype(np.float64)
            self.classes = bin_vector(self.y, self.bins)
        else:
            self.y = codes.astype(np.int64)
            self.classes = self.y
        self.n_classes = int(self.classes.max()) + 1

    @property
    def seed(self) -> int:
        """``random_state`` itself if it is an integer, else an integer drawn from it."""
        if isinstance(self.random_state, (int, np.integer)):
            return int(self.random_state)
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    @property
    def greedy_steps(self) -> int:
        """The number of exact greedy steps."""
        steps = self.n_steps or max(MIN_STEPS, PAIR_BUDGET // self.n_features)
        return min(self.n_features, steps)

    def indicators(self) -> Floats:
        """Return one row per target of a linear filter: class indicators, or ``y`` itself.

        Two classes need one indicator.
        """
        if self.task == "regression":
            return np.asarray(self.y, dtype=np.float64)[None, :]
        rows = [0] if self.n_classes == 2 else range(self.n_classes)
        return np.array([self.classes == c for c in rows], dtype=np.float64)

    def _raw_blocks(self) -> Iterator[tuple[slice, Floats]]:
        width = max(1, BLOCK_ENTRIES // max(self.n_samples, 1))
        for start in range(0, self.n_features, width):
            part = slice(start, min(start + width, self.n_features))
            block = self._values[:, part]
            if sparse.issparse(block):
                block = block.toarray()
            yield part, np.ascontiguousarray(block.T)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the columns and dense features × samples of each block, NaN imputed by medians."""
        for part, block in self._raw_blocks():
            yield part, _impute(block)[0]

    @cached_property
    def _medians(self) -> Floats:
        return np.concatenate([_impute(block)[1] for _, block in self._raw_blocks()])

    def matrix(self) -> Any:
        """Return samples × features without NaN, sparse if ``X`` was."""
        values = self._values
        missing = np.isnan(values.data if sparse.issparse(values) else values)
        if not missing.any():
            return values
        values = values.copy()
        if sparse.issparse(values):
            column = np.repeat(np.arange(self.n_features), np.diff(values.indptr))
            values.data[missing] = self._medians[column[missing]]
        else:
            values[missing] = np.broadcast_to(self._medians, values.shape)[missing]
        return values

    @cached_property
    def _sorted(
        self,
    ) -> tuple[NDArray[np.uint8], NDArray[np.int64], NDArray[np.float32], Bools]:
        shape = (self.n_features, self.n_samples)
        codes = np.empty(shape, dtype=np.uint8)
        ranks = np.empty(shape, dtype=np.float32)
        levels = np.empty(self.n_features, dtype=np.int64)
        discrete = self.nominal.copy()
        for part, block in self._raw_blocks():
            in_order = sort_columns(block)
            codes[part], levels[part] = bin_columns(block, in_order, self.bins, self.nominal[part])
            ranks[part] = in_order.ranks
            discrete[part] |= in_order.distinct <= 2 * self.bins
            incomplete = np.flatnonzero(in_order.n_valid < self.n_samples)
            if len(incomplete):
                imputed = sort_columns(_impute(block[incomplete])[0])
                ranks[part.start + incomplete] = imputed.ranks
        return codes, levels, ranks, discrete

    @property
    def codes(self) -> NDArray[np.uint8]:
        """The bin of each entry, features × samples."""
        return self._sorted[0]

    @property
    def levels(self) -> NDArray[np.int64]:
        """The number of bins per feature."""
        return self._sorted[1]

    @property
    def ranks(self) -> NDArray[np.float32]:
        """Average ranks from 0 of the imputed columns, features × samples."""
        return self._sorted[2]

    @property
    def discrete(self) -> Bools:
        """Which features are nominal or have few distinct values."""
        return self._sorted[3]

    @cached_property
    def information(self) -> PairInformation:
        """The joint counts with the (binned) target."""
        return PairInformation(self.codes, self.levels, self.classes)

    def rows(self, columns: Indices, samples: Indices) -> Floats:
        """Return some columns at some samples, dense features × samples, NaN imputed."""
        block = self._values[:, columns][samples]
        if sparse.issparse(block):
            block = block.toarray()
        missing = np.isnan(block)
        if missing.any():
            block = np.where(missing, self._medians[columns], block)
        return np.ascontiguousarray(block.T)

    @cached_property
    def constant(self) -> Bools:
        """Which features have one value only, after imputation."""
        same = [block.max(axis=1) == block.min(axis=1) for _, block in self.blocks()]
        return np.concatenate(same)

    def finish(self, scores: Any) -> Floats:
        """Assign the lowest score to features that are constant or have no score (NaN)."""
        result: Floats = np.array(scores, dtype=np.float64)
        bad = np.isnan(result) | self.constant
        result[bad] = 0.0 if bad.all() else result[~bad].min()
        return result


def _impute(block: Floats) -> tuple[Floats, Floats]:
    """Replace NaN in each row by its median (0 if it has no value); return the medians too."""
    medians = np.zeros(len(block))
    missing = np.isnan(block)
    rows = np.flatnonzero(missing.any(axis=1))
    if len(rows):
        block = block.copy()
        for row in rows:
            present = block[row, ~missing[row]]
            medians[row] = np.median(present) if len(present) else 0.0
            block[row, missing[row]] = medians[row]
    return block, medians


def prepare(X: Any, y: Any, options: FilterOptions) -> FilterData:
    """Return ``X`` if it is already prepared, else prepare it."""
    if isinstance(X, FilterData):
        if y is not None or options:
            raise ValueError("FilterData includes y and the options. Pass it alone.")
        return X
    return FilterData(X, y, **options)


def encode_columns(X: Any) -> tuple[Any, Bools]:
    """Return ``X`` as a float array (or a sparse CSC matrix), and which columns are nominal.

    Strings and categories become the position of their level among the sorted (or declared)
    levels, dates become numbers, missing and masked entries become NaN. Ordered categories are
    not nominal, because their codes are ordered too.
    """
    if sparse.issparse(X):
        values = sparse.csc_array(X, dtype=np.float64)
        _check_finite(values.data)
        return values, np.zeros(values.shape[1], dtype=bool)
    X = to_pandas(X)
    if not isinstance(X, pd.DataFrame):
        array = to_array(X) if isinstance(X, np.ma.MaskedArray) else np.asarray(X)
        if array.ndim != 2:
            raise ValueError(
                f"X must have two dimensions (samples × features), got shape {array.shape}. "
                "Pass a single feature as X.reshape(-1, 1)."
            )
        if array.dtype.kind == "c":
            raise ValueError("X has complex numbers. Pass their real and imaginary parts.")
        if array.dtype.kind in "biuf":
            values = array.astype(np.float64, copy=False)
            _check_finite(values)
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
    _check_finite(values)
    return values, nominal


def _encode_series(column: pd.Series[Any]) -> tuple[Floats, bool]:
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


def _check_finite(values: Floats) -> None:
    # The sum is finite unless an entry is infinite or NaN or the sum overflows.
    with np.errstate(invalid="ignore", over="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and np.isinf(values).any():
        raise ValueError("X holds infinity. Replace it by NaN or by a large number.")
