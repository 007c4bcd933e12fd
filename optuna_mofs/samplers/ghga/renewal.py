"""Where optima may be that are not known yet.

A large set that holds none of the optima known can only hold others. To get there, one feature of
each optimum known has to go, and it matters which: the feature may be part of an unknown optimum
too. So each feature of a known optimum is left out of the large set once (a probe). Where others
need it as well its absence is felt most, and the walk goes on without the one that is missed
least. The sets on the way form a hitting-set tree, as of Reiter (1987), A theory of diagnosis from
first principles.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.ghga.archive import Archive


@dataclass(frozen=True)
class Stop:
    """Where a walk ended.

    Args:
        place: Of the set.
        against: Features of the optimum in it that was not probed yet; none if it is free of
            optima, and worth an elimination.
    """

    place: int
    against: tuple[int, ...] = ()


def walk(
    archive: Archive,
    known: Array,
    probes: Collection[tuple[int, tuple[int, ...]]],
    started: Collection[int],
) -> Stop | None:
    """Go down from the set of all features until something is to be done.

    Of the sets that a probe made the best one is taken, where each elimination below it that found
    nothing counts as much as one better set. Sets that are worse than most are left alone, as
    everywhere (Algorithm 2).

    Args:
        archive: All sets tried.
        known: Places of the optima known.
        probes: The probes made: the place they started from, and the features.
        started: Places of sets from which eliminations started after a walk.

    Returns:
        None if there is nothing left to be done, or the set of all features is not there.
    """
    root = archive.place(np.ones(archive.p, dtype=bool))
    if root is None:
        return None
    # Oldest first, so that the tree stays the same when others are found.
    known = known[np.argsort(archive.numbers[known], kind="stable")]
    begun = np.array(sorted(started), dtype=np.intp)
    fruitless = begun[~archive.holds(begun, known).any(axis=1)]
    middle = np.median(archive.losses)
    exhausted: set[int] = set()
    while root not in exhausted:
        nodes, above = [root], root
        while True:
            left = [node for node in nodes if node not in exhausted]
            place = _best(archive, left, fruitless, middle)
            if place is None:
                # Nothing is left below: go back to the top, and down another way.
                exhausted.add(above)
                break
            inside = archive.holds(np.array([place]), known)[0]
            if not inside.any():
                return Stop(place)
            against = tuple(np.flatnonzero(archive.mask(known[np.argmax(inside)])).tolist())
            nodes, above = _without_one(archive, place, against), place
            if len(nodes) < len(against) and (place, against) not in probes:
                return Stop(place, against)
    return None


def _without_one(archive: Archive, place: int, features: tuple[int, ...]) -> list[int]:
    """Places of the sets that lack one of some features of a set, as far as they were tried."""
    mask = archive.mask(place)
    nodes = []
    for feature in features:
        mask[feature] = False
        node = archive.place(mask)
        mask[feature] = True
        if node is not None:
            nodes.append(node)
    return nodes


def _best(archive: Archive, nodes: list[int], fruitless: Array, middle: float) -> int | None:
    """The node of the least rank, those at or below fruitless ones left out."""
    ranked = np.array(nodes, dtype=np.intp)
    ranked = ranked[np.lexsort((archive.numbers[ranked], archive.losses[ranked]))]
    ranks = np.arange(len(ranked)) + archive.holds(ranked, fruitless).sum(axis=1)
    open_ = (archive.losses[ranked] <= middle) & ~archive.holds(fruitless, ranked).any(axis=0)
    if not open_.any():
        return None
    return int(ranked[open_][np.argmin(ranks[open_])])
