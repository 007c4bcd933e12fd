from __future__ import annotations

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers._hypervolume_gain import (
    dominance_penalty,
    dominance_tolerance,
    hypervolume_gain,
)
from optuna_mofs.samplers.model_based._smsego import penalized_gain


def added(points: np.ndarray, front: np.ndarray, reference: np.ndarray) -> np.ndarray:
    before = moocore.hypervolume(front, ref=reference)
    return np.array(
        [moocore.hypervolume(np.vstack([front, p]), ref=reference) - before for p in points]
    )


@settings(max_examples=25)
@given(st.integers(2, 3), st.integers(1, 9), st.integers(0, 10_000))
def test_gain_is_the_added_hypervolume(m: int, size: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    front = moocore.filter_dominated(rng.integers(0, 12, (size, m)) / 10)
    points = rng.integers(-2, 14, (20, m)) / 10
    reference = np.ones(m)  # some points of the front are worse
    found = hypervolume_gain(points, front, reference)
    np.testing.assert_allclose(found, added(points, front, reference), atol=1e-12)


def test_more_objectives_are_estimated() -> None:
    rng = np.random.default_rng(0)
    front = moocore.filter_dominated(rng.random((10, 4)))
    points = rng.random((30, 4)) * 0.5
    found = hypervolume_gain(points, front, np.full(4, 1.1))
    exact = added(points, front, np.full(4, 1.1))
    assert np.corrcoef(found, exact)[0, 1] > 0.98
    assert np.isclose(found.mean(), exact.mean(), rtol=0.1)


def test_one_objective() -> None:
    found = hypervolume_gain(np.array([[0.2], [0.9]]), np.array([[0.5]]), np.array([1.0]))
    assert found.tolist() == [0.3, 0.0]


def test_penalty_grows_with_the_distance_to_the_front() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    points = np.array([[1.2, 0.2], [1.5, 1.5], [0.5, 0.5]])
    found = dominance_penalty(points, front, np.zeros(2))
    assert found[2] == -1
    assert np.isclose(found[0], 1.2 * 1.2 - 1)
    assert found[1] > found[0]


def test_epsilon_dominated_points_are_penalized() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    near = np.array([[0.99, 0.001], [0.5, 0.5]])
    epsilon = np.full(2, 0.05)
    strict = penalized_gain(near, front, np.full(2, 2.0), np.zeros(2))
    loose = penalized_gain(near, front, np.full(2, 2.0), epsilon)
    assert strict[0] > 0 > loose[0]
    assert strict[1] == loose[1] > 0


@pytest.mark.parametrize("m", [2, 3])
def test_tolerance_shrinks_with_the_front_and_the_budget(m: int) -> None:
    front = np.eye(m)
    assert (dominance_tolerance(front, 100) < dominance_tolerance(front, 0)).all()
    np.testing.assert_allclose(dominance_tolerance(front, 8), 1 / (m + (1 - 0.5**m) * 8))
