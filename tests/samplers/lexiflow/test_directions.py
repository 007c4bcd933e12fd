from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.features import FeatureTable
from optuna_mofs.samplers.lexiflow.directions import flip_near_boundary, random_direction

quick = settings(deadline=None, max_examples=60)


def table(p, **options):
    ranks = np.linspace(1, 0, p)[None]
    return FeatureTable(tuple(f"x{j}" for j in range(p)), filters=("one",), ranks=ranks, **options)


@pytest.mark.parametrize("dimension", [0, 1, 3, 20])
@pytest.mark.parametrize("sparse", [0.0, 0.5, 1.0])
def test_directions_have_length_1_for_each_axis_on_average(dimension, sparse):
    rng = np.random.default_rng(dimension)
    drawn = np.array([random_direction(rng, dimension, sparse=sparse) for _ in range(1500)])
    assert drawn.shape == (1500, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)


@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_on_the_sphere_all_lengths_are_the_same(sparse):
    rng = np.random.default_rng(0)
    drawn = np.array([random_direction(rng, 5, sparse=sparse, sphere=True) for _ in range(50)])
    np.testing.assert_allclose(np.linalg.norm(drawn, axis=1), 5**0.5)
    assert random_direction(rng, 0, sphere=True).shape == (0,)


def small(directions):
    """Share of axes that hardly move, against the one that moves most."""
    return np.mean(np.abs(directions) < 0.05 * np.abs(directions).max(axis=1, keepdims=True))


def test_directions_are_uniform_and_in_sparse_ones_axes_hardly_move():
    rng = np.random.default_rng(0)
    dense = np.array([random_direction(rng, 4) for _ in range(2000)])
    assert np.abs(dense.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose((dense**2).mean(axis=0), 1, atol=0.1)
    assert (dense != 0).all()
    thin = np.array([random_direction(rng, 4, sparse=1.0) for _ in range(500)])
    assert small(thin) > small(dense) + 0.15
    assert (thin != 0).all()


@quick
@given(
    st.integers(2, 40),
    st.integers(0, 2**32),
    st.floats(0.01, 0.5),
    st.sampled_from([1, -1]),
)
def test_flips_change_something_and_never_empty_a_mask(p, seed, step, sign):
    rng = np.random.default_rng(seed)
    mask = rng.random(p) < rng.random()
    before = mask.copy()
    changed = flip_near_boundary(
        np.random.default_rng(seed + 1), mask, table(p), sign=sign, step=step
    )
    np.testing.assert_array_equal(mask, before)
    assert changed.any() or not mask.any()
    assert changed.shape == mask.shape


def test_the_opposite_drops_what_the_direction_adds_and_takes_other_features():
    mask = np.arange(200) < 60
    for seed in range(30):
        there, back = (
            flip_near_boundary(np.random.default_rng(seed), mask, table(200), sign=s, step=0.2)
            for s in (1, -1)
        )
        dropped, added = (mask & ~there).sum(), (~mask & there).sum()
        assert ((mask & ~back).sum(), (~mask & back).sum()) == (added, dropped)
        assert not ((mask ^ there) & (mask ^ back)).any()


def test_flips_are_near_the_boundary_of_the_filters():
    mask = np.arange(200) < 40
    flips = sum(
        mask ^ flip_near_boundary(np.random.default_rng(s), mask, table(200), sign=1, step=0.1)
        for s in range(400)
    )
    near = flips[20:60].mean()
    assert near > 3 * flips[:20].mean()
    assert near > 3 * flips[100:].mean()


def test_the_number_of_flips_is_in_proportion_to_step_and_size():
    def mean(size, step):
        mask = np.arange(1000) < size
        return np.mean(
            [
                (
                    mask
                    ^ flip_near_boundary(
                        np.random.default_rng(s), mask, table(1000), sign=1, step=step
                    )
                ).sum()
                for s in range(200)
            ]
        )

    assert mean(400, 0.1) == pytest.approx(1 + 400 * 0.1 * 0.8, rel=0.2)
    assert mean(400, 0.02) < 0.4 * mean(400, 0.1)
    assert mean(5, 0.1) < 2


def test_dear_features_are_added_last():
    costs = np.where(np.arange(100) % 2, 1.0, 50.0)
    mask = np.arange(100) < 1
    added = sum(
        ~mask
        & flip_near_boundary(
            np.random.default_rng(s), mask, table(100, costs=costs), sign=1, step=0.1
        )
        for s in range(300)
    )
    assert added[1::2].sum() > 2 * added[2::2].sum()
