from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.features._mask_sampling import (
    sample_bernoulli_mask,
    sample_ensemble_mask,
    sample_geometric_mask,
    sample_prefix_mask,
    sample_uniform_mask,
    sample_wide_mask,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers._mask_operators import (
    BitFlip,
    FilterEnsembleMutation,
    HammingPreserving,
    uniform_mask_crossover,
)

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
STARTS = [
    sample_bernoulli_mask,
    sample_uniform_mask,
    sample_geometric_mask,
    sample_ensemble_mask,
    sample_prefix_mask,
    sample_wide_mask,
]
MUTATIONS = [BitFlip(), HammingPreserving(), FilterEnsembleMutation()]


def _sizes(start, table=TABLE, n=600):  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    return np.array([start(rng, table, UP).sum() for _ in range(n)])


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("table", [TABLE, BARE])
def test_starts_give_masks(start, table) -> None:  # type: ignore[no-untyped-def]
    mask = start(np.random.default_rng(1), table, UP)
    assert mask.dtype == bool
    assert mask.shape == (P,)


def test_sizes_follow_the_distribution_in_their_name() -> None:
    assert abs(_sizes(sample_bernoulli_mask).mean() - P / 2) < 2
    assert _sizes(sample_bernoulli_mask).std() < 10
    assert abs(_sizes(sample_uniform_mask).mean() - P / 2) < 8
    assert _sizes(sample_uniform_mask).std() > 50
    assert 7 < _sizes(sample_geometric_mask).mean() < 9
    # Eq. 2 overshoots when one filter decides alone, and is near the size when two disagree.
    even = np.array([0.5, 0.5])
    rng = np.random.default_rng(0)
    assert 6 < np.mean([sample_ensemble_mask(rng, TABLE, even).sum() for _ in range(600)]) < 11
    assert 12 < _sizes(sample_ensemble_mask).mean() < 25
    assert _sizes(sample_prefix_mask).min() == 1
    wide = _sizes(sample_wide_mask)
    assert wide.min() == 1
    assert wide.max() > 0.9 * P
    assert 0.4 < np.mean(wide <= np.sqrt(P)) < 0.65


def test_filters_decide_which_features() -> None:
    rng = np.random.default_rng(0)
    share = np.mean([sample_ensemble_mask(rng, TABLE, UP) for _ in range(500)], axis=0)
    assert share[:20].mean() > 5 * share[-20:].mean()
    for start in (sample_prefix_mask, sample_wide_mask):
        for _ in range(20):
            mask = start(rng, TABLE, UP)
            assert mask[: mask.sum()].all()


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
def test_size_is_about_preserved(mutation, size: int) -> None:  # type: ignore[no-untyped-def]
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[rng.choice(P, size, replace=False)] = True
    sizes = [mutation(rng, mask, TABLE, np.array([0.5, 0.5])).sum() for _ in range(400)]
    assert abs(np.mean(sizes) - size) < 0.15 * size + 0.8


def test_bit_flip_does_not_preserve_it() -> None:
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


def test_dear_features_are_drawn_less_often() -> None:
    costs = np.where(np.arange(P) % 2 == 0, 1.0, 10.0)
    table = FeatureTable(names=BARE.names, costs=costs, expected_n_features=20.0)
    rng = np.random.default_rng(0)
    mask = np.zeros(P, dtype=bool)
    mask[::4] = True
    share = np.mean([HammingPreserving(1.0)(rng, mask, table, UP) for _ in range(300)], axis=0)
    assert share[::2].mean() > 4 * share[1::2].mean()


def test_crossover_keeps_what_both_have() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.random(P) < 0.5, rng.random(P) < 0.5
    child = uniform_mask_crossover(rng, a, b)
    np.testing.assert_array_equal(child[a == b], a[a == b])
    assert 0.3 < np.mean(child[a != b] == a[a != b]) < 0.7
