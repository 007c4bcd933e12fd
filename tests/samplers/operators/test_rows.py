from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import (
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.rows import (
    adapt_rate,
    adapt_step,
    cross_rows,
    fill_missing,
    mutate_rows,
    reflect,
    sbx,
)

SPACE = ParameterSpace(
    {
        "x": FloatDistribution(-1, 1),
        "n": IntDistribution(1, 100, log=True),
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "flag": CategoricalDistribution([False, True]),
    }
)
SEEDS = st.integers(0, 10_000)


@settings(deadline=None, max_examples=60)
@given(SEEDS)
def test_children_are_in_the_space(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = SPACE.sample(rng, 2)
    for child in (
        cross_rows(rng, SPACE, a, b),
        mutate_rows(rng, SPACE, a, step=0.7, rate=0.9),
    ):
        assert (child >= 0).all()
        assert (child[~SPACE.categorical] <= 1).all()
        assert (child[SPACE.categorical] < SPACE.cells[SPACE.categorical]).all()
        assert set(SPACE.decode(child)) == set(SPACE.names)


@settings(deadline=None, max_examples=60)
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


def test_mutation_moves_as_far_as_its_step() -> None:
    rng = np.random.default_rng(0)
    space = ParameterSpace({f"x{i}": FloatDistribution(0, 1) for i in range(4000)})
    middle = np.full(4000, 0.5)
    moved = mutate_rows(rng, space, middle, step=0.05, rate=0.0)
    assert 0.047 < np.std(moved - middle) < 0.053
    few = mutate_rows(rng, space, middle, step=0.05, rate=0.0, per_parameter=0.1)
    assert 0.08 < np.mean(few != middle) < 0.12


def test_a_switched_category_is_another_one() -> None:
    rng = np.random.default_rng(0)
    space = ParameterSpace({f"k{i}": CategoricalDistribution("abcd") for i in range(3000)})
    row = np.full(3000, 2.0)
    switched = mutate_rows(rng, space, row, step=0.0, rate=1.0)
    assert not (switched == 2.0).any()
    shares = [np.mean(switched == k) for k in (0, 1, 3)]
    assert all(0.29 < s < 0.38 for s in shares)


@given(st.floats(-3, 3))
def test_reflection_stays_inside_and_is_continuous(x: float) -> None:
    y = reflect(np.array([x, x + 1e-9]))
    assert ((y >= 0) & (y <= 1)).all()
    assert abs(y[0] - y[1]) < 1e-8


@given(SEEDS, st.floats(0.001, 0.5), st.integers(0, 10))
def test_adaptation_keeps_its_bounds(seed: int, value: float, dimension: int) -> None:
    rng = np.random.default_rng(seed)
    assert 0.001 <= adapt_step(rng, value, dimension) <= 0.5
    assert 1 / (3 * max(1, dimension)) <= adapt_rate(rng, value, dimension) <= 0.5
