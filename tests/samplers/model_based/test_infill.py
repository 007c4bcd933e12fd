from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.model_based.infill import LowerConfidenceBound, expected_improvement


def test_bound() -> None:
    bound = LowerConfidenceBound(2.0)(np.array([1.0]), np.array([0.25]), 9.9)
    assert bound.tolist() == [0.5]


def test_improvement_is_the_mean_of_draws() -> None:
    draws = np.random.default_rng(0).normal(0.4, 0.3, 200_000)
    found = expected_improvement(np.array([0.4]), np.array([0.3]), 0.5)
    assert np.isclose(-found[0], np.maximum(0.5 - draws, 0).mean(), rtol=0.02)


def test_improvement_without_doubt() -> None:
    found = expected_improvement(np.array([0.2, 0.7]), np.zeros(2), 0.5)
    np.testing.assert_allclose(found, [-0.3, 0.0], atol=1e-9)
