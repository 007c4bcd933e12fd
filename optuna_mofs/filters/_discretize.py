"""Ranks and bins of all columns, from one sort."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from optuna_mofs._typing import Bools, Floats

MAX_BINS = 100  # two levels per bin and one for NaN fit into a byte


class SortedColumns(NamedTuple):
    """Results of one sort of a block of columns (features × samples).

    Attributes:
        ranks: Average ranks from 0; NaN is ranked last, and its ranks have no meaning.
        dense: Number of distinct smaller values; no meaning for NaN.
        n_valid: Number of values that are not NaN, per column.
        distinct: Number of distinct values that are not NaN, per column.
    """

    ranks: Floats
    dense: NDArray[np.int64]
    n_valid: NDArray[np.int64]
    distinct: NDArray[np.int64]


def sort_columns(block: Floats) -> SortedColumns:
    """Rank each row of ``block`` (one feature per row), ties averaged."""
    m, n = block.shape
    order = np.argsort(block, axis=1)
    ordered = np.take_along_axis(block, order, axis=1)
    new = np.ones((m, n), dtype=bool)
    np.not_equal(ordered[:, 1:], ordered[:, :-1], out=new[:, 1:])
    n_valid = n - np.isnan(block).sum(axis=1)
    position = np.arange(n)
    distinct = (new & (position < n_valid[:, None])).sum(axis=1)
    dense_sorted = np.cumsum(new, axis=1) - 1
    if new.all():
        rank_sorted = np.broadcast_to(position.astype(np.float64), (m, n))
    else:
        first = np.maximum.accumulate(np.where(new, position, 0), axis=1)
        ends = np.ones((m, n), dtype=bool)
        ends[:, :-1] = new[:, 1:]
        last = np.minimum.accumulate(np.where(ends, position, n - 1)[:, ::-1], axis=1)[:, ::-1]
        rank_sorted = (first + last) / 2.0
    ranks = np.empty((m, n))
    dense = np.empty((m, n), dtype=np.int64)
    np.put_along_axis(ranks, order, rank_sorted, axis=1)
    np.put_along_axis(dense, order, dense_sorted, axis=1)
    return SortedColumns(ranks, dense, n_valid, distinct)


def bin_columns(
    block: Floats,
    in_order: SortedColumns,
    bins: int,
    nominal: Bools | None = None,
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Discretize each row of ``block`` into equal-frequency bins.

    A column with at most ``2 * bins`` distinct values keeps them. Tied values always share a bin,
    that of the middle of the tie, so that a frequent value at either end of the range has a bin of
    its own. A nominal column with more levels keeps the most frequent ones and merges the others.
    NaN is a level of its own.

    Args:
        block: Features × samples, NaN allowed.
        in_order: :func:`sort_columns` of the same block.
        bins: Number of bins.
        nominal: Which features are nominal.

    Returns:
        Codes of shape features × samples, and the number of levels per feature.
    """
    keep = 2 * bins
    few = in_order.distinct <= keep
    middle = (in_order.ranks + 0.5) / np.maximum(in_order.n_valid, 1)[:, None]
    binned = np.minimum(middle * bins, bins - 1)  # NaN is ranked after the last bin
    codes = np.where(few[:, None], np.minimum(in_order.dense, keep), binned).astype(np.uint8)
    levels = np.where(few, in_order.distinct, bins)
    if nominal is not None:
        for k in np.flatnonzero(nominal & ~few):
            count = np.bincount(in_order.dense[k, ~np.isnan(block[k])])
            code_of = np.full(block.shape[1] + 1, keep - 1, dtype=np.uint8)
            code_of[np.argsort(-count, kind="stable")[: keep - 1]] = np.arange(keep - 1)
            codes[k] = code_of[in_order.dense[k]]
            levels[k] = keep
    missing = np.isnan(block)
    codes[missing] = np.broadcast_to(levels[:, None], block.shape)[missing]
    levels = levels + missing.any(axis=1)
    return codes, levels


def bin_vector(values: Floats, bins: int) -> NDArray[np.int64]:
    """Discretize one vector without NaN into codes 0, 1, … without gaps.

    Example:
        >>> import numpy as np
        >>> bin_vector(np.arange(12.0), 3).tolist()
        [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2]
    """
    block = values[None, :]
    codes, _ = bin_columns(block, sort_columns(block), bins)
    return np.unique(codes[0], return_inverse=True)[1].astype(np.int64)
