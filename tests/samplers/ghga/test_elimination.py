from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._elimination import Stop, walk

P = 6
ALL = frozenset(range(P))
NONE = np.zeros(0, dtype=np.intp)


def archive_of(*sets: frozenset[int], loss: Callable[[frozenset[int]], float]) -> Archive:
    archive = Archive(P)
    for number, inside in enumerate(sets):
        archive.add(np.packbits(mask_of(inside)), loss(inside), number)
    # Bad sets, so that those of the walk are among the better half.
    for number in range(len(sets), 2 * len(sets) + 1):
        bits = [number >> j & 1 for j in range(P)]
        archive.add(np.packbits(np.array(bits, dtype=bool)), 99.0, number)
    return archive


def mask_of(inside: frozenset[int]) -> np.ndarray:
    mask = np.zeros(P, dtype=bool)
    mask[list(inside)] = True
    return mask


def missed(inside: frozenset[int]) -> float:
    """0 and 1 are an optimum, 1 and 5 another: 1 is missed more than 0."""
    return 0.5 * (1 not in inside) + 0.1 * (0 not in inside) + 0.1 * (5 not in inside)


def places(archive: Archive, *sets: frozenset[int]) -> np.ndarray:
    return np.array([archive.place(mask_of(one)) for one in sets])


FIRST, SECOND = frozenset({0, 1}), frozenset({1, 5})


def test_without_the_set_of_all_features_there_is_no_walk() -> None:
    archive = archive_of(FIRST, loss=missed)
    assert walk(archive, places(archive, FIRST), set(), NONE) is None


def test_nothing_known_nothing_to_break() -> None:
    archive = archive_of(ALL, loss=missed)
    root = archive.place(mask_of(ALL))
    assert walk(archive, NONE, set(), NONE) == Stop(root)
    assert walk(archive, NONE, set(), np.array([root])) is None


def test_an_optimum_is_probed_and_the_least_missed_feature_left_out() -> None:
    archive = archive_of(ALL, FIRST, loss=missed)
    root = archive.place(mask_of(ALL))
    known = places(archive, FIRST)
    assert walk(archive, known, set(), NONE) == Stop(root, (0, 1))
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=missed)
    assert walk(archive, known, set(), NONE) == Stop(archive.place(mask_of(ALL - {0})))


def test_a_probe_that_lacks_a_trial_is_not_made_again() -> None:
    archive = archive_of(ALL, FIRST, ALL - {1}, loss=missed)
    root = archive.place(mask_of(ALL))
    found = walk(archive, places(archive, FIRST), {(root, (0, 1))}, NONE)
    assert found == Stop(archive.place(mask_of(ALL - {1})))


def test_a_second_optimum_is_broken_below_the_first() -> None:
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, loss=missed)
    below = archive.place(mask_of(ALL - {0}))
    known = places(archive, SECOND, FIRST)  # the older one is probed first all the same
    assert walk(archive, known, set(), NONE) == Stop(below, (1, 5))


def test_a_fruitless_start_makes_others_come_first() -> None:
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=missed)
    known = places(archive, FIRST)
    tried = places(archive, ALL - {0})
    assert walk(archive, known, set(), tried) == Stop(archive.place(mask_of(ALL - {1})))
    tried = places(archive, ALL - {0}, ALL - {1})
    assert walk(archive, known, set(), tried) is None


def test_a_start_that_found_an_optimum_is_walked_on_from() -> None:
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, loss=missed)
    tried = places(archive, ALL - {0})
    found = walk(archive, places(archive, FIRST, SECOND), set(), tried)
    assert found == Stop(int(tried[0]), (1, 5))


def test_sets_worse_than_most_are_left_alone() -> None:
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=lambda inside: float(-len(inside)))
    for number in range(4, 24):  # better ones, of at most four features
        bits = np.array([number >> j & 1 for j in range(P)], dtype=bool)
        archive.add(np.packbits(bits), -7.0, number)
    assert walk(archive, places(archive, FIRST), set(), NONE) is None


def test_where_nothing_is_left_below_the_walk_goes_another_way() -> None:
    # Below ALL - {0} all was tried in vain; without 1, which is missed more, it was not.
    below = [ALL - {0, 1}, ALL - {0, 5}]
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, *below, loss=missed)
    known = places(archive, FIRST, SECOND)
    found = walk(archive, known, set(), places(archive, *below))
    assert found == Stop(archive.place(mask_of(ALL - {1})))
    everything = places(archive, *below, ALL - {1})
    assert walk(archive, known, set(), everything) is None
