from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.samplers._row_operators import (
    AdaptiveNote,
    adaptive_mutation,
    cross_rows,
    differential_rows,
    fill_missing,
    gaussian_mutation,
    other_category,
    polynomial_mutation,
    reflect,
    sbx,
    vary_row,
)

SPACE = SearchSpace(
    {
        "x": FloatDistribution(-1, 1),
        "n": IntDistribution(1, 100, log=True),
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "flag": CategoricalDistribution([False, True]),
    }
)

SEEDS = st.integers(0, 10_000)


@settings(max_examples=60)
@given(SEEDS)
def test_children_are_in_the_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = SPACE.sample(rng, 2)
    for child in (
        cross_rows(rng, SPACE, a, b),
        gaussian_mutation(rng, SPACE, a, step_size=0.7, switch_prob=0.9),
    ):
        assert (child >= 0).all()
        assert (child[~SPACE.categorical] <= 1).all()
        assert (child[SPACE.categorical] < SPACE.cells[SPACE.categorical]).all()
        assert set(SPACE.decode(child)) == set(SPACE.names)


@settings(max_examples=60)
@given(SEEDS)
def test_categories_come_from_a_parent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = SPACE.sample(rng, 2)
    child = cross_rows(rng, SPACE, a, b)
    assert all(child[j] in (a[j], b[j]) for j in (2, 3))


def test_a_missing_value_is_taken_from_the_other_parent_or_drawn() -> None:
    rng = np.random.default_rng(0)
    a = np.array([0.5, np.nan, np.nan, 1.0])
    b = np.array([0.5, 0.25, np.nan, 1.0])
    child = cross_rows(rng, SPACE, a, b)
    assert child[1] == 0.25
    assert np.isnan(child[2])
    filled = fill_missing(rng, SPACE, child)
    assert filled[1] == 0.25
    assert filled[2] in (0, 1, 2)


def test_sbx_keeps_the_mean_and_spreads_by_eta() -> None:
    rng = np.random.default_rng(0)
    first, second = np.full(20_000, 0.4), np.full(20_000, 0.6)
    for eta in (2.0, 20.0):
        child = sbx(rng, first, second, eta)
        assert abs(child.mean() - 0.5) < 0.005
    near = np.abs(np.abs(sbx(rng, first, second, 20.0) - 0.5) - 0.1).mean()
    far = np.abs(np.abs(sbx(rng, first, second, 2.0) - 0.5) - 0.1).mean()
    assert near < 0.3 * far


def test_gaussian_mutation_moves_by_its_step_size() -> None:
    rng = np.random.default_rng(0)
    space = SearchSpace({f"x{i}": FloatDistribution(0, 1) for i in range(4000)})
    middle = np.full(4000, 0.5)
    moved = gaussian_mutation(rng, space, middle, step_size=0.05, switch_prob=0.0)
    assert 0.047 < np.std(moved - middle) < 0.053
    few = gaussian_mutation(
        rng, space, middle, step_size=0.05, switch_prob=0.0, per_parameter_prob=0.1
    )
    assert 0.08 < np.mean(few != middle) < 0.12


def test_a_switched_category_differs() -> None:
    rng = np.random.default_rng(0)
    space = SearchSpace({f"k{i}": CategoricalDistribution("abcd") for i in range(3000)})
    row = np.full(3000, 2.0)
    switched = gaussian_mutation(rng, space, row, step_size=0.0, switch_prob=1.0)
    assert not (switched == 2.0).any()
    shares = [np.mean(switched == k) for k in (0, 1, 3)]
    assert all(0.29 < s < 0.38 for s in shares)


@given(st.floats(-3, 3))
def test_reflection_stays_inside_and_is_continuous(x: float) -> None:
    y = reflect(np.array([x, x + 1e-9]))
    assert ((y >= 0) & (y <= 1)).all()
    assert abs(y[0] - y[1]) < 1e-8


@given(SEEDS, st.floats(0.001, 0.5), st.integers(0, 10))
def test_adapted_parameters_stay_within_their_bounds(
    seed: int, value: float, dimension: int
) -> None:
    rng = np.random.default_rng(seed)
    space = SearchSpace({f"x{i}": FloatDistribution(0, 1) for i in range(dimension)})
    before = AdaptiveNote(step_size=value, switch_prob=value)
    row, note = adaptive_mutation(rng, space, space.sample(rng)[0], before)
    assert len(row) == dimension
    assert 0.001 <= note.step_size <= 0.5
    assert 1 / (3 * max(1, dimension)) <= note.switch_prob <= 0.5


DIFFERENTIAL_SPACE = SearchSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c", "d"]),
        "n": IntDistribution(1, 9),
        "x": FloatDistribution(0, 1),
    }
)

seeds = st.integers(0, 10_000)


