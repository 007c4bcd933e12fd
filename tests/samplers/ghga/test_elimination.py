from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._elimination import RestartPoint, next_restart

P = 6
ALL = frozenset(range(P))
NONE = np.zeros(0, dtype=np.intp)


def archive_of(*sets: frozenset[int], loss: Callable[[frozenset[int]], float]) -> Archive:
    archive = Archive(P)
    for number, inside in enumerate(sets):
        archive.add(np.packbits(mask_of(inside)), loss(inside), number)
    # Bad sets, so that those of the tree are among the better half.
    for number in range(len(sets), 2 * len(sets) + 1):
        bits = [number >> j & 1 for j in range(P)]
        archive.add(np.packbits(np.array(bits, dtype=bool)), 99.0, number)
    return archive


def mask_of(inside: frozenset[int]) -> np.ndarray:
    mask = np.zeros(P, dtype=bool)
    mask[list(inside)] = True
    return mask


def missed(inside: frozenset[int]) -> float:
    """0 and 1 are an optimum, 1 and 5 another; removing 1 costs more than removing 0."""
    return 0.5 * (1 not in inside) + 0.1 * (0 not in inside) + 0.1 * (5 not in inside)


def positions(archive: Archive, *sets: frozenset[int]) -> np.ndarray:
    return np.array([archive.position(mask_of(one)) for one in sets])


FIRST, SECOND = frozenset({0, 1}), frozenset({1, 5})


def test_no_restart_without_the_set_of_all_features() -> None:
    archive = archive_of(FIRST, loss=missed)
    assert next_restart(archive, positions(archive, FIRST), set(), NONE) is None


def test_without_optima_the_set_of_all_features_is_reduced() -> None:
    archive = archive_of(ALL, loss=missed)
    root = archive.position(mask_of(ALL))
    assert next_restart(archive, NONE, set(), NONE) == RestartPoint(root)
    assert next_restart(archive, NONE, set(), np.array([root])) is None


def test_an_optimum_is_probed_and_its_most_dispensable_feature_removed() -> None:
    archive = archive_of(ALL, FIRST, loss=missed)
    root = archive.position(mask_of(ALL))
    known = positions(archive, FIRST)
    assert next_restart(archive, known, set(), NONE) == RestartPoint(root, (0, 1))
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=missed)
    assert next_restart(archive, known, set(), NONE) == RestartPoint(
        archive.position(mask_of(ALL - {0}))
    )


def test_a_probe_with_a_missing_trial_is_not_repeated() -> None:
    archive = archive_of(ALL, FIRST, ALL - {1}, loss=missed)
    root = archive.position(mask_of(ALL))
    found = next_restart(archive, positions(archive, FIRST), {(root, (0, 1))}, NONE)
    assert found == RestartPoint(archive.position(mask_of(ALL - {1})))


def test_a_second_optimum_is_probed_below_the_first() -> None:
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, loss=missed)
    below = archive.position(mask_of(ALL - {0}))
    known = positions(archive, SECOND, FIRST)  # the older one is still probed first
    assert next_restart(archive, known, set(), NONE) == RestartPoint(below, (1, 5))


def test_a_fruitless_start_lowers_the_priority() -> None:
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=missed)
    known = positions(archive, FIRST)
    tried = positions(archive, ALL - {0})
    assert next_restart(archive, known, set(), tried) == RestartPoint(
        archive.position(mask_of(ALL - {1}))
    )
    tried = positions(archive, ALL - {0}, ALL - {1})
    assert next_restart(archive, known, set(), tried) is None


def test_the_descent_continues_below_a_start_that_found_an_optimum() -> None:
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, loss=missed)
    tried = positions(archive, ALL - {0})
    found = next_restart(archive, positions(archive, FIRST, SECOND), set(), tried)
    assert found == RestartPoint(int(tried[0]), (1, 5))


def test_sets_worse_than_the_median_are_skipped() -> None:
    archive = archive_of(ALL, FIRST, ALL - {0}, ALL - {1}, loss=lambda inside: float(-len(inside)))
    for number in range(4, 24):  # better ones, of at most four features
        bits = np.array([number >> j & 1 for j in range(P)], dtype=bool)
        archive.add(np.packbits(bits), -7.0, number)
    assert next_restart(archive, positions(archive, FIRST), set(), NONE) is None


def test_an_exhausted_branch_is_left() -> None:
    # All starts below ALL - {0} were fruitless; ALL - {1}, which is worse, was not tried.
    below = [ALL - {0, 1}, ALL - {0, 5}]
    archive = archive_of(ALL, FIRST, SECOND, ALL - {0}, ALL - {1}, *below, loss=missed)
    known = positions(archive, FIRST, SECOND)
    found = next_restart(archive, known, set(), positions(archive, *below))
    assert found == RestartPoint(archive.position(mask_of(ALL - {1})))
    everything = positions(archive, *below, ALL - {1})
    assert next_restart(archive, known, set(), everything) is None
