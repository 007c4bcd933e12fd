"""Which sets have a subset of at most their cost (Algorithm 2), kept incrementally."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.ghga.archive import Archive


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
