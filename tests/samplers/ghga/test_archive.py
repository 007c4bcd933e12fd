from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.ghga._archive import Archive, Dominance
from optuna_mofs.samplers.ghga._state import dynamic_cost

quick = settings(max_examples=40)

set_lists = st.integers(1, 70).flatmap(
    lambda p: st.lists(
        st.lists(st.booleans(), min_size=p, max_size=p).map(lambda bits: np.array(bits)),
        min_size=1,
        max_size=14,
    )
)

#: Few features: subsets and leave-one-out sets are common.
dense_lists = st.lists(
    st.lists(st.booleans(), min_size=4, max_size=4).map(lambda bits: np.array(bits)),
    min_size=1,
    max_size=16,
)


def filled(masks: list[np.ndarray], losses: list[float] | None = None) -> Archive:
    archive = Archive(len(masks[0]))
    for i, mask in enumerate(masks):
        archive.add(np.packbits(mask), 0.0 if losses is None else losses[i], i)
    return archive


def all_masks(archive: Archive) -> np.ndarray:
    return archive.masks(np.arange(len(archive)))


@quick
@given(set_lists)
def test_each_distinct_mask_is_stored_once(masks: list[np.ndarray]) -> None:
    archive = filled(masks)
    assert {m.tobytes() for m in all_masks(archive)} == {m.tobytes() for m in masks}
    assert len(archive) == len({m.tobytes() for m in masks})
    for mask in masks:
        position = archive.position(mask)
        assert position is not None
        np.testing.assert_array_equal(archive.masks(position), mask)


@quick
@given(set_lists)
def test_crowding_is_equation_5(masks: list[np.ndarray]) -> None:
    archive = filled(masks)
    bits = all_masks(archive).astype(int)
    for k, row in enumerate(bits):
        expected = (bits @ row).sum() / max(1, row.sum())
        assert archive.crowding[k] == expected


@quick
@given(dense_lists)
def test_a_set_is_inert_if_all_its_leave_one_out_sets_are_there(masks: list[np.ndarray]) -> None:
    archive = filled(masks)
    known = {m.tobytes() for m in masks}
    for k, mask in enumerate(all_masks(archive)):
        smaller = []
        for j in np.flatnonzero(mask):
            without = mask.copy()
            without[j] = False
            smaller.append(without.tobytes() in known)
        assert archive.inert[k] == (bool(smaller) and all(smaller))


@quick
@given(dense_lists, st.integers(0, 15))
def test_pairs_are_all_sets_with_their_subsets(masks: list[np.ndarray], since: int) -> None:
    archive = filled(masks)
    sets = all_masks(archive)
    since = min(since, len(sets))
    expected = {
        (i, k)
        for k, outer in enumerate(sets)
        for i, inner in enumerate(sets)
        if i != k and not (inner & ~outer).any()
    }
    assert pairs(archive.pairs()) == expected
    assert pairs(archive.pairs(since)) == {(i, k) for i, k in expected if max(i, k) >= since}


def pairs(found: np.ndarray) -> set[tuple[int, int]]:
    listed = list(zip(found[0].tolist(), found[1].tolist()))
    assert len(set(listed)) == len(listed)
    return set(listed)


@quick
@given(dense_lists)
def test_leave_one_out_sets_lack_one_feature(masks: list[np.ndarray]) -> None:
    archive = filled(masks)
    sets = all_masks(archive)
    for k, mask in enumerate(sets):
        expected = [
            i for i, s in enumerate(sets) if s.sum() == mask.sum() - 1 and not (s & ~mask).any()
        ]
        assert archive.leave_one_out(k).tolist() == expected


def test_order_of_arrival_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    masks = list(rng.random((30, 5)) < 0.5)
    losses = rng.integers(0, 4, 30).astype(float).tolist()
    a = Archive(5)
    b = Archive(5)
    for i in range(30):
        a.add(np.packbits(masks[i]), losses[i], i)
    for i in reversed(range(30)):
        b.add(np.packbits(masks[i]), losses[i], i)
    for mask in masks:
        i, j = a.position(mask), b.position(mask)
        assert i is not None
        assert j is not None
        for name in ("sizes", "losses", "numbers", "crowding", "inert"):
            assert getattr(a, name)[i] == getattr(b, name)[j]


def test_a_set_has_the_loss_of_its_best_trial() -> None:
    archive = Archive(3)
    mask = np.packbits([1, 0, 1])
    for number, loss in enumerate([0.5, 0.2, 0.2, 0.9]):
        archive.add(mask, loss, number)
    assert archive.numbers.tolist() == [1]
    assert archive.losses.tolist() == [0.2]
    assert archive.revised == [0]


def test_dissimilarity_is_equation_1() -> None:
    archive = filled([np.array(m, dtype=bool) for m in ([1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1])])
    found = archive.dissimilarity(0, np.array([0, 1, 2]))
    np.testing.assert_allclose(found, [0, 1 - 1 / np.sqrt(2), 1], atol=1e-12)


@quick
@given(dense_lists, st.integers(0, 15))
def test_which_sets_contain_which(masks: list[np.ndarray], cut: int) -> None:
    archive = filled(masks)
    sets = all_masks(archive)
    some, others = np.arange(len(sets))[:cut], np.arange(len(sets))
    found = archive.contains(some, others)
    assert found.shape == (len(some), len(sets))
    for i in some.tolist():
        assert found[i].tolist() == [bool((other <= sets[i]).all()) for other in sets]


#: Sets of four features, as numbers, with losses in steps of the tolerance.
trials = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 6)), min_size=1, max_size=40)


@settings(max_examples=150)
@given(trials, st.sampled_from([1, 2, 5]))
def test_incremental_updates_equal_a_comparison_of_all_sets(
    added: list[tuple[int, int]], at_a_time: int
) -> None:
    # Lower best losses, and lower losses of sets that are there, come in any order.
    archive = Archive(4)
    dominance = Dominance(archive)
    for number, (bits, loss) in enumerate(added):
        archive.add(np.array([bits << 4], dtype=np.uint8), float(loss), number)
        if number % at_a_time and number < len(added) - 1:
            continue
        cost = dynamic_cost(archive.sizes.astype(float), archive.losses, 1.0)
        dominance.update(cost)
        sets = all_masks(archive)
        for k, outer in enumerate(sets):
            expected = any(
                cost[i] <= cost[k]
                for i, inner in enumerate(sets)
                if i != k and not (inner & ~outer).any()
            )
            assert dominance.flags[k] == expected
