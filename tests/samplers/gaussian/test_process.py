from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.gaussian.process import Process, learned_from, normal_scores
from tests.samplers.gaussian.numbers import numbers


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


def test_scales_are_estimated_ever_more_seldom():
    counts = [learned_from(n) for n in range(1, 2000)]
    assert all(1 <= c <= n for n, c in enumerate(counts, start=1))
    assert counts == sorted(counts)
    assert all(c * 1.35 > n for n, c in enumerate(counts[20:], start=21))
    assert len(set(counts[100:])) < 15
