from __future__ import annotations

import moocore
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri

from optuna_mofs.samplers._hypervolume_gain import (
    dominance_penalty,
    dominance_tolerance,
    expected_hypervolume_gain,
    hypervolume_gain,
)


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


@pytest.mark.parametrize("m", [2, 3])
def test_tolerance_shrinks_with_the_front_and_the_budget(m: int) -> None:
    front = np.eye(m)
    assert (dominance_tolerance(front, 100) < dominance_tolerance(front, 0)).all()
    np.testing.assert_allclose(dominance_tolerance(front, 8), 1 / (m + (1 - 0.5**m) * 8))


# ---- expected gains -----------------------------------------------------------------------------

#: Standard normal quantiles: their mean is that of many draws, without the noise.
QUANTILES = ndtri((np.arange(4000) + 0.5) / 4000)


def random_case(m: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return means on a grid with ties, a front that is partly outside, and a reference point."""
    rng = np.random.default_rng(seed)
    front = moocore.filter_dominated(rng.integers(0, 12, (rng.integers(1, 8), m)) / 10)
    return rng.integers(-3, 16, (12, m)) / 10, front, np.ones(m)


def averaged_gain(
    means: np.ndarray, sds: np.ndarray, front: np.ndarray, reference: np.ndarray, z: np.ndarray
) -> np.ndarray:
    """Return the mean gain of points with the given standard normal outcomes."""
    gains = [
        hypervolume_gain(mean + sd * z, front, reference).mean() for mean, sd in zip(means, sds)
    ]
    return np.array(gains)


@settings(max_examples=20)
@given(st.sampled_from([(1, 0), (2, 0), (2, 1)]), st.floats(0.01, 1.5), st.integers(0, 10_000))
def test_expected_gains_with_one_uncertain_objective_are_exact(
    case: tuple[int, int], sd: float, seed: int
) -> None:
    m, uncertain = case
    means, front, reference = random_case(m, seed)
    sds = np.zeros(means.shape)
    sds[:, uncertain] = sd * np.linspace(0.1, 1, len(means))
    z = np.zeros((len(QUANTILES), m))
    z[:, uncertain] = QUANTILES
    found = expected_hypervolume_gain(means, sds, front, reference)
    expected = averaged_gain(means, sds, front, reference, z)
    np.testing.assert_allclose(found, expected, rtol=5e-3, atol=5e-4)


@settings(max_examples=30)
@given(st.integers(1, 2), st.integers(0, 10_000))
def test_the_expected_gain_of_certain_points_is_their_gain(m: int, seed: int) -> None:
    means, front, reference = random_case(m, seed)
    found = expected_hypervolume_gain(means, np.zeros(means.shape), front, reference)
    np.testing.assert_allclose(found, hypervolume_gain(means, front, reference), atol=1e-9)


@settings(max_examples=30)
@given(st.integers(1, 4), st.integers(0, 10_000))
def test_expected_gains_are_never_negative(m: int, seed: int) -> None:
    means, front, reference = random_case(m, seed)
    sds = np.random.default_rng(seed).exponential(0.3, means.shape)
    assert expected_hypervolume_gain(means, sds, front, reference).min() >= -1e-15
    known = sds * (np.arange(m) == 0)
    assert expected_hypervolume_gain(means, known, front, reference).min() >= -1e-15


@settings(max_examples=30)
@given(
    st.sampled_from([(1, 0), (2, 0), (2, 1)]),
    st.floats(0.01, 1.0),
    st.floats(1.1, 3.0),
    st.integers(0, 10_000),
)
def test_dominated_points_gain_by_uncertainty(
    case: tuple[int, int], sd: float, factor: float, seed: int
) -> None:
    m, uncertain = case
    front = random_case(m, seed)[1] * 0.9 / 1.2  # all inside
    means = front + np.random.default_rng(seed).random((len(front), m)) * 0.1
    sds = np.zeros(means.shape)
    sds[:, uncertain] = sd
    less = expected_hypervolume_gain(means, sds, front, np.ones(m))
    more = expected_hypervolume_gain(means, factor * sds, front, np.ones(m))
    assert (hypervolume_gain(means, front, np.ones(m)) == 0).all()
    assert (more >= less).all()
    assert more.max() > 0


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(3))
def test_several_uncertain_objectives_are_estimated(m: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    front = moocore.filter_dominated(rng.random((10, m)))
    reference = np.full(m, 1.1)
    means = rng.random((30, m)) * 0.8
    sds = rng.random((30, m)) * 0.2
    found = expected_hypervolume_gain(means, sds, front, reference)
    exact = averaged_gain(means, sds, front, reference, rng.standard_normal((500, m)))
    assert np.corrcoef(found, exact)[0, 1] > 0.95
    assert np.isclose(found.mean(), exact.mean(), rtol=0.2)
    # The best candidate of the estimate is among the best.
    assert exact[found.argmax()] >= 0.75 * exact.max()


@pytest.mark.parametrize("m", [2, 3, 4])
def test_without_a_front_the_gain_is_the_volume_up_to_the_reference(m: int) -> None:
    means, empty = np.full((1, m), 0.2), np.empty((0, m))
    sds = np.zeros((1, m))
    found = expected_hypervolume_gain(means, sds, empty, np.ones(m))
    assert np.isclose(found[0], 0.8**m, rtol=0.25)
    # The same if all members are worse than the reference point.
    outside = expected_hypervolume_gain(means, sds, np.full((1, m), 2.0), np.ones(m))
    assert outside[0] == found[0]
