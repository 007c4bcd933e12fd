"""The problems of the GHGA benchmark are as documented."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from benchmarks.ghga_problems import LinearModels, problem, ratios, twins
from benchmarks.papers import jung_2013 as ghga
from benchmarks.peers.selectors import forward, lasso, rfe


def test_gram_matrices_agree_with_regression() -> None:
    X, y, X_valid, y_valid = twins(0)
    mask = np.arange(150) < 30
    left = y_valid - LinearRegression().fit(X[:, mask], y).predict(X_valid[:, mask])
    models = LinearModels(X, y, X_valid, y_valid)
    assert models(mask) == pytest.approx(1 - left.var() / y_valid.var())
    assert models(np.zeros(150, dtype=bool)) == 0


def test_the_papers_four_sums_are_equal() -> None:
    _, _, X, y = ratios(3)
    for inside in (range(10), range(5, 15), range(15, 25), range(17, 27)):
        np.testing.assert_allclose(X[:, list(inside)].sum(axis=1), y, atol=1e-6)


@pytest.mark.parametrize(("name", "features"), [("ratios", 250), ("twins", 150)])
def test_optima_are_good_and_identified(name: str, features: int) -> None:
    made = problem(name, 0)
    assert made.features == features
    assert [made.which(mask) for mask in made.wanted] == [[0], [1], [2], [3]]
    assert made.which(~made.wanted[0]) == []
    assert all(made.models(mask) > made.models(np.ones(features, bool)) for mask in made.wanted)


def test_peers_stay_within_their_budget() -> None:
    for method, budget in ((forward, 200), (lasso, 50), (rfe, 5000)):
        watch = ghga.Watch("twins", 0)
        method(watch.problem, watch, budget, 0)
        assert 0 < watch.count <= budget


def test_a_run_returns_when_each_optimum_was_found() -> None:
    job, found = ghga.run(("guide", "twins", "random", "", 0, 40))
    assert job[-1] == 40
    assert found == []
