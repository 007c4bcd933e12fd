"""Who becomes a parent."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.operators.survival import binary_tournament

#: Draws the position of a parent in the history, given the generator.
Draw = Callable[[np.random.Generator], int]
#: Prepares a draw from (history, members, their ranks, their crowding distances).
ParentSelection = Callable[[History, Array, Array, Array], Draw]


def tournament_parents(history: History, members: Array, ranks: Array, crowding: Array) -> Draw:
    """Binary tournament on rank and crowding, as in NSGA-II."""
    return lambda rng: int(members[binary_tournament(rng, ranks, crowding)])


@dataclass(frozen=True)
class HypervolumeParents:
    """Members of the front by their share of the hypervolume, mixed with tournaments.

    A better child of a parent that holds much of the hypervolume gains much; crowding, which
    treats all stretches of the front alike, cannot see that.

    Args:
        share: Probability of drawing by hypervolume rather than by tournament.
        even: Part of the hypervolume draw that is spread evenly over the front.
    """

    share: float = 0.5
    even: float = 0.2

    def __call__(self, history: History, members: Array, ranks: Array, crowding: Array) -> Draw:
        """Prepare a draw."""
        front = members[ranks == ranks.min()]
        parts = _hypervolume_shares(history.values[front], history.reference())
        edges = np.cumsum((1 - self.even) * parts + self.even / len(front))

        def draw(rng: np.random.Generator) -> int:
            if rng.random() < self.share:
                place = int(np.searchsorted(edges, rng.random() * edges[-1], side="right"))
                return int(front[min(place, len(front) - 1)])
            return int(members[binary_tournament(rng, ranks, crowding)])

        return draw


def _hypervolume_shares(values: Array, reference: Array) -> Array:
    even = np.full(len(values), 1 / len(values))
    if len(values) == 1 or values.shape[1] > 4:
        # Beyond four objectives exact contributions cost more than they tell.
        return even
    parts: Array = moocore.hv_contributions(np.minimum(values, reference), ref=reference)
    total = parts.sum()
    return parts / total if np.isfinite(total) and total > 0 else even
