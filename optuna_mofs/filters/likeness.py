"""How much features have in common, whatever the target."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from optuna_mofs._typing import Floats
from optuna_mofs.filters.data import FilterData

#: Neighbours of a feature: as many as this many pairs allow, within these bounds.
_PAIRS, _FEWEST, _MOST = 60_000, 4, 16
#: Less than this share says nothing.
_LEAST = 0.04
#: Features that stand for all when only the middle one is asked for.
_SPREAD = 200
#: Correlations held at a time: 32 MB.
_BLOCK_ENTRIES = 8_000_000


def nearest_features(
    data: FilterData, groups: Sequence[Sequence[int]] | None = None
) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The features most like each feature, and the squared correlation with them.

    Pearson's, the share of variance that a line explains. By rank correlation the penalty of
    redundancy helped less, on skewed columns not at all.

    Args:
        data: Prepared data.
        groups: Columns of each feature; by default each column is one. Two groups are as alike as
            their most alike columns.

    Returns:
        Positions and shares, features × neighbours, the nearest first. Shares below 0.04 are 0.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(90, 2))
        >>> data = FilterData(np.column_stack([X, -2 * X[:, 0]]), X[:, 1] > 0)
        >>> others, shares = nearest_features(data)
        >>> int(others[0, 0]), round(float(shares[0, 0]), 6)
        (2, 1.0)
    """
    members = [np.atleast_1d(g) for g in groups or range(data.n_features)]
    order = np.concatenate(members)
    starts = np.cumsum([0, *map(len, members[:-1])])
    columns = np.concatenate([_unit_length(block) for _, block in data.blocks()])[order]
    p = len(members)
    width = min(p - 1, int(np.clip(_PAIRS // p, _FEWEST, _MOST)))
    others = np.zeros((p, width), dtype=np.int64)
    shares = np.zeros((p, width))
    height = max(1, _BLOCK_ENTRIES // len(order))
    for first in range(0, p if width else 0, height):
        last = min(first + height, p)
        end = starts[last] if last < p else len(order)
        inside = starts[first:last] - starts[first]
        square = (columns[starts[first] : end] @ columns.T) ** 2
        if len(order) > p:
            square = np.maximum.reduceat(square, inside, axis=0)
            square = np.maximum.reduceat(square, starts, axis=1)
        square[np.arange(last - first), np.arange(first, last)] = -1.0
        near = np.argpartition(-square, width - 1, axis=1)[:, :width]
        near.sort(axis=1)  # so that those of equal share are by position
        by_share = np.argsort(-np.take_along_axis(square, near, axis=1), axis=1, kind="stable")
        others[first:last] = np.take_along_axis(near, by_share, axis=1)
        shares[first:last] = np.take_along_axis(square, others[first:last], axis=1)
    shares[shares < _LEAST] = 0.0
    return others, np.minimum(shares, 1.0)


def typical_share(data: FilterData, groups: Sequence[Sequence[int]] | None = None) -> float:
    """What the middle one of the features has in common with the one most like it.

    Of many features a spread of 200 is looked at, each beside all others.

    Args:
        data: Prepared data.
        groups: Columns of each feature; by default each column is one.

    Returns:
        A squared correlation, as in :func:`nearest_features`.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(90, 2))
        >>> typical_share(FilterData(np.hstack([X, X]), X[:, 0] > 0))
        1.0
    """
    members = [np.atleast_1d(g) for g in groups or range(data.n_features)]
    order = np.concatenate(members)
    owner = np.repeat(np.arange(len(members)), [len(m) for m in members])
    columns = np.concatenate([_unit_length(block) for _, block in data.blocks()])[order]
    shares = []
    for j in np.unique(np.linspace(0, len(members) - 1, _SPREAD).astype(np.int64)):
        own = owner == j
        square = (columns[own] @ columns[~own].T) ** 2
        shares.append(float(square.max(initial=0.0)))
    return min(1.0, round(float(np.median(shares)), 6))


def _unit_length(rows: Floats) -> NDArray[np.float32]:
    """Rows around their mean, each of length 1; constant ones are 0."""
    centred = rows - rows.mean(axis=1, keepdims=True)
    length = np.sqrt((centred**2).sum(axis=1, keepdims=True))
    # Less than the rounding of the mean leaves of a constant.
    flat = length <= 1e-9 * np.abs(rows).max(axis=1, keepdims=True)
    return np.where(flat, 0.0, centred / np.where(flat, 1.0, length)).astype(np.float32)
