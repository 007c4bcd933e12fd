from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
    commonality_crossover,
    declining_rate,
    differential_mask,
    size_keeping_mutation,
    uniform_mask_crossover,
)

quick = settings(max_examples=40)
masks = st.lists(st.booleans(), min_size=12, max_size=12).map(np.array)


@quick
@given(masks, masks, st.integers(0, 10**6))
def test_crossover_keeps_the_features_of_both_parents(
    first: np.ndarray, second: np.ndarray, seed: int
) -> None:
    child = commonality_crossover(np.random.default_rng(seed), first, second)
    assert (child >= (first & second)).all()
    assert (child <= (first | second)).all()


def test_crossover_keeps_the_size_of_the_first_parent() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.6, rng.random(200) < 0.2
    sizes = [commonality_crossover(rng, first, second).sum() for _ in range(400)]
    assert np.mean(sizes) == pytest.approx(first.sum(), abs=2)
    sizes = [commonality_crossover(rng, second, first).sum() for _ in range(400)]
    assert np.mean(sizes) == pytest.approx(second.sum(), abs=2)


@pytest.mark.parametrize("part", [0.05, 0.3, 0.5])
def test_mutation_keeps_the_size(part: float) -> None:
    rng = np.random.default_rng(0)
    mask = np.arange(200) < 200 * part
    found = [size_keeping_mutation(rng, mask, 0.2) for _ in range(400)]
    assert np.mean([m.sum() for m in found]) == pytest.approx(mask.sum(), abs=2)
    assert np.mean([(mask & ~m).sum() for m in found]) == pytest.approx(0.2 * mask.sum(), abs=1)


def test_mutation_of_the_full_and_the_empty_set() -> None:
    rng = np.random.default_rng(0)
    assert not size_keeping_mutation(rng, np.zeros(5, dtype=bool), 1.0).any()
    assert size_keeping_mutation(rng, np.ones(500, dtype=bool), 0.1).sum() < 500


def test_rate_declines_to_the_final_one() -> None:
    rates = [declining_rate(i, 500, 0.5, 0.05) for i in range(1, 600)]
    assert rates[0] == 0.9
    assert all(a >= b for a, b in pairwise(rates))
    assert rates[499:] == [0.05] * 100
    # Table 2's shape: the rate is near a half after a quarter of phase 1.
    assert rates[124] == pytest.approx((500**0.5 - 125**0.5) / (500**0.5 - 1) + 0.05)


P = 200
RANKS = np.array([np.arange(P)[::-1] / (P - 1), np.arange(P) / (P - 1)])
TABLE = FeatureTable(
    names=tuple(f"f{j}" for j in range(P)),
    filters=("up", "down"),
    ranks=RANKS,
    expected_n_features=8.0,
)
BARE = FeatureTable(names=tuple(f"f{j}" for j in range(P)), expected_n_features=8.0)
UP = np.array([1.0, 0.0])
MUTATIONS = [BitFlip(), HammingPreserving(), FilterEnsembleMutation(), AddDrop()]


@pytest.mark.parametrize("mutation", MUTATIONS)
@settings(max_examples=25)
@given(seed=st.integers(0, 1000), size=st.integers(0, P))
def test_mutations_do_not_change_their_input(mutation, seed: int, size: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(seed)
    mask = np.zeros(P, dtype=bool)
    mask[rng.choice(P, size, replace=False)] = True
    before = mask.copy()
    child = mutation(rng, mask, TABLE, UP)
    assert child.dtype == bool
    np.testing.assert_array_equal(mask, before)


@pytest.mark.parametrize("mutation", [HammingPreserving(0.2), FilterEnsembleMutation(0.2)])
@pytest.mark.parametrize("size", [4, 60])
def test_the_size_is_about_preserved(mutation, size: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[rng.choice(P, size, replace=False)] = True
    sizes = [mutation(rng, mask, TABLE, np.array([0.5, 0.5])).sum() for _ in range(400)]
    assert abs(np.mean(sizes) - size) < 0.15 * size + 0.8


def test_bit_flips_do_not_preserve_the_size() -> None:
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    assert np.mean([BitFlip(0.1)(rng, mask, TABLE, UP).sum() for _ in range(200)]) > 15


def test_filter_mutation_prefers_good_features() -> None:
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[90:100] = True
    share = np.mean(
        [FilterEnsembleMutation(0.5)(rng, mask, TABLE, UP) for _ in range(400)], axis=0
    )
    assert share[:40].mean() > 3 * share[-40:].mean()


def test_expensive_features_are_drawn_less_often() -> None:
    costs = np.where(np.arange(P) % 2 == 0, 1.0, 10.0)
    table = FeatureTable(names=BARE.names, costs=costs, expected_n_features=20.0)
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[::4] = True
    share = np.mean([HammingPreserving(1.0)(rng, mask, table, UP) for _ in range(300)], axis=0)
    assert share[::2].mean() > 4 * share[1::2].mean()


def test_uniform_crossover_keeps_equal_bits() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(P) < 0.5, rng.random(P) < 0.5
    child = uniform_mask_crossover(rng, a, b)
    np.testing.assert_array_equal(child[a == b], a[a == b])
    assert 0.3 < np.mean(child[a != b] == a[a != b]) < 0.7


def test_add_drop_changes_few_bits_and_prefers_good_features() -> None:
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[90:100] = True
    children = np.array([AddDrop()(rng, mask, TABLE, UP) for _ in range(600)])
    changes = (children != mask).sum(axis=1)
    assert 1.3 < changes.mean() < 1.8  # geometric with mean 1 / 0.6
    added = (children & ~mask).mean(axis=0)
    assert added[:40].mean() > 3 * added[-40:].mean()
    assert AddDrop(0.0)(rng, np.zeros(P, dtype=bool), TABLE, UP).sum() == 1
    assert AddDrop()(rng, np.zeros(0, dtype=bool), FeatureTable(("a",), fixed=(0,)), UP).size == 0


@settings(max_examples=30)
@given(seed=st.integers(0, 10_000))
def test_differential_masks_take_bits_only_where_the_two_disagree(seed):
    rng = np.random.default_rng(seed)
    base, first, second = rng.random((3, 40)) < 0.5
    child = differential_mask(rng, base, first, second, scale=1.0, crossover_prob=1.0)
    np.testing.assert_array_equal(child, np.where(first != second, first, base))
