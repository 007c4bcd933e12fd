from __future__ import annotations

import numpy as np
from scipy.stats import norm

from optuna_mofs.samplers._acquisition import (
    augmented_tchebycheff,
    expected_improvement,
    log_expected_improvement,
)


def test_expected_improvement_is_the_mean_of_draws() -> None:
    draws = np.random.default_rng(0).normal(0.4, 0.3, 200_000)
    found = expected_improvement(np.array([0.4]), np.array([0.3]), 0.5)
    assert np.isclose(found[0], np.maximum(0.5 - draws, 0).mean(), rtol=0.02)


def test_expected_improvement_without_uncertainty() -> None:
    found = expected_improvement(np.array([0.2, 0.7]), np.zeros(2), 0.5)
    np.testing.assert_allclose(found, [0.3, 0.0], atol=1e-9)


def test_the_logarithm_of_the_expected_improvement() -> None:
    mean, sd = np.linspace(-2, 6, 30), np.linspace(0.5, 2, 30)
    found = log_expected_improvement(mean, sd, 0.1)
    np.testing.assert_allclose(found, np.log(expected_improvement(mean, sd, 0.1)), rtol=1e-9)


def test_the_logarithm_is_finite_and_decreasing_where_the_improvement_underflows() -> None:
    mean = np.linspace(7, 300, 400)
    found = log_expected_improvement(mean, np.ones(400), 0.0)
    assert (np.diff(found) < 0).all()
    # The asymptotic series: the density over the squared distance.
    np.testing.assert_allclose(found[-1], norm.logpdf(300) - 2 * np.log(300), rtol=1e-9)


def test_the_norm_broadcasts_points_against_weights() -> None:
    losses = np.array([[0.2, 0.8], [0.5, 0.1]])
    weights = np.array([[0.5, 0.5], [1.0, 0.0], [0.2, 0.8]])
    table = augmented_tchebycheff(losses[:, None], weights, 0.1)
    assert table.shape == (2, 3)
    for i in range(2):
        for k in range(3):
            weighted = losses[i] * weights[k]
            assert np.isclose(table[i, k], weighted.max() + 0.1 * weighted.sum())


def test_infinite_losses_without_the_sum() -> None:
    assert augmented_tchebycheff(np.array([[np.inf, 1.0]]), np.ones(2), 0.0).tolist() == [np.inf]
