from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import BayesianRidge, LinearRegression

from optuna_mofs.samplers.model_based import Kriging
from optuna_mofs.samplers.model_based._surrogates import (
    Surrogate,
    get_surrogate,
    takes_kriging,
)


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(5 * X[:, 0]) + (X[:, 1] - 0.3) ** 2


def made(what: object, seed: int = 0) -> Surrogate:
    return get_surrogate(what)(np.random.default_rng(seed))


RANDOM = np.random.default_rng(0)
SEEN, NEW = RANDOM.random((60, 2)), RANDOM.random((300, 2))

MODELS = [
    "auto",
    "forest",
    "kriging",
    RandomForestRegressor(30),
    GaussianProcessRegressor(Matern(nu=1.5), normalize_y=True),
    lambda: Kriging(),
]


@pytest.mark.parametrize("what", MODELS)
def test_all_learn_and_know_what_they_do_not_know(what: object) -> None:
    model = made(what).fit(SEEN, smooth(SEEN))
    mean, sd = model.predict(NEW)
    assert mean.shape == sd.shape == (300,)
    assert (sd >= 0).all()
    assert np.corrcoef(mean, smooth(NEW))[0, 1] > 0.9
    assert model.predict(SEEN)[1].mean() < sd.mean()


@pytest.mark.parametrize(
    ("what", "columns", "kriging"),
    [
        ("auto", 20, True),
        ("auto", 21, False),
        ("kriging", 80, True),
        ("forest", 3, False),
        (BayesianRidge(), 3, False),
        (np.zeros, 3, False),
    ],
    ids=str,
)
def test_who_is_chosen(what: object, columns: int, kriging: bool) -> None:
    assert takes_kriging(what, columns) == kriging


class Recorder:
    """Keeps the rows that it is given."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Recorder:
        self.fitted = X
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.asked = X
        return X[:, 0], X[:, 0]


def test_inactive_numbers_lie_outside_for_all_models_but_kriging() -> None:
    model = Recorder()
    outside = get_surrogate(lambda: model)(np.random.default_rng(0))
    seen = np.array([[0.2, 0.3, np.nan], [0.6, 0.3, np.nan], [np.nan, np.nan, np.nan]])
    outside.fit(seen, np.zeros(3))
    assert np.isclose(model.fitted[2, 0], 0.6 + 2 * 0.4)  # max + 2 (max - min), section II b
    # A column with one value, or with none, still tells missing from there.
    assert model.fitted[2, 1] >= 0.3 + 1
    outside.predict(np.array([[np.nan, 0.5, 0.5], [0.5, np.nan, np.nan]]))
    assert np.isfinite(model.asked).all()
    assert (model.asked[1, 1:] > 1).all()


@pytest.mark.parametrize("what", ["gp", 3, LinearRegression()], ids=str)
def test_what_is_no_surrogate_is_refused(what: object) -> None:
    with pytest.raises(ValueError, match="surrogate"):
        get_surrogate(what)


def test_return_std_is_enough() -> None:
    mean, sd = made(BayesianRidge()).fit(SEEN, SEEN[:, 0]).predict(NEW)
    np.testing.assert_allclose(mean, NEW[:, 0], atol=0.01)
    assert (sd > 0).all()


@pytest.mark.parametrize("what", ["forest", RandomForestRegressor(10)], ids=str)
def test_a_seed_is_a_model(what: object) -> None:
    one, same, other = (
        made(what, seed).fit(SEEN, smooth(SEEN)).predict(NEW)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@pytest.mark.parametrize("what", ["forest", "kriging"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_or_equal_targets(what: str, count: int) -> None:
    mean, sd = made(what).fit(SEEN[:count], np.full(count, 0.7)).predict(NEW)
    np.testing.assert_allclose(mean, 0.7, atol=1e-6)
    assert np.isfinite(sd).all()
