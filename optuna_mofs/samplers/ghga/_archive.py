"""All feature sets tried so far, with what Algorithm 2 must know of each, kept incrementally."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array


class Archive:
    """Distinct masks, the best trial of each, and how they overlap.

    Adding a set compares it with all others once (bit operations on packed words) and updates what
    is asked of each set: crowding, leave-one-out sets present, subset pairs. Nothing depends on
    the order in which sets are added. The matrix of pairs that the paper keeps is not needed: the
    crowding index is a running sum, and of all pairs only those of a set and its subset are kept.

    Args:
        p: Number of free features.

    Example:
        >>> archive = Archive(3)
        >>> for mask, loss in ([1, 1, 0], 0.5), ([1, 0, 0], 0.7), ([0, 1, 0], 0.9):
        ...     archive.add(np.packbits(mask), loss, number=len(archive))
        >>> archive.inert.tolist()  # both sets with one feature less than the first are there
        [True, False, False]
    """

    def __init__(self, p: int) -> None:
        self.p = p
        self._bytes = (p + 7) // 8
        self._width = max(1, (p + 63) // 64)
        self._count = 0
        # Words × sets: a test of all sets is a few operations on long rows.
        self._words = np.zeros((self._width, 64), dtype=np.uint64)
        self._sizes = np.zeros(64, dtype=np.int64)
        self._losses = np.zeros(64)
        self._numbers = np.zeros(64, dtype=np.int64)
        self._overlaps = np.zeros(64, dtype=np.int64)
        self._smaller = np.zeros(64, dtype=np.int64)
        self._pairs = np.zeros((2, 64), dtype=np.int32)
        self._pairs_before = np.zeros(65, dtype=np.int64)
        self._place: dict[bytes, int] = {}
        #: Places of sets whose loss changed after they came, in the order of these changes.
        self.revised: list[int] = []

    def __len__(self) -> int:
        return self._count

    @property
    def sizes(self) -> Array:
        """Number of features of each set."""
        return self._sizes[: self._count]

    @property
    def losses(self) -> Array:
        """The least loss of each set."""
        return self._losses[: self._count]

    @property
    def numbers(self) -> Array:
        """Number of the trial with the least loss of each set."""
        return self._numbers[: self._count]

    @property
    def crowding(self) -> Array:
        """Crowding index of each set (eq. 5)."""
        crowding: Array = self._overlaps[: self._count] / np.maximum(1, self.sizes)
        return crowding

    @property
    def inert(self) -> Array:
        """Which sets have all their leave-one-out sets in the archive."""
        inert: Array = (self._smaller[: self._count] == self.sizes) & (self.sizes > 0)
        return inert

    def masks(self) -> Array:
        """All sets as a boolean matrix."""
        return self.unpacked(np.arange(self._count))

    def unpacked(self, places: Array) -> Array:
        """Some sets as a boolean matrix."""
        packed = np.ascontiguousarray(self._words[:, places].T).view(np.uint8)
        return np.unpackbits(packed, axis=1, count=self.p).view(bool)

    def mask(self, place: int) -> Array:
        """One set."""
        mask: Array = self.unpacked(np.array([place]))[0]
        return mask

    def place(self, mask: Array) -> int | None:
        """Where a set is, if it is here."""
        return self._place.get(np.packbits(mask).tobytes())

    def place_of(self, packed: Array) -> int:
        """Where a packed set that is here is."""
        return self._place[packed.tobytes()]

    def steps(self, place: int) -> Array:
        """Places of the sets that are here and have one feature less."""
        near = np.flatnonzero(self.sizes == self._sizes[place] - 1)
        steps: Array = near[self.common(place, near) == self._sizes[near]]
        return steps

    def holds(self, places: Array, others: Array) -> Array:
        """Which of some sets (rows) hold which of others (columns)."""
        missing = self._chosen(others)[:, None, :] & ~self._chosen(places)[:, :, None]
        holds: Array = np.bitwise_or.reduce(missing, axis=0) == 0
        return holds

    def common(self, place: int, others: Array) -> Array:
        """Number of features that a set shares with others."""
        return _shared(self._words[:, place], self._chosen(others))

    def dissimilarity(self, place: int, others: Array) -> Array:
        """How much a set differs from others (eq. 1): 0 the same, 1 nothing in common."""
        scale = np.sqrt(np.maximum(1, self._sizes[place] * self._sizes[others]))
        dissimilarity: Array = 1 - self.common(place, others) / scale
        return dissimilarity

    def add(self, packed: Array, loss: float, number: int) -> None:
        """Take in a trial.

        Args:
            packed: The mask, packed by ``np.packbits``.
            loss: What was to be minimized.
            number: Number of the trial.
        """
        key = packed.tobytes()
        known = self._place.get(key)
        if known is None:
            self._insert(key, packed, loss, number)
        elif (loss, number) < (self._losses[known], self._numbers[known]):
            self._losses[known], self._numbers[known] = loss, number
            self.revised.append(known)

    def pairs(self, since: int = 0) -> tuple[Array, Array]:
        """Places of sets and, beside them, of sets that hold them.

        Args:
            since: Pairs that came with sets before this place are left out.
        """
        came = self._pairs[:, self._pairs_before[since] : self._pairs_before[self._count]]
        return came[0], came[1]

    def pairs_of(self, place: int) -> tuple[Array, Array]:
        """Those of the pairs that one set is in."""
        inner, outer = self.pairs()
        its = np.flatnonzero((inner == place) | (outer == place))
        return inner[its], outer[its]

    def _chosen(self, places: Array) -> Array:
        return np.take(self._words, places, axis=1)

    def _insert(self, key: bytes, packed: Array, loss: float, number: int) -> None:
        n = self._count
        if n == len(self._sizes):
            self._grow()
        row = np.zeros(self._width * 8, dtype=np.uint8)
        row[: self._bytes] = packed
        self._words[:, n] = row.view(np.uint64)
        mask = np.unpackbits(packed, count=self.p)
        size = int(np.count_nonzero(mask))
        sizes = self._sizes[:n]
        common = _shared(self._words[:, n], self._words[:, :n])
        inner, outer = np.flatnonzero(common == sizes), np.flatnonzero(common == size)
        self._add_pairs(n, inner, outer)
        self._smaller[outer] += sizes[outer] == size + 1
        self._smaller[n] = np.count_nonzero(sizes[inner] == size - 1)
        self._overlaps[:n] += common
        self._overlaps[n] = common.sum() + size
        self._sizes[n], self._losses[n], self._numbers[n] = size, loss, number
        self._place[key] = n
        self._count += 1

    def _add_pairs(self, place: int, inner: Array, outer: Array) -> None:
        """Take in the pairs of a new set: with its subsets, and with the sets that hold it."""
        begin = int(self._pairs_before[place])
        middle = begin + len(inner)
        end = middle + len(outer)
        while end > self._pairs.shape[1]:
            self._pairs = _doubled(self._pairs)
        self._pairs[0, begin:middle], self._pairs[1, begin:middle] = inner, place
        self._pairs[0, middle:end], self._pairs[1, middle:end] = place, outer
        self._pairs_before[place + 1] = end

    def _grow(self) -> None:
        for name in (
            "_words", "_sizes", "_losses", "_numbers", "_overlaps", "_smaller", "_pairs_before"
        ):  # fmt: skip
            setattr(self, name, _doubled(getattr(self, name)))


def _doubled(array: Array) -> Array:
    """Room for as many more columns."""
    return np.concatenate([array, np.zeros_like(array)], axis=-1)


def _shared(words: Array, others: Array) -> Array:
    """Number of bits that one packed set shares with each of several, words × sets."""
    counts: Array = np.bitwise_count(words[:, None] & others).sum(axis=0, dtype=np.int64)
    return counts


class Dominance:
    """Flags of dominated sets; each update looks at the pairs that may have changed.

    A better best loss changes the cost of all sets, but not which of a set and its subset has the
    lower loss: where the subset is not worse, it dominates at any penalty. So only sets without
    such a subset are looked at again.

    Args:
        archive: The sets. None is ever removed.
    """

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        #: Of each set, whether it is dominated.
        self.flags = np.zeros(0, dtype=bool)
        self._for_good = np.zeros(0, dtype=bool)
        self._best = np.inf
        self._revised = 0

    def update(self, cost: Array) -> None:
        """Look at what came or changed since the last time.

        Args:
            cost: Of each set: a function of size, loss and the best loss that grows with the
                first two.
        """
        archive, known = self._archive, len(self.flags)
        fresh = np.zeros(len(archive) - known, dtype=bool)
        self.flags = np.concatenate([self.flags, fresh])
        self._for_good = np.concatenate([self._for_good, fresh])
        pairs = [archive.pairs(since=known)]
        for place in set(archive.revised[self._revised :]):
            self.flags[place] = self._for_good[place] = False
            pairs.append(archive.pairs_of(place))
        inner, outer = (np.concatenate(side) for side in zip(*pairs))
        losses = archive.losses
        self._for_good[outer[losses[inner] <= losses[outer]]] = True
        best = float(losses.min())
        if best != self._best:
            inner, outer = archive.pairs()
            again = np.flatnonzero(~self._for_good[outer])
            inner, outer = inner[again], outer[again]
            self.flags = self._for_good.copy()
        self.flags[outer[cost[inner] <= cost[outer]]] = True
        self._best, self._revised = best, len(archive.revised)
