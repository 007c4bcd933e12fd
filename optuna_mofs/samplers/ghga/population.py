"""Who may reproduce, and who is thinned out next (Jung and Zscheischler 2013, 2.1, 2.3, 2.5)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array

#: Largest exponent of the penalty: beyond it the loss itself decides.
_STEEPEST = 900.0

#: Dissimilarities of a set (by place) to others (by places).
Distance = Callable[[int, Array], Array]


def dynamic_cost(sizes: Array, losses: Array, tolerance: float) -> Array:
    """Size plus a penalty for being worse than the best known (eq. 2 and 3).

    Up to ``tolerance`` below the best the penalty is at most one feature; it doubles with each
    further ``tolerance``.

    Args:
        sizes: Number, or cost, of features.
        losses: To be minimised; the paper's modelling efficiency with its sign turned.
        tolerance: What may be lost for a smaller set (ε).

    Example:
        >>> dynamic_cost(np.array([5, 3, 2]), np.array([0.10, 0.11, 0.12]), 0.01).tolist()
        [5.0, 4.0, 5.0]
    """
    steps = np.round((losses - losses.min()) / tolerance, 9)
    cost: Array = sizes + np.exp2(np.minimum(steps, _STEEPEST)) - 1
    return cost


def reproductive_places(
    order: Array,
    crowding: Array,
    distance: Distance,
    *,
    radius: float,
    most_similar: int,
) -> Array:
    """The reproductive population R (Algorithm 2).

    Args:
        order: Places of the sets that may be in it, best first.
        crowding: Crowding index of all sets.
        distance: Dissimilarity of sets.
        radius: Sets closer than this are similar (δ).
        most_similar: A set with this many similar ones in R stays out (ρ).
    """
    if not len(order):
        return order
    chosen = [int(order[0])]
    least = crowding[chosen[0]]
    for place, crowd in zip(order[1:].tolist(), crowding[order[1:]].tolist()):
        if crowd < least:
            similar = np.count_nonzero(distance(place, np.array(chosen)) < radius)
            if similar < most_similar:
                chosen.append(place)
                least = crowd
    return np.array(chosen)


def elimination_places(members: Array, inert: Array, distance: Distance) -> Array:
    """The sets of R that may be thinned out, B: ever farther from what is inert (Algorithm 3).

    Args:
        members: Places of R, best first.
        inert: Places of inert sets.
        distance: Dissimilarity of sets.
    """
    if not len(inert):
        return members
    nearest = np.array([distance(place, inert).min() for place in members.tolist()])
    farthest_before = np.maximum.accumulate(np.concatenate([[-1.0], nearest[:-1]]))
    chosen: Array = members[nearest > farthest_before]
    return chosen


def similar_pair(rng: np.random.Generator, places: Array, distance: Distance) -> tuple[int, int]:
    """Two parents: a random one, and of two others the more similar to it (section 2.4)."""
    first = int(rng.choice(places))
    two = rng.choice(places, 2)
    return first, int(two[np.argmin(distance(first, two))])


def tournament(rng: np.random.Generator, places: Array, tournament_divisor: int) -> int:
    """The best of a random part of B: one in ``tournament_divisor`` (κ) takes part.

    Args:
        rng: Generator.
        places: Best first.
        tournament_divisor: 1 always takes the best.
    """
    size = -(-len(places) // tournament_divisor)
    return int(places[rng.permutation(len(places))[:size].min()])
