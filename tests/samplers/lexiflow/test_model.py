from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import multivariate_normal

from optuna_mofs.samplers.lexiflow import model
from optuna_mofs.samplers.lexiflow.model import Points, Process, most_likely, normal_scores


def numbers(rows):
    rows = np.asarray(rows, dtype=float)
    return Points(rows, np.zeros(rows.shape[1], dtype=bool))


def test_each_parameter_has_its_own_distance():
    rows = np.array([[0.0, 0.0], [0.5, 2.0], [0.5, np.nan], [np.nan, np.nan]])
    points = Points(rows, np.array([False, True]))
    first, second = points.squares(points)
    np.testing.assert_allclose(first[0], [0, 0.25, 0.25, 1])
    np.testing.assert_allclose(first[3], [1, 1, 1, 0])
    np.testing.assert_allclose(second[1], [1, 0, 1, 1])
    np.testing.assert_allclose(second[2], [1, 1, 0, 0])


def test_masks_differ_by_what_they_do_not_share_and_by_size():
    masks = np.array([[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]], dtype=bool)
    points = Points(np.empty((4, 0)), np.zeros(0, dtype=bool), masks)
    shared, sizes = points.squares(points[np.array([0, 3])])
    np.testing.assert_allclose(shared[:, 0], [0, 0.5, 1, 1], atol=1e-6)
    np.testing.assert_allclose(shared[:, 1], [1, 1, 1, 0], atol=1e-6)
    assert sizes[2, 0] == 0
    assert 0 < sizes[1, 0] < sizes[3, 0]


def test_scores_keep_the_order_and_no_value_is_far_off():
    values = np.array([3.0, 1.0, 1e300, 2.0, 1.0])
    scores = normal_scores(values)
    np.testing.assert_array_equal(np.argsort(scores, kind="stable"), [1, 4, 3, 0, 2])
    assert scores[1] == scores[4]
    assert np.abs(scores).max() < 2


def test_it_agrees_with_the_textbook():
    """Conditioning of a multivariate normal distribution, with the mean that is most likely."""
    rng = np.random.default_rng(0)
    seen, new = numbers(rng.random((12, 2))), numbers(rng.random((5, 2)))
    z = rng.standard_normal(12)
    scales = np.log([0.5, 0.8, 0.01])

    def kernel(a, b):
        r = np.sqrt(3 * (((a.rows[:, None] - b.rows[None]) / [0.5, 0.8]) ** 2).sum(axis=2))
        return (1 + r) * np.exp(-r)

    K = kernel(seen, seen) + 0.01 * np.eye(12)
    inverse = np.linalg.inv(K)
    mu = (inverse @ z).sum() / inverse.sum()
    variance = (z - mu) @ inverse @ (z - mu) / 12
    k = kernel(new, seen)
    mean, sd = Process(seen.squares(seen), z, scales).predict(new.squares(seen))
    np.testing.assert_allclose(mean, mu + k @ inverse @ (z - mu))
    np.testing.assert_allclose(sd**2, variance * (1 - np.einsum("ij,jk,ik->i", k, inverse, k)))


def test_the_slopes_of_the_likelihood_are_right(monkeypatch):
    rng = np.random.default_rng(1)
    points = numbers(rng.random((15, 3)))
    z = rng.standard_normal(15)
    caught = {}

    def catch(loss, start, **options):
        caught.update(loss=loss, start=start)
        return type("Found", (), {"x": start})

    monkeypatch.setattr(model, "minimize", catch)
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
