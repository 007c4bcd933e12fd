"""All feature sets tried so far, with the statistics of Algorithm 2, updated incrementally."""

from __future__ import annotations

from typing import Any

import numpy as np

from optuna_mofs._typing import Array


class Archive:
    """Distinct masks, the best trial of each, and how they overlap.

    Adding a set compares it with all others once (bit operations on packed words) and updates
    crowding, leave-one-out counts and subset pairs. Nothing depends on the order in which sets are
    added. The paper's matrix of all pairs is not needed: the crowding index is a running sum, and
    only the pairs of a set and its subset are stored.

    Example:
        >>> archive = Archive(3)
        >>> for mask, loss in ([1, 1, 0], 0.5), ([1, 0, 0], 0.7), ([0, 1, 0], 0.9):
        ...     position = archive.add(np.packbits(mask), loss, number=len(archive))
        >>> archive.inert.tolist()  # both leave-one-out sets of the first set are there
        [True, False, False]
    """

    def __init__(self, n_features: int) -> None:
        self.n_features = n_features
        # Words × sets: a test of all sets takes a few operations on long rows.
        self._words = np.zeros((max(1, (n_features + 63) // 64), 64), dtype=np.uint64)
        self._sizes = np.zeros(64, dtype=np.int64)
        self._losses = np.zeros(64)
        self._numbers = np.zeros(64, dtype=np.int64)
        self._overlaps = np.zeros(64, dtype=np.int64)
        self._n_leave_one_out = np.zeros(64, dtype=np.int64)
        self._pairs = np.zeros((2, 64), dtype=np.int32)
        self._n_pairs_before = np.zeros(65, dtype=np.int64)
        self._position: dict[bytes, int] = {}
        #: Number of features of each set.
        self.sizes = self._sizes[:0]
        #: Lowest loss of each set.
        self.losses = self._losses[:0]
        #: Number of the trial with the lowest loss of each set.
        self.numbers = self._numbers[:0]
        #: Positions of sets whose loss improved after they were added, in order of the changes.
        self.revised: list[int] = []

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def crowding(self) -> Array:
        """Crowding index of each set (eq. 5)."""
        return self._overlaps[: len(self.sizes)] / np.maximum(1, self.sizes)

    @property
    def inert(self) -> Array:
        """Which sets have all their leave-one-out sets in the archive."""
        n_there = self._n_leave_one_out[: len(self.sizes)]
        return (n_there == self.sizes) & (self.sizes > 0)

    def masks(self, positions: Any) -> Array:
        """Return the sets at some positions as a boolean matrix, or the one at a position."""
        packed = np.ascontiguousarray(self._words[:, positions].T).view(np.uint8)
        return np.unpackbits(packed, axis=-1, count=self.n_features).view(bool)

    def position(self, mask: Array) -> int | None:
        """Return the position of a set, or None if it is not in the archive."""
        return self._position.get(np.packbits(mask).tobytes())

    def leave_one_out(self, position: int) -> Array:
        """Return the positions of the leave-one-out sets of a set that are in the archive."""
        smaller = np.flatnonzero(self.sizes == self._sizes[position] - 1)
        common = _n_common(self._words[:, position], self._words[:, smaller])
        return smaller[common == self._sizes[smaller]]

    def contains(self, positions: Array, others: Array) -> Array:
        """Return which sets (rows) contain which other sets (columns)."""
        missing = self._words[:, others][:, None, :] & ~self._words[:, positions][:, :, None]
        return np.bitwise_or.reduce(missing, axis=0) == 0

    def dissimilarity(self, position: int, others: Array) -> Array:
        """Return the dissimilarity of a set to others (eq. 1): 0 if equal, 1 if disjoint."""
        scale = np.sqrt(np.maximum(1, self._sizes[position] * self._sizes[others]))
        common = _n_common(self._words[:, position], np.take(self._words, others, axis=1))
        return 1 - common / scale

    def add(self, packed: Array, loss: float, number: int) -> int:
        """Add a trial, its mask packed by ``np.packbits``, and return the position of its set."""
        key = packed.tobytes()
        position = self._position.get(key)
        if position is None:
            position = self._insert(packed, loss, number)
            self._position[key] = position
        elif (loss, number) < (self._losses[position], self._numbers[position]):
            self._losses[position], self._numbers[position] = loss, number
            self.revised.append(position)
        return position

    def pairs(self, since: int = 0) -> Array:
        """Return two rows: positions of sets and, below them, of their supersets.

        Pairs of sets that are both before position ``since`` are left out.
        """
        end = self._n_pairs_before[len(self.sizes)]
        return self._pairs[:, self._n_pairs_before[since] : end]

    def _insert(self, packed: Array, loss: float, number: int) -> int:
        n = len(self.sizes)
        if n == len(self._sizes):
            self._grow()
        row = np.zeros(len(self._words) * 8, dtype=np.uint8)
        row[: len(packed)] = packed
        self._words[:, n] = row.view(np.uint64)
        size = int(np.count_nonzero(np.unpackbits(packed, count=self.n_features)))
        sizes = self._sizes[:n]
        common = _n_common(self._words[:, n], self._words[:, :n])
        inner, outer = np.flatnonzero(common == sizes), np.flatnonzero(common == size)
        # The pairs with subsets, then those with supersets.
        begin = int(self._n_pairs_before[n])
        middle = begin + len(inner)
        end = middle + len(outer)
        while end > self._pairs.shape[1]:
            self._pairs = _doubled(self._pairs)
        self._pairs[0, begin:middle], self._pairs[1, begin:middle] = inner, n
        self._pairs[0, middle:end], self._pairs[1, middle:end] = n, outer
        self._n_pairs_before[n + 1] = end
        self._n_leave_one_out[outer] += sizes[outer] == size + 1
        self._n_leave_one_out[n] = np.count_nonzero(sizes[inner] == size - 1)
        self._overlaps[:n] += common
        self._overlaps[n] = common.sum() + size
        self._sizes[n], self._losses[n], self._numbers[n] = size, loss, number
        self.sizes, self.losses = self._sizes[: n + 1], self._losses[: n + 1]
        self.numbers = self._numbers[: n + 1]
        return n

    def _grow(self) -> None:
        for name in (
            "_words", "_sizes", "_losses", "_numbers", "_overlaps", "_n_leave_one_out",
            "_n_pairs_before",
        ):  # fmt: skip
            setattr(self, name, _doubled(getattr(self, name)))


def _doubled(array: Array) -> Array:
    """Return the array with as many columns of zeros appended."""
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


def _n_common(words: Array, others: Array) -> Array:
    """Return how many bits one packed set shares with each of several, words × sets."""
    return np.bitwise_count(words[:, None] & others).sum(axis=0, dtype=np.int64)


class Dominance:
    """Flags of dominated sets; each update compares only pairs that may have changed.

    A lower best loss changes the cost of all sets, but not which of a set and its subset has the
    lower loss: a subset that is not worse dominates at any penalty. Only sets without such a
    subset are therefore compared again.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        #: Whether each set is dominated.
        self.flags = np.zeros(0, dtype=bool)
        self._at_any_penalty = np.zeros(0, dtype=bool)
        self._best = np.inf
        self._n_revised = 0

    def update(self, cost: Array) -> None:
        """Compare the sets that were added or changed since the last update.

        ``cost`` must be a function of size, loss and best loss that increases with the first two.
        """
        archive, known = self._archive, len(self.flags)
        losses = archive.losses
        added = np.zeros(len(losses) - known, dtype=bool)
        self.flags = np.concatenate([self.flags, added])
        self._at_any_penalty = np.concatenate([self._at_any_penalty, added])
        every, pairs = archive.pairs(), [archive.pairs(since=known)]
        for position in set(archive.revised[self._n_revised :]):
            self.flags[position] = self._at_any_penalty[position] = False
            pairs.append(every[:, (every == position).any(axis=0)])
        inner, outer = np.concatenate(pairs, axis=1)
        self._at_any_penalty[outer[losses[inner] <= losses[outer]]] = True
        best = float(losses.min())
        if best != self._best:
            inner, outer = every
            again = np.flatnonzero(~self._at_any_penalty[outer])
            inner, outer = inner[again], outer[again]
            self.flags = self._at_any_penalty.copy()
        self.flags[outer[cost[inner] <= cost[outer]]] = True
        self._best, self._n_revised = best, len(archive.revised)
