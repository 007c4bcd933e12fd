from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs.samplers.model_based._parego import (
    gap_weights,
    tchebycheff,
    weight_vector,
    weights_apart,
)
from optuna_mofs.samplers.model_based._training_data import Scale


def test_scale_of_plain_values() -> None:
    values = np.array([[0.0, 10.0], [1.0, 5.0], [2.0, 0.0]])
    feasible = np.zeros(3)
    scale = Scale.of(values, feasible)
    np.testing.assert_allclose(scale(values, feasible), [[0, 1], [0.5, 0.5], [1, 0]])
    np.testing.assert_allclose(scale.raw(scale.linear(values)), values)


def test_one_absurd_value_does_not_squeeze_the_others() -> None:
    values = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1e6, 1e6], [1e300, 0.5]])
    scaled = Scale.of(values, np.zeros(5))(values, np.zeros(5))
    np.testing.assert_allclose(scaled[:3], values[:3])
    assert (scaled[3:, 0] <= 2).all()


def test_a_constant_objective_stays_constant_and_finite() -> None:
    values = np.array([[0.3, 1.0], [0.3, 2.0]])
    scaled = Scale.of(values, np.zeros(2))(values, np.zeros(2))
    assert scaled[:, 0].tolist() == [0, 0]
    huge = np.full((3, 2), -1e300)
    assert np.isfinite(Scale.of(huge, np.zeros(3))(huge, np.zeros(3))).all()


def test_violations_come_last() -> None:
    values = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    violations = np.array([1.0, 0.0, 3.0])
    scaled = Scale.of(values, violations)(values, violations)
    assert scaled[1].max() < scaled[0].min() < scaled[2].min()


@settings(max_examples=40)
@given(arrays(float, (6, 2), elements=st.floats(-5, 5)), st.integers(0, 50))
def test_scaling_and_norm_keep_dominance(values: np.ndarray, number: int) -> None:
    scaled = Scale.of(values, np.zeros(6))(values, np.zeros(6))
    norm = tchebycheff(scaled, weight_vector(number, 2, np.array([0.3])))
    for i in range(6):
        for j in range(6):
            if (values[i] <= values[j]).all():
                assert norm[i] <= norm[j] + 1e-12


def drawn(count: int, offset: np.ndarray, number: int) -> np.ndarray:
    return weight_vector(number, count, offset)


def least(points: np.ndarray) -> float:
    apart = np.abs(points[:, None] - points).sum(axis=2)
    return float(apart[~np.eye(len(points), dtype=bool)].min())


@pytest.mark.parametrize("workers", [4, 8])
@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_weights_are_spread_over_trials_that_run_together(count: int, workers: int) -> None:
    rng = np.random.default_rng(1)
    chance = np.median([least(rng.dirichlet(np.ones(count), workers)) for _ in range(50)])
    for seed in range(6):
        offset = np.random.default_rng(seed).random(count - 1)
        weights = np.empty((0, count))
        for number in range(37 * seed, 37 * seed + workers):
            new = weights_apart(number, partial(drawn, count, offset), weights)
            weights = np.vstack([weights, new])
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert (weights >= 0).all()
        assert least(weights) > 1.5 * chance


@pytest.mark.parametrize("count", [2, 3])
def test_weights_of_workers_that_do_not_see_each_other(count: int) -> None:
    offset = np.random.default_rng(0).random(count - 1)
    weights = np.array([weight_vector(n, count, offset) for n in range(37, 41)])
    assert least(weights) > 0.25


def test_weights_are_uniform_in_the_long_run() -> None:
    weights = np.array([weight_vector(n, 3, np.zeros(2)) for n in range(2000)])
    np.testing.assert_allclose(weights.mean(axis=0), 1 / 3, atol=0.01)
    assert np.isclose((weights[:, 0] > 0.5).mean(), 0.25, atol=0.02)


BENT = np.array([[0.0, 1.0], [0.02, 0.4], [0.05, 0.05], [0.4, 0.02], [1.0, 0.0]])


def test_weights_by_gaps_reach_the_arms_of_a_bent_front() -> None:
    places = (np.arange(200) + 0.5) / 200
    by_gaps = np.array([gap_weights(BENT, np.zeros(2), place) for place in places])
    evenly = np.column_stack([1 - places, places])
    np.testing.assert_allclose(by_gaps.sum(axis=1), 1)

    def middle(weights: np.ndarray) -> float:
        """How often the bend has the least norm."""
        norms = np.array([tchebycheff(BENT, w) for w in weights])
        return float((norms.argmin(axis=1) == 2).mean())

    assert middle(by_gaps) < 0.6 < middle(evenly)


def test_weights_by_gaps_ask_for_more_than_the_ends() -> None:
    front = np.array([[0.4, 0.6], [0.6, 0.4]])
    asked = np.array([gap_weights(front, np.zeros(2), place) for place in (0.02, 0.5, 0.98)])
    np.testing.assert_allclose(asked[1], 0.5)
    ends = 1 / front / (1 / front).sum(axis=1, keepdims=True)
    assert asked[0, 0] > ends[0, 0]
    assert asked[2, 0] < ends[1, 0]


def test_a_front_without_gaps_has_no_weights() -> None:
    assert gap_weights(np.zeros((1, 2)), np.zeros(2), 0.3) is None