@settings(max_examples=40)
@given(seed=seeds, rounded=st.booleans())
def test_children_are_valid_rows(seed, rounded):
    rng = np.random.default_rng(seed)
    rows = DIFFERENTIAL_SPACE.sample(rng, 3)
    child = differential_rows(rng, DIFFERENTIAL_SPACE, *rows, scale=1.0, round_categories=rounded)
    child = polynomial_mutation(rng, DIFFERENTIAL_SPACE, child, prob=1.0, round_categories=rounded)
    assert child[0] in range(4)
    assert ((child[1:] >= 0) & (child[1:] <= 1)).all()


def test_a_category_changes_only_where_the_two_disagree():
    base, same = np.array([0.0, 0.5, 0.5]), np.array([2.0, 0.5, 0.5])
    rng = np.random.default_rng(0)
    kept = [
        differential_rows(rng, DIFFERENTIAL_SPACE, base, same, same, scale=1.0) for _ in range(20)
    ]
    assert {row[0] for row in kept} == {0.0}
    other = np.array([3.0, 0.5, 0.5])
    moved = [
        differential_rows(rng, DIFFERENTIAL_SPACE, base, same, other, scale=0.5) for _ in range(60)
    ]
    assert {row[0] for row in moved} == {0.0, 2.0}


def test_rounded_categories_move_as_numbers():
    base, first, second = (np.array([v, 0.5, 0.5]) for v in (0.0, 3.0, 1.0))
    child = differential_rows(
        np.random.default_rng(0),
        DIFFERENTIAL_SPACE,
        base,
        first,
        second,
        crossover_prob=1.0,
        round_categories=True,
    )
    assert child[0] == 1.0  # 0 + 0.5 * (3 - 1)


def test_missing_values_come_from_another_row_if_one_has_them():
    base = np.array([0.0, np.nan, np.nan])
    first = np.array([0.0, 0.3, np.nan])
    child = differential_rows(
        np.random.default_rng(0), DIFFERENTIAL_SPACE, base, first, base, crossover_prob=0.0
    )
    assert child[1] == pytest.approx(0.3)
    assert np.isnan(child[2])


def test_each_of_several_rows_moves_by_its_own_difference():
    rng = np.random.default_rng(0)
    base, first, second = (DIFFERENTIAL_SPACE.sample(rng, 50) for _ in range(3))
    moved = differential_rows(rng, DIFFERENTIAL_SPACE, base, first, second, crossover_prob=0.0)
    # With a probability of 0 exactly one parameter takes part, a category only if it changes.
    assert ((moved != base).sum(axis=1) <= 1).all()
    column = moved[:, 2] != base[:, 2]
    raw = (base + 0.5 * (first - second))[:, 2]
    inside = column & (raw >= 0) & (raw <= 1)
    np.testing.assert_allclose(moved[inside, 2], raw[inside])
    assert polynomial_mutation(rng, DIFFERENTIAL_SPACE, moved, prob=1.0).shape == moved.shape


def test_polynomial_mutation_is_small_and_rare():
    row = np.array([1.0, 0.5, 0.5])
    rng = np.random.default_rng(0)
    made = np.array([polynomial_mutation(rng, DIFFERENTIAL_SPACE, row) for _ in range(2000)])
    changed = made != row
    assert changed.mean() == pytest.approx(0.1, abs=0.02)
    assert np.abs(made[:, 2] - 0.5).max() < 0.5
    assert np.median(np.abs(made[:, 2] - 0.5)[changed[:, 2]]) < 0.06


ROWS_SPACE = SearchSpace(
    {"C": FloatDistribution(0, 1), "kind": CategoricalDistribution(["a", "b"])}
)


def test_without_parameters_the_row_stays_empty() -> None:
    rng, space = np.random.default_rng(0), SearchSpace({})
    note = AdaptiveNote(step_size=0.2)
    row, changed = vary_row(rng, space, (np.zeros(0), np.zeros(0)), note, must_change=False)
    assert (len(row), changed) == (0, note)


def test_rows_are_kept_mutated_or_crossed() -> None:
    rng = np.random.default_rng(0)
    parents = (ROWS_SPACE.sample(rng)[0], ROWS_SPACE.sample(rng)[0])
    note = AdaptiveNote(step_size=0.2, switch_prob=0.3)
    kept = adapted = 0
    for _ in range(400):
        row, changed = vary_row(rng, ROWS_SPACE, parents, note, must_change=False)
        kept += bool((row == parents[0]).all())
        adapted += changed != note
    assert 150 < kept < 280
    assert 110 < adapted < 170


def test_a_row_that_must_change_mostly_does() -> None:
    rng = np.random.default_rng(0)
    parents = (ROWS_SPACE.sample(rng)[0], ROWS_SPACE.sample(rng)[0])
    rows = [
        vary_row(rng, ROWS_SPACE, parents, AdaptiveNote(), must_change=True)[0] for _ in range(200)
    ]
    assert sum(bool((row == parents[0]).all()) for row in rows) < 20


@given(SEEDS)
def test_other_category_is_never_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows = SPACE.sample(rng, 20)
    other = other_category(rng, SPACE, rows)[:, SPACE.categorical]
    assert (other != rows[:, SPACE.categorical]).all()
    assert (other < SPACE.cells[SPACE.categorical]).all()
