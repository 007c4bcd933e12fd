"""The part of large data that filters rank: a sample of the rows, and the most relevant columns.

Filters sort every column, and some fit models to all of them. With many rows, a sample ranks the
features nearly as well. With very many columns, all are scored block by block by their information
on the target, with a few cuts per column, and the filters rank only the best ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.utils import _safe_indexing

from optuna_mofs._typing import Array, Floats
from optuna_mofs.features._redundancy import best_first
from optuna_mofs.filters._data import encode_columns
from optuna_mofs.filters._discretize import bin_vector

#: With more rows than the first number, the filters rank a sample of the second.
MAX_ROWS, N_SAMPLED = 50_000, 30_000
#: With more columns than the first number, the filters rank the best features only.
MAX_COLUMNS, N_CANDIDATES = 5_000, 2_000
#: Sparse columns are sorted as dense ones, so the number of cells is limited too.
MAX_SPARSE_CELLS = 50_000_000
#: Number of bins of a column, and of a target that is a number.
_BINS = 5
_BLOCK_ENTRIES = 2_000_000
#: Minimum number of rows per class in a sample, if there are that many.
_MIN_OF_CLASS = 100


def sample_rows(rows: Array, y: Array, *, classification: bool, seed: int, size: int) -> Array:
    """Return a sample of some rows in their order, stratified by class.

    A rare class has 100 rows in it, or all of its rows.

    Example:
        >>> y = np.repeat([0, 1], [9_900, 100])
        >>> some = sample_rows(np.arange(10_000), y, classification=True, seed=0, size=1_000)
        >>> np.bincount(y[some]).tolist()
        [990, 100]
    """
    order = np.random.default_rng(seed).permutation(rows)
    if not classification:
        return np.sort(order[:size])
    labels, codes, counts = np.unique(y[order], return_inverse=True, return_counts=True)
    wanted = np.minimum(counts, np.maximum(np.rint(counts * (size / len(rows))), _MIN_OF_CLASS))
    chosen = [order[codes == c][: int(wanted[c])] for c in range(len(labels))]
    return np.sort(np.concatenate(chosen))


def check_finite(X: Any) -> None:
    """Raise if an array or a column of numbers has an infinite entry."""
    if isinstance(X, pd.DataFrame):
        for name in X.columns[[dtype.kind == "f" for dtype in X.dtypes]]:
            encode_columns(X[[name]])
    else:
        for start in range(0, X.shape[0], MAX_ROWS):
            encode_columns(X[start : start + MAX_ROWS])


def needs_screening(n_rows: int, p: int, *, is_sparse: bool) -> bool:
    """Return whether a table has too many columns for the filters."""
    is_large = is_sparse and n_rows * p > MAX_SPARSE_CELLS and p > N_CANDIDATES
    return p > MAX_COLUMNS or bool(is_large)


def best_features(relevance: Floats, columns: Sequence[Sequence[int]] | None) -> Array:
    """Return the positions of the most relevant features, ascending.

    A feature that is a group of columns is as relevant as its best column.
    """
    if columns is not None:
        relevance = np.array([relevance[list(members)].max() for members in columns])
    return np.sort(best_first(relevance, N_CANDIDATES))


def take_block(X: Any, rows: Array | None, columns: Array) -> Any:
    """Return some columns at some rows, or at all, in the container of X."""
    if rows is None:
        return _safe_indexing(X, columns, axis=1)
    if isinstance(X, np.ndarray):
        return X[np.ix_(rows, columns)]
    return _safe_indexing(_safe_indexing(X, rows), columns, axis=1)


def column_relevance(X: Any, y: Array, rows: Array | None, *, classification: bool) -> Floats:
    """Return approximately the information in nats that each column has on the target.

    A dense column is cut at its quintiles, and between values and NaN. In a sparse column the
    zeros are one bin, and the correlation with the target counts too.

    Args:
        X: Array, DataFrame or sparse matrix.
        y: Target of all rows.
        rows: Row numbers, or None for all.
        classification: Whether ``y`` has classes.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(200, 3))
        >>> found = column_relevance(X, (X[:, 1] > 0).astype(int), None, classification=True)
        >>> int(found.argmax())
        1
    """
    target = y if rows is None else y[rows]
    codes = np.unique(target, return_inverse=True)[1]
    if not classification:
        codes = bin_vector(target.astype(np.float64), _BINS)
    classes = np.eye(int(codes.max()) + 1, dtype=np.float32)[codes]
    if sparse.issparse(X):
        return _sparse_relevance(X if rows is None else X[rows], classes)
    found = [_information(_cut(block), classes) for block in _blocks(X, rows)]
    return np.concatenate(found)


def _blocks(X: Any, rows: Array | None) -> Iterator[Array]:
    """Yield blocks of columns as features × samples in single precision."""
    n = X.shape[0] if rows is None else len(rows)
    width = max(1, _BLOCK_ENTRIES // n)
    for start in range(0, X.shape[1], width):
        columns = np.arange(start, min(start + width, X.shape[1]))
        if rows is None and isinstance(X, np.ndarray):
            block = X[:, start : start + width]
        else:
            block = take_block(X, rows, columns)
        with np.errstate(over="ignore"):  # values that single precision cannot hold are infinite
            yield np.ascontiguousarray(encode_columns(block)[0].T, dtype=np.float32)


def _cut(block: Array) -> Iterator[Array]:
    """Yield, cut by cut in ascending order, which samples of each feature are above the cut."""
    n = block.shape[1]
    ordered = np.sort(block, axis=1)  # NaN last
    for k in range(1, _BINS):
        edge = ordered[:, k * n // _BINS]
        # A value at the edge is above it, unless it is the smallest one, as zeros often are.
        below = np.where(edge == ordered[:, 0], edge, np.nextafter(edge, np.float32(-np.inf)))
        yield ~(block <= below[:, None])
    yield np.isnan(block)


def _information(cuts: Iterator[Array], classes: Array) -> Floats:
    """Return the mutual information of the bins between cuts and the classes."""
    sizes = classes.sum(axis=0, dtype=np.float64)
    above = None
    joint, alone = np.zeros(1), np.zeros(1)
    for cut in cuts:
        now = (cut.astype(np.float32) @ classes).astype(np.float64)
        bins = np.maximum((sizes if above is None else above) - now, 0.0)
        joint, alone = joint + _xlogx(bins).sum(axis=1), alone + _xlogx(bins.sum(axis=1))
        above = now
    assert above is not None
    joint, alone = joint + _xlogx(above).sum(axis=1), alone + _xlogx(above.sum(axis=1))
    n = sizes.sum()
    found = np.log(n) + (joint - alone - _xlogx(sizes).sum()) / n
    return np.maximum(found, 0.0)


def _xlogx(counts: Floats) -> Floats:
    return counts * np.log(np.maximum(counts, 1.0))


def _sparse_relevance(X: Any, classes: Array) -> Floats:
    values = sparse.csc_array(X, dtype=np.float32, copy=True)
    values.data = np.nan_to_num(values.data)
    n = values.shape[0]
    centered = classes - classes.mean(axis=0)
    covariance = np.asarray(values.T @ centered, dtype=np.float64)
    mean = np.asarray(values.sum(axis=0), dtype=np.float64) / n
    values.data **= 2
    variance = np.asarray(values.sum(axis=0), dtype=np.float64) - n * mean**2
    scale = variance[:, None] * (centered.astype(np.float64) ** 2).sum(axis=0)
    explained = np.divide(covariance**2, scale, where=scale > 0, out=np.zeros_like(scale))
    linear = -0.5 * np.log1p(-np.clip(explained.max(axis=1), 0.0, 1.0 - 1e-9))
    values.data = (values.data != 0).astype(np.float32)
    present = np.asarray(values.T @ classes, dtype=np.float64)
    sizes = classes.sum(axis=0, dtype=np.float64)
    bins = np.stack([present, sizes - present])
    joint, alone = _xlogx(bins).sum(axis=(0, 2)), _xlogx(bins.sum(axis=2)).sum(axis=0)
    presence = np.log(n) + (joint - alone - _xlogx(sizes).sum()) / n
    return np.maximum(presence, linear)
