from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from optuna_mofs.samplers.gaussian import likelihood
from optuna_mofs.samplers.gaussian.likelihood import most_likely
from optuna_mofs.samplers.gaussian.process import normal_scores
from tests.samplers.gaussian.numbers import numbers


def test_the_slopes_of_the_likelihood_are_right(monkeypatch):
    rng = np.random.default_rng(1)
    points = numbers(rng.random((15, 3)))
    z = rng.standard_normal(15)
    caught = {}

    def catch(loss, start, **options):
        caught.update(loss=loss, start=start)
        return type("Found", (), {"x": start})

    monkeypatch.setattr(likelihood, "minimize", catch)
    most_likely(points.squares(points), z)
    at = caught["start"] + [0.3, -0.2, 0.1, 0.4]
    _, slopes = caught["loss"](at)
    np.testing.assert_allclose(
        slopes, approx_fprime(at, lambda x: caught["loss"](x)[0], 1e-6), rtol=1e-3, atol=1e-3
    )
    # Up to a constant it is the density, at the mean and variance that are most likely.
    other = caught["start"]
    differences = []
    for scales in (at, other):
        r = np.sqrt(3 * np.tensordot(np.exp(-2 * scales[:-1]), points.squares(points), 1))
        K = (1 + r) * np.exp(-r) + np.exp(scales[-1]) * np.eye(15)
        inverse = np.linalg.inv(K)
        mu = (inverse @ z).sum() / inverse.sum()
        variance = (z - mu) @ inverse @ (z - mu) / 15
        density = multivariate_normal(np.full(15, mu), variance * K).logpdf(z)
        prior = ((scales[:-1] - caught["start"][:-1]) / 1.5) ** 2
        differences.append(caught["loss"](scales)[0] - (0.5 * prior.sum() - density))
    assert differences[0] == pytest.approx(differences[1])


def test_it_finds_out_which_parameter_matters():
    rng = np.random.default_rng(2)
    points = numbers(rng.random((40, 4)))
    z = normal_scores(np.sin(6 * points.rows[:, 2]))
    lengths = most_likely(points.squares(points), z)[:-1]
    assert np.argmin(lengths) == 2
    assert lengths[2] < np.delete(lengths, 2).min() - 1
