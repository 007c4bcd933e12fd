from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs.samplers._acquisition import augmented_tchebycheff
from optuna_mofs.samplers._training_data import ObjectiveScale
from optuna_mofs.samplers.model_based._parego import (
    batch_weights,
    gap_weights,
    most_distinct,
    weight_vectors,
)


def test_scale_of_plain_values() -> None:
    values = np.array([[0.0, 10.0], [1.0, 5.0], [2.0, 0.0]])
    feasible = np.zeros(3)
    scale = ObjectiveScale.fit(values, feasible)
    np.testing.assert_allclose(scale(values, feasible), [[0, 1], [0.5, 0.5], [1, 0]])
    np.testing.assert_allclose(scale.inverse(scale.linear(values)), values)


def test_one_extreme_value_does_not_compress_the_others() -> None:
    values = np.array([[0.0, 1.0], [0.5, 0.5], [1.0, 0.0], [1e6, 1e6], [1e300, 0.5]])
    scaled = ObjectiveScale.fit(values, np.zeros(5))(values, np.zeros(5))
    np.testing.assert_allclose(scaled[:3], values[:3])
    assert (scaled[3:, 0] <= 2).all()


def test_a_constant_objective_stays_constant_and_finite() -> None:
    values = np.array([[0.3, 1.0], [0.3, 2.0]])
    scaled = ObjectiveScale.fit(values, np.zeros(2))(values, np.zeros(2))
    assert scaled[:, 0].tolist() == [0, 0]
    huge = np.full((3, 2), -1e300)
    assert np.isfinite(ObjectiveScale.fit(huge, np.zeros(3))(huge, np.zeros(3))).all()


def test_infeasible_trials_come_last() -> None:
    values = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    violations = np.array([1.0, 0.0, 3.0])
    scaled = ObjectiveScale.fit(values, violations)(values, violations)
    assert scaled[1].max() < scaled[0].min() < scaled[2].min()


@settings(max_examples=40)
@given(arrays(float, (6, 2), elements=st.floats(-5, 5)), st.integers(0, 50))
def test_scaling_and_norm_keep_dominance(values: np.ndarray, number: int) -> None:
    scaled = ObjectiveScale.fit(values, np.zeros(6))(values, np.zeros(6))
    norm = augmented_tchebycheff(scaled, weight_vectors(np.array([number]), 2, np.array([0.3])))
    for i in range(6):
        for j in range(6):
            if (values[i] <= values[j]).all():
                assert norm[i] <= norm[j] + 1e-12


def least(points: np.ndarray) -> float:
    apart = np.abs(points[:, None] - points).sum(axis=2)
    return float(apart[~np.eye(len(points), dtype=bool)].min())


@pytest.mark.parametrize("workers", [4, 8])
@pytest.mark.parametrize("count", [2, 3, 4, 6])
def test_trials_that_run_in_parallel_have_distinct_weights(count: int, workers: int) -> None:
    rng = np.random.default_rng(1)
    chance = np.median([least(rng.dirichlet(np.ones(count), workers)) for _ in range(50)])
    for seed in range(6):
        offset = np.random.default_rng(seed).random(count - 1)
        weights = np.empty((0, count))
        for number in range(37 * seed, 37 * seed + workers):
            drawn = weight_vectors(number + np.arange(10), count, offset)
            new = most_distinct(drawn, weights)
            weights = np.vstack([weights, new])
        np.testing.assert_allclose(weights.sum(axis=1), 1)
        assert (weights >= 0).all()
        assert least(weights) > 1.5 * chance


@pytest.mark.parametrize("count", [2, 3])
def test_weights_of_workers_that_do_not_see_each_other(count: int) -> None:
    offset = np.random.default_rng(0).random(count - 1)
    weights = weight_vectors(np.arange(37, 41), count, offset)
    assert least(weights) > 0.25


def test_weights_are_uniform_in_the_long_run() -> None:
    weights = weight_vectors(np.arange(2000), 3, np.zeros(2))
    np.testing.assert_allclose(weights.mean(axis=0), 1 / 3, atol=0.01)
    assert np.isclose((weights[:, 0] > 0.5).mean(), 0.25, atol=0.02)


@pytest.mark.parametrize("m", [2, 3])
def test_weights_of_a_batch_of_the_papers_are_on_a_grid_and_apart(m: int) -> None:
    rng = np.random.default_rng(0)
    batches = [batch_weights(rng, 4, m) for _ in range(100)]
    weights = np.concatenate(batches)
    np.testing.assert_allclose(weights.sum(axis=1), 1)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights * 100_000, np.rint(weights * 100_000), atol=1e-6)
    # Without thinning, the closest two of four random weights are much closer.
    chance = np.median([least(rng.dirichlet(np.ones(m), 4)) for _ in range(100)])
    assert np.median([least(batch) for batch in batches]) > 1.5 * chance


BENT = np.array([[0.0, 1.0], [0.02, 0.4], [0.05, 0.05], [0.4, 0.02], [1.0, 0.0]])


def test_weights_by_gaps_reach_the_arms_of_a_bent_front() -> None:
    positions = (np.arange(200) + 0.5) / 200
    by_gaps = gap_weights(BENT, np.zeros(2), positions)
    assert by_gaps is not None
    uniform = np.column_stack([1 - positions, positions])
    np.testing.assert_allclose(by_gaps.sum(axis=1), 1)

    def middle(weights: np.ndarray) -> float:
        """How often the bend has the least norm."""
        norms = augmented_tchebycheff(BENT, weights[:, None])
        return float((norms.argmin(axis=1) == 2).mean())

    assert middle(by_gaps) < 0.6 < middle(uniform)


def test_weights_by_gaps_lead_past_the_ends_of_the_front() -> None:
    front = np.array([[0.4, 0.6], [0.6, 0.4]])
    weights = gap_weights(front, np.zeros(2), np.array([0.02, 0.5, 0.98]))
    assert weights is not None
    np.testing.assert_allclose(weights[1], 0.5)
    ends = 1 / front / (1 / front).sum(axis=1, keepdims=True)
    assert weights[0, 0] > ends[0, 0]
    assert weights[2, 0] < ends[1, 0]


def test_a_front_without_gaps_has_no_weights() -> None:
    assert gap_weights(np.zeros((1, 2)), np.zeros(2), np.array([0.3])) is None
