"""Features that are nearly copies of each other, and selections that avoid them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optuna_mofs._typing import Array, Floats
from optuna_mofs.features._codec import pack_array, unpack_array
from optuna_mofs.filters._data import FilterData

#: Number of stored pairs, and bounds of the number of neighbors per feature that follows from it.
_MAX_PAIRS, _MIN_NEIGHBORS, _MAX_NEIGHBORS = 60_000, 4, 16
#: Squared correlations below this one are treated as 0.
_MIN_SHARE = 0.04
#: Number of features from which the median redundancy is estimated.
_MAX_MEDIAN_FEATURES = 200
#: Correlations in memory at a time: 32 MB.
_BLOCK_ENTRIES = 8_000_000
#: Shares are stored as bytes.
_MAX_BYTE = 255


def nearest_features(
    data: FilterData, groups: Sequence[Sequence[int]] | None = None
) -> tuple[NDArray[np.int64], Floats]:
    """Return the most correlated features of each feature, and the squared correlations.

    It is Pearson's correlation, whose square is the share of variance that a line explains. With
    rank correlations the redundancy penalty improved less, and nothing on skewed columns. The
    correlation of two groups of columns is the largest of their columns.

    Returns:
        Positions and shares, features × neighbors, the nearest first. Shares below 0.04 are 0.
    """
    columns, owner = _grouped_columns(data, groups)
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    p = len(starts)
    width = min(p - 1, int(np.clip(_MAX_PAIRS // p, _MIN_NEIGHBORS, _MAX_NEIGHBORS)))
    others = np.zeros((p, width), dtype=np.int64)
    shares = np.zeros((p, width))
    height = max(1, _BLOCK_ENTRIES // len(columns))
    for first in range(0, p if width else 0, height):
        last = min(first + height, p)
        end = starts[last] if last < p else len(columns)
        inside = starts[first:last] - starts[first]
        square = (columns[starts[first] : end] @ columns.T) ** 2
        if len(columns) > p:
            square = np.maximum.reduceat(square, inside, axis=0)
            square = np.maximum.reduceat(square, starts, axis=1)
        square[np.arange(last - first), np.arange(first, last)] = -1.0
        near = np.argpartition(-square, width - 1, axis=1)[:, :width]
        near.sort(axis=1)  # so that equal shares are in order of position
        by_share = np.argsort(-np.take_along_axis(square, near, axis=1), axis=1, kind="stable")
        others[first:last] = np.take_along_axis(near, by_share, axis=1)
        shares[first:last] = np.take_along_axis(square, others[first:last], axis=1)
    shares[shares < _MIN_SHARE] = 0.0
    return others, np.minimum(shares, 1.0)


def median_redundancy(data: FilterData, groups: Sequence[Sequence[int]] | None = None) -> float:
    """Return the median, over features, of the largest squared correlation with another feature.

    With more than 200 features, 200 evenly spaced ones are compared with all others.
    """
    columns, owner = _grouped_columns(data, groups)
    chosen = np.unique(np.linspace(0, owner[-1], _MAX_MEDIAN_FEATURES).astype(np.int64))
    own = np.flatnonzero(np.isin(owner, chosen))
    largest = np.zeros(len(own))
    width = max(1, _BLOCK_ENTRIES // len(own))
    for start in range(0, len(columns), width):
        part = slice(start, start + width)
        square = (columns[own] @ columns[part].T) ** 2
        square[owner[own][:, None] == owner[part]] = 0.0
        np.maximum(largest, square.max(axis=1), out=largest)
    shares = np.maximum.reduceat(largest, np.searchsorted(owner[own], chosen))
    return min(1.0, round(float(np.median(shares)), 6))


def _grouped_columns(
    data: FilterData, groups: Sequence[Sequence[int]] | None
) -> tuple[NDArray[np.float32], Array]:
    """Return the columns of each feature, scaled to length 1, and the feature of each column."""
    members = [np.atleast_1d(g) for g in groups or range(data.n_features)]
    columns = np.concatenate([_unit_length(block) for _, block in data.blocks()])
    owner = np.repeat(np.arange(len(members)), [len(m) for m in members])
    return columns if groups is None else columns[np.concatenate(members)], owner


def _unit_length(rows: Floats) -> NDArray[np.float32]:
    """Center each row and scale it to length 1; constant rows become 0."""
    centered = rows - rows.mean(axis=1, keepdims=True)
    length = np.sqrt((centered**2).sum(axis=1, keepdims=True))
    # The mean of a constant row is rounded, so its length need not be exactly 0.
    constant = length <= 1e-9 * np.abs(rows).max(axis=1, keepdims=True)
    return np.where(constant, 0.0, centered / np.where(constant, 1.0, length)).astype(np.float32)


@dataclass(frozen=True, eq=False)
class Similarity:
    """The most similar other features of each feature.

    Args:
        others: Positions, features × neighbors.
        shares: Share of a feature's variance that the neighbor explains, in [0, 1]; 0 where there
            are fewer neighbors.

    Example:
        >>> twins = Similarity(np.array([[1], [0], [0]]), np.array([[1.0], [1.0], [0.0]]))
        >>> select_non_redundant(np.array([0.9, 0.8, 0.5]), 2, penalty=1.0, similar=twins)
        [0, 2]
    """

    others: Array
    shares: Array

    def __post_init__(self) -> None:
        p = len(self.others)
        if self.others.shape != self.shares.shape or self.others.ndim != 2:
            raise ValueError(
                "others and shares must have the same shape (features, neighbors), "
                f"got {self.others.shape} and {self.shares.shape}."
            )
        if self.others.size and not (self.others.min() >= 0 and self.others.max() < p):
            raise ValueError(f"others must be positions in 0..{p - 1}, got {self.others.max()}.")
        if self.shares.size and not (self.shares.min() >= 0 and self.shares.max() <= 1):
            raise ValueError(
                f"shares must be in [0, 1], got {self.shares.min()} to {self.shares.max()}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return JSON values, with shares rounded to multiples of 1 / 255."""
        rounded = np.rint(self.shares * _MAX_BYTE).astype("u1")
        return {
            "shape": list(self.others.shape),
            "others": pack_array(self.others.astype("<u4")),
            "shares": pack_array(rounded),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Similarity:
        """Return the object that :meth:`to_json` described."""
        n_rows, n_columns = data["shape"]
        count = n_rows * n_columns
        others = unpack_array(data["others"], "<u4", count).astype(np.int64)
        shares = unpack_array(data["shares"], "u1", count) / _MAX_BYTE
        return cls(others.reshape(n_rows, n_columns), shares.reshape(n_rows, n_columns))


def select_non_redundant(
    score: Array,
    count: int,
    *,
    penalty: float,
    similar: Similarity,
    fixed: Iterable[int] = (),
) -> list[int]:
    """Select features greedily by score, with a penalty for those similar to selected ones.

    The penalized score is ``score * (1 - penalty * share)``, where ``share`` is the largest share
    of the feature's variance that a selected feature explains: the trade-off between relevance and
    redundancy of mRMR (Peng, Long, Ding 2005), for any score and with a tunable penalty.

    Args:
        score: Score of each feature, at least 0, higher is better; NaN if it cannot be selected.
        count: Number of features to select.
        penalty: Share of its score that a copy of a selected feature loses, from 0 to 1.
        similar: The most similar features of each feature.
        fixed: Positions of features that are already selected.

    Returns:
        Positions in the order of selection.
    """
    taken = set(fixed)
    # Only neighbors of a selected feature are penalized, which bounds the features that matter.
    reach = (count + len(taken)) * (1 + similar.others.shape[1])
    unpenalized = iter(best_first(score, reach).tolist())
    # Negated penalized scores; heap entries that differ from them are outdated.
    penalized: dict[int, float] = {}
    heap: list[tuple[float, int]] = []
    chosen: list[int] = []

    def penalize_neighbors(j: int) -> None:
        near, shares = similar.others[j], similar.shares[j]
        values = -_penalized(score[near], penalty, shares)
        for other, share, now in zip(near.tolist(), shares.tolist(), values.tolist()):
            if share == 0 or other in taken:
                continue
            if now > penalized.get(other, -np.inf):
                penalized[other] = now
                heappush(heap, (now, other))

    for j in sorted(taken):
        penalize_neighbors(j)
    upcoming = next(unpenalized, None)
    while len(chosen) < count:
        while upcoming is not None and upcoming in penalized:
            upcoming = next(unpenalized, None)
        while heap and (heap[0][1] in taken or heap[0][0] != penalized[heap[0][1]]):
            heappop(heap)
        if upcoming is None and not heap:
            break
        if upcoming is None or (heap and heap[0] < (-float(score[upcoming]), upcoming)):
            j = heappop(heap)[1]
        else:
            j, upcoming = upcoming, next(unpenalized, None)
        chosen.append(j)
        taken.add(j)
        penalize_neighbors(j)
    return chosen


def best_first(score: Array, count: int) -> Array:
    """Return the positions of the highest scores, ties by position, without NaN.

    Example:
        >>> best_first(np.array([0.5, np.nan, 0.9, 0.5]), 2).tolist()
        [2, 0]
    """
    known = np.flatnonzero(~np.isnan(score))
    if count < len(known):
        # Only the highest are sorted: sorting ten thousand scores is the slowest part.
        last = len(known) - count
        lowest = np.partition(score[known], last)[last] if count else np.inf
        known = known[score[known] >= lowest]
    return known[np.argsort(-score[known], kind="stable")][:count]


#: In batches, features after the first 32 of a set are compared with these 32 only.
_MAX_BATCH_STEPS = 32


class BatchSelection:
    """Apply :func:`select_non_redundant` to many scores at once.

    The result is the same for sets of at most 32 features. From the 33rd on, a feature is compared
    with the first 32 only, which bounds the number of steps.

    Args:
        similar: The most similar features of each feature.
        features: Positions of the features to select from.
        fixed: Positions of the features that are in every set.
    """

    def __init__(self, similar: Similarity, features: Array, fixed: Iterable[int] = ()) -> None:
        position = np.full(len(similar.others), -1)
        position[features] = np.arange(len(features))
        others, shares = position[similar.others[features]], similar.shares[features]
        is_similar = (others >= 0) & (shares > 0)
        # A neighbor that cannot be selected is replaced by the feature itself.
        self._others = np.where(is_similar, others, np.arange(len(features))[:, None])
        self._shares = np.where(is_similar, shares, 0.0)
        # Shares with the features that are in every set.
        self._fixed_shares = np.zeros(len(features))
        for j in fixed:
            near = position[similar.others[j]]
            np.maximum.at(self._fixed_shares, near[near >= 0], similar.shares[j][near >= 0])

    def __call__(self, scores: Array, counts: Array, penalties: Array) -> Array:
        """Return one mask per row of scores (sets × features, at least 0, the highest best)."""
        return self.order(scores, penalties, int(counts.max(initial=0))) < counts[:, None]

    def order(self, scores: Array, penalties: Array, n_steps: int) -> Array:
        """Return the place of each feature in the order of selection, the first 0, per row.

        It holds for the first ``n_steps`` selections; later features have larger numbers.
        Smaller sets are part of larger ones.
        """
        lines, penalties = np.arange(len(scores)), penalties[:, None]
        shared = np.tile(self._fixed_shares, (len(scores), 1))
        value = _penalized(scores, penalties, shared)
        places = np.full(value.shape, -1)
        for step in range(min(_MAX_BATCH_STEPS, n_steps, value.shape[1])):
            best = value.argmax(axis=1)
            places[lines, best] = step
            value[lines, best] = -np.inf
            at = lines[:, None], self._others[best]
            shared[at] = np.maximum(shared[at], self._shares[best])
            now = _penalized(scores[at], penalties, shared[at])
            value[at] = np.where(places[at] >= 0, -np.inf, now)
        if n_steps <= _MAX_BATCH_STEPS:
            return np.where(places >= 0, places, value.shape[1])
        # The selected features come last here, in places that are not used.
        rest = _places(-value)
        n_selected = (places >= 0).sum(axis=1, keepdims=True)
        return np.where(places >= 0, places, n_selected + rest)


def selection_order(
    selection: BatchSelection | None, scores: Array, penalties: Array, n_steps: int
) -> Array:
    """Return :meth:`BatchSelection.order`, or the order of the scores without a selection."""
    if selection is not None:
        return selection.order(scores, penalties, n_steps)
    return _places(-scores)


def _places(values: Array) -> Array:
    """Return the place of each value in its row, the lowest 0, ties by position."""
    order = np.argsort(values, axis=1, kind="stable")
    places = np.empty_like(order)
    np.put_along_axis(places, order, np.arange(values.shape[1])[None], axis=1)
    return places


def _penalized(scores: Array, penalties: Array | float, shared: Array) -> Array:
    # Rounded, so that the last bit of a product does not decide between copies.
    return np.round(scores * (1 - penalties * shared), 12)


def top_masks(scores: Array, counts: Array) -> Array:
    """Return one mask per row with the ``counts`` highest scores, ties by position.

    Example:
        >>> top_masks(np.array([[0.5, 0.9, 0.5]]), np.array([2])).tolist()
        [[True, True, False]]
    """
    n, p = scores.shape
    counts = np.minimum(counts, p)
    # Infinity is the threshold of rows in which nothing is selected.
    ascending = np.column_stack([np.sort(scores, axis=1), np.full(n, np.inf)])
    least = ascending[np.arange(n), p - counts][:, None]
    found: Array = (scores >= least) & (counts > 0)[:, None]
    for i in np.flatnonzero(found.sum(axis=1) > counts):
        ties = np.flatnonzero(scores[i] == least[i])
        found[i, ties[len(ties) - (found[i].sum() - counts[i]) :]] = False
    return found
