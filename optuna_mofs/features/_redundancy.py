"""Features that are nearly copies of each other, and a choice that avoids them."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from typing import Any

import numpy as np
from numpy.typing import NDArray

from optuna_mofs._typing import Array, Floats
from optuna_mofs.filters._data import FilterData

#: Neighbors of a feature: as many as this many pairs allow, within these bounds.
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
        Positions and shares, features × neighbors, the nearest first. Shares below 0.04 are 0.

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


def median_redundancy(data: FilterData, groups: Sequence[Sequence[int]] | None = None) -> float:
    """What the middle one of the features has in common with the one most like it.

    Of many features a spread of 200 is looked at, each beside all others.

    Args:
        data: Prepared data.
        groups: Columns of each feature; by default each column is one.

    Returns:
        A squared correlation, as in :func:`nearest_features`.

    Example:
        >>> X = np.random.default_rng(0).normal(size=(90, 2))
        >>> median_redundancy(FilterData(np.hstack([X, X]), X[:, 0] > 0))
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


#: Shares are kept as bytes.
_STEPS = 255


@dataclass(frozen=True, eq=False)
class Similarity:
    """For each feature the others that are most like it, and how much they share.

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
                f"others and shares must have one shape (features, neighbors), "
                f"but have {self.others.shape} and {self.shares.shape}."
            )
        if self.others.size and not (self.others.min() >= 0 and self.others.max() < p):
            raise ValueError(f"others must hold positions in 0..{p - 1}.")
        if self.shares.size and not (self.shares.min() >= 0 and self.shares.max() <= 1):
            raise ValueError(
                f"shares must lie in [0, 1], but go from {self.shares.min()} "
                f"to {self.shares.max()}."
            )

    def to_json(self) -> dict[str, Any]:
        """Everything as JSON values, the shares to a 255th."""
        kept = np.rint(self.shares * _STEPS).astype("u1")
        return {
            "shape": list(self.others.shape),
            "others": _packed(self.others.astype("<u4")),
            "shares": _packed(kept),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Similarity:
        """The inverse of :meth:`to_json`."""
        shape = tuple(data["shape"])
        others = np.frombuffer(_unpacked(data["others"]), dtype="<u4").astype(np.int64)
        shares = np.frombuffer(_unpacked(data["shares"]), dtype="u1") / _STEPS
        return cls(others.reshape(shape), shares.reshape(shape))


def select_non_redundant(
    score: Array,
    count: int,
    *,
    penalty: float,
    similar: Similarity,
    fixed: Iterable[int] = (),
) -> list[int]:
    """Positions of the best features, one after the other, each apart from those before.

    A feature's score is worth ``score * (1 - penalty * share)``, where ``share`` is what the
    feature chosen so far that is most like it explains: the trade of relevance and redundancy of
    mRMR (Peng, Long, Ding 2005), on any score and with a penalty to search for.

    Args:
        score: Of each feature, at least 0, the highest best; NaN for those not to choose from.
        count: How many to choose.
        penalty: What a copy of a chosen feature loses, from 0 (nothing) to 1 (everything).
        similar: The features' neighbors.
        fixed: Positions of the features that are chosen already.
    """
    taken = set(fixed)
    # A chosen feature touches only its neighbors: no more are chosen or passed over.
    reach = (count + len(taken)) * (1 + similar.others.shape[1])
    untouched = iter(best_first(score, reach).tolist())
    # Worth of features like a chosen one, as in the heap; what it held before is out of date.
    worth: dict[int, float] = {}
    heap: list[tuple[float, int]] = []
    chosen: list[int] = []

    def take(j: int) -> None:
        for other, share in zip(similar.others[j].tolist(), similar.shares[j].tolist()):
            if share == 0 or other in taken:
                continue
            # Rounded, so that the last bit of a product does not decide between copies.
            now = -round(float(score[other]) * (1 - penalty * share), 12)
            if now > worth.get(other, -np.inf):
                worth[other] = now
                heappush(heap, (now, other))

    for j in sorted(taken):
        take(j)
    upcoming = next(untouched, None)
    while len(chosen) < count:
        while upcoming is not None and upcoming in worth:
            upcoming = next(untouched, None)
        while heap and (heap[0][1] in taken or heap[0][0] != worth[heap[0][1]]):
            heappop(heap)
        if upcoming is None and not heap:
            break
        if upcoming is None or (heap and heap[0] < (-float(score[upcoming]), upcoming)):
            j = heappop(heap)[1]
        else:
            j, upcoming = upcoming, next(untouched, None)
        chosen.append(j)
        taken.add(j)
        take(j)
    return chosen


def best_first(score: Array, count: int) -> Array:
    """Positions of the highest scores, ties by position; NaN is none.

    Example:
        >>> best_first(np.array([0.5, np.nan, 0.9, 0.5]), 2).tolist()
        [2, 0]
    """
    there = np.flatnonzero(~np.isnan(score))
    if count < len(there):
        # Sorting all of ten thousand features takes longer than the rest.
        least = (
            np.partition(score[there], len(there) - count)[len(there) - count] if count else np.inf
        )
        there = there[score[there] >= least]
    found: Array = there[np.argsort(-score[there], kind="stable")][:count]
    return found


#: In batches, features after the first 32 of a set are compared with these 32 only.
_MAX_BATCH_STEPS = 32


class BatchSelection:
    """Apply :func:`select_non_redundant` to many scores at once.

    The result is the same for sets of at most 32 features. From the 33rd on, a feature is compared
    with the first 32 only, which bounds the number of steps.

    Args:
        similar: Similar features of each feature.
        features: Positions of the features to choose from.
        fixed: Positions of the features that are in every set.
    """

    def __init__(self, similar: Similarity, features: Array, fixed: Iterable[int] = ()) -> None:
        position = np.full(len(similar.others), -1)
        position[features] = np.arange(len(features))
        others, shares = position[similar.others[features]], similar.shares[features]
        is_similar = (others >= 0) & (shares > 0)
        # A neighbor that cannot be chosen is replaced by the feature itself, which is taken.
        self._others = np.where(is_similar, others, np.arange(len(features))[:, None])
        self._shares = np.where(is_similar, shares, 0.0)
        # Shares with the features that are in every set.
        self._fixed_shares = np.zeros(len(features))
        for j in fixed:
            near = position[similar.others[j]]
            np.maximum.at(self._fixed_shares, near[near >= 0], similar.shares[j][near >= 0])

    def __call__(self, scores: Array, counts: Array, penalties: Array) -> Array:
        """Return one mask per row of scores.

        Args:
            scores: Sets × features, at least 0, the highest best.
            counts: Number of features of each set.
            penalties: Penalty of each set.
        """
        # The largest sets first: those that still grow are then a block.
        order = np.argsort(-counts, kind="stable")
        scores, penalties = scores[order], penalties[order, None]
        shared = np.tile(self._fixed_shares, (len(scores), 1))
        value = _penalized(scores, penalties, shared)
        chosen = np.zeros(value.shape, dtype=bool)
        steps = min(_MAX_BATCH_STEPS, int(counts.max(initial=0)), value.shape[1])
        for growing in np.searchsorted(-counts[order], -np.arange(steps), side="left"):
            lines = np.arange(growing)
            best = value[:growing].argmax(axis=1)
            chosen[lines, best] = True
            at = lines[:, None], self._others[best]
            shared[at] = np.maximum(shared[at], self._shares[best])
            now = _penalized(scores[at], penalties[:growing], shared[at])
            value[at] = np.where(chosen[at], -np.inf, now)
            value[lines, best] = -np.inf
        value[chosen] = np.inf
        found = np.empty_like(chosen)
        found[order] = top_masks(value, counts[order])
        return found


def _penalized(scores: Array, penalties: Array, shared: Array) -> Array:
    # Rounded, so that the last bit of a product does not decide between copies.
    value: Array = np.round(scores * (1 - penalties * shared), 12)
    return value


def top_masks(scores: Array, counts: Array) -> Array:
    """Mark the highest scores of each row, as many as counted, ties by position.

    Example:
        >>> top_masks(np.array([[0.5, 0.9, 0.5]]), np.array([2])).tolist()
        [[True, True, False]]
    """
    n, p = scores.shape
    counts = np.minimum(counts, p)
    # Above all scores, for rows of which nothing is chosen.
    ascending = np.column_stack([np.sort(scores, axis=1), np.full(n, np.inf)])
    least = ascending[np.arange(n), p - counts][:, None]
    found: Array = (scores >= least) & (counts > 0)[:, None]
    for i in np.flatnonzero(found.sum(axis=1) > counts):
        ties = np.flatnonzero(scores[i] == least[i])
        found[i, ties[len(ties) - (found[i].sum() - counts[i]) :]] = False
    return found


def _packed(values: Array) -> str:
    return base64.b64encode(zlib.compress(values.tobytes(), 6)).decode("ascii")


def _unpacked(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))
