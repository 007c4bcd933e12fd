from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers._initial_design import (
    gower_distances,
    latin_hypercube,
    thin,
    thinned_design,
)


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(0, 6), st.integers(0, 99))
def test_one_point_in_each_slice(count: int, d: int, seed: int) -> None:
    design = latin_hypercube(np.random.default_rng(seed), count, d)
    assert design.shape == (count, d)
    for column in np.floor(design * count).astype(int).T:
        assert sorted(column) == list(range(count))


def test_gower_by_hand() -> None:
    rows = np.array([[0.0, 0.2, np.nan], [2.0, 0.7, np.nan], [2.0, np.nan, 0.5]])
    found = gower_distances(rows, np.array([True, False, False]))
    assert np.isclose(found[0, 1], (1 + 0.5) / 2)  # nobody has the third
    assert np.isclose(found[1, 2], (0 + 1 + 1) / 3)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 0)


@settings(deadline=None, max_examples=25)
@given(st.integers(3, 30), st.integers(1, 30), st.integers(0, 99))
def test_thinning_drops_one_of_the_closest_pair(count: int, keep: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.random((count, 2))
    apart = gower_distances(points, np.zeros(2, dtype=bool))
    kept = thin(np.random.default_rng(seed), apart, keep)
    assert len(kept) == min(count, keep)
    # Literally: search all pairs, toss the same coin.
    coins = np.random.default_rng(seed).random(count) < 0.5
    alive = list(range(count))
    for step in range(count - keep):
        gaps = apart[np.ix_(alive, alive)] + np.diag(np.full(len(alive), np.inf))
        closest = gaps.min()
        pair = {alive[i] for i in np.argwhere(gaps == closest)[0]}
        gone = (pair - set(kept)) or pair
        assert gone & set(alive)
        first = min(pair)
        alive.remove(max(pair) if coins[step] else first)
    assert list(kept) == alive


def test_thinned_design_is_spread_better_than_chance() -> None:
    def sample(rng: np.random.Generator, count: int) -> np.ndarray:
        return rng.random((count, 3))

    def least(rows: np.ndarray) -> float:
        apart = gower_distances(rows, np.zeros(3, dtype=bool))
        return float(apart[~np.eye(len(rows), dtype=bool)].min())

    rng = np.random.default_rng(0)
    thinned = thinned_design(rng, sample, np.zeros(3, dtype=bool), 20)
    assert len(thinned) == 20
    assert least(thinned) > 2 * np.mean([least(rng.random((20, 3))) for _ in range(20)])
