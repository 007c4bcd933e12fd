from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.differential import (
    differential_mask,
    differential_rows,
    polynomial_mutation,
)

SPACE = ParameterSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c", "d"]),
        "n": IntDistribution(1, 9),
        "x": FloatDistribution(0, 1),
    }
)
seeds = st.integers(0, 10_000)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, rounded=st.booleans())
def test_children_are_valid_rows(seed, rounded):
    rng = np.random.default_rng(seed)
    rows = SPACE.sample(rng, 3)
    child = differential_rows(rng, SPACE, *rows, scale=1.0, rounded=rounded)
    child = polynomial_mutation(rng, SPACE, child, rate=1.0, rounded=rounded)
    assert child[0] in range(4)
    assert ((child[1:] >= 0) & (child[1:] <= 1)).all()


def test_a_category_changes_only_where_the_two_disagree():
    base, same = np.array([0.0, 0.5, 0.5]), np.array([2.0, 0.5, 0.5])
    rng = np.random.default_rng(0)
    kept = [differential_rows(rng, SPACE, base, same, same, scale=1.0) for _ in range(20)]
    assert {row[0] for row in kept} == {0.0}
    other = np.array([3.0, 0.5, 0.5])
    moved = [differential_rows(rng, SPACE, base, same, other, scale=0.5) for _ in range(60)]
    assert {row[0] for row in moved} == {0.0, 2.0}


def test_rounded_categories_move_as_numbers():
    base, first, second = (np.array([v, 0.5, 0.5]) for v in (0.0, 3.0, 1.0))
    child = differential_rows(
        np.random.default_rng(0), SPACE, base, first, second, rate=1.0, rounded=True
    )
    assert child[0] == 1.0  # 0 + 0.5 * (3 - 1)


def test_what_a_row_lacks_comes_from_another_and_stays_missing_where_none_has_it():
    base = np.array([0.0, np.nan, np.nan])
    first = np.array([0.0, 0.3, np.nan])
    child = differential_rows(np.random.default_rng(0), SPACE, base, first, base, rate=0.0)
    assert child[1] == pytest.approx(0.3)
    assert np.isnan(child[2])


def test_several_rows_at_once_move_each_by_its_own_difference():
    rng = np.random.default_rng(0)
    base, first, second = (SPACE.sample(rng, 50) for _ in range(3))
    moved = differential_rows(rng, SPACE, base, first, second, rate=0.0)
    # With a rate of 0 exactly one parameter takes part, a category only if it changes.
    assert ((moved != base).sum(axis=1) <= 1).all()
    column = moved[:, 2] != base[:, 2]
    raw = (base + 0.5 * (first - second))[:, 2]
    inside = column & (raw >= 0) & (raw <= 1)
    np.testing.assert_allclose(moved[inside, 2], raw[inside])
    assert polynomial_mutation(rng, SPACE, moved, rate=1.0).shape == moved.shape


def test_mutation_is_small_and_rare():
    row = np.array([1.0, 0.5, 0.5])
    rng = np.random.default_rng(0)
    made = np.array([polynomial_mutation(rng, SPACE, row) for _ in range(2000)])
    changed = made != row
    assert changed.mean() == pytest.approx(0.1, abs=0.02)
    assert np.abs(made[:, 2] - 0.5).max() < 0.5
    assert np.median(np.abs(made[:, 2] - 0.5)[changed[:, 2]]) < 0.06


@settings(max_examples=30, deadline=None)
@given(seed=seeds)
def test_masks_take_bits_only_where_the_two_disagree(seed):
    rng = np.random.default_rng(seed)
    base, first, second = rng.random((3, 40)) < 0.5
    child = differential_mask(rng, base, first, second, scale=1.0, rate=1.0)
    np.testing.assert_array_equal(child, np.where(first != second, first, base))
