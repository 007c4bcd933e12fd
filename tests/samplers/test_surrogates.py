from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import (
    AdaBoostRegressor,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestRegressor,
)
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import BayesianRidge, LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from optuna_mofs.samplers._surrogates import (
    SklearnSurrogate,
    Surrogate,
    get_surrogate,
    paper_forest,
)
from optuna_mofs.samplers.model_based import OrdinaryKriging


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(5 * X[:, 0]) + (X[:, 1] - 0.3) ** 2


def made(what: object, seed: int = 0) -> Surrogate:
    return get_surrogate(what)(np.random.default_rng(seed))


RANDOM = np.random.default_rng(0)
SEEN, NEW = RANDOM.random((60, 2)), RANDOM.random((300, 2))

MODELS = [
    "auto",
    "forest",
    "gaussian_process",
    RandomForestRegressor(30),
    GaussianProcessRegressor(Matern(nu=1.5), normalize_y=True),
    make_pipeline(StandardScaler(), GaussianProcessRegressor(Matern(nu=1.5), normalize_y=True)),
    lambda: OrdinaryKriging(),
]


@pytest.mark.parametrize("what", MODELS)
def test_surrogates_are_less_certain_away_from_their_training_data(what: object) -> None:
    model = made(what).fit(SEEN, smooth(SEEN))
    mean, sd = model.predict(NEW)
    assert mean.shape == sd.shape == (300,)
    assert (sd >= 0).all()
    assert np.corrcoef(mean, smooth(NEW))[0, 1] > 0.9
    assert model.predict(SEEN)[1].mean() < sd.mean()


class Recorder:
    """Keep the rows of the last calls."""

    def fit(self, X: np.ndarray, y: np.ndarray) -> Recorder:
        self.fitted = X
        return self

    def predict(self, X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.predicted = X
        return X[:, 0], X[:, 0]


def test_inactive_numbers_are_outside_the_range_except_for_the_gaussian_process() -> None:
    model = Recorder()
    outside = get_surrogate(lambda: model)(np.random.default_rng(0))
    seen = np.array([[0.2, 0.3, np.nan], [0.6, 0.3, np.nan], [np.nan, np.nan, np.nan]])
    outside.fit(seen, np.zeros(3))
    assert np.isclose(model.fitted[2, 0], 0.6 + 2 * 0.4)  # max + 2 (max - min), section II b
    # A column with one value, or with none, still separates inactive from active.
    assert model.fitted[2, 1] >= 0.3 + 1
    outside.predict(np.array([[np.nan, 0.5, 0.5], [0.5, np.nan, np.nan]]))
    assert np.isfinite(model.predicted).all()
    assert (model.predicted[1, 1:] > 1).all()


def test_the_papers_forest_is_a_random_forest_of_500_trees() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((80, 6))
    y = smooth(X)
    trees = []
    for seed in range(500):
        rows = rng.integers(80, size=80)  # a row that was drawn twice counts twice in a node
        tree = DecisionTreeRegressor(max_features=2, min_samples_split=6, random_state=seed)
        trees.append(tree.fit(X[rows], y[rows]).predict(X[:20]))
    mean, sd = paper_forest(np.random.default_rng(1)).fit(X, y).predict(X[:20])
    np.testing.assert_allclose(mean, np.mean(trees, axis=0), atol=0.15)
    assert sd.mean() == pytest.approx(np.std(trees, axis=0).mean(), rel=0.05)


@pytest.mark.parametrize("what", ["gp", 3, None], ids=str)
def test_other_values_are_refused(what: object) -> None:
    with pytest.raises(ValueError, match="surrogate must be one of"):
        get_surrogate(what)


@pytest.mark.parametrize(
    "what",
    [
        LinearRegression(),
        # Their members are not averaged: they predict residuals, or are weighted.
        GradientBoostingRegressor(),
        AdaBoostRegressor(),
        make_pipeline(StandardScaler(), GradientBoostingRegressor()),
        make_pipeline(StandardScaler(), "passthrough"),
    ],
    ids=str,
)
def test_regressors_without_predictive_uncertainty_are_refused(what: object) -> None:
    with pytest.raises(
        ValueError, match=r"(?s)surrogate must predict its uncertainty.* Try 'forest'"
    ):
        get_surrogate(what)


@pytest.mark.parametrize(
    "what",
    [
        RandomForestRegressor(8, random_state=0),
        ExtraTreesRegressor(8, random_state=0),
        BaggingRegressor(random_state=0),
        BaggingRegressor(max_features=0.5, random_state=0),
        GaussianProcessRegressor(optimizer=None, normalize_y=True),
        BayesianRidge(),
        make_pipeline(StandardScaler(), GaussianProcessRegressor(optimizer=None)),
        make_pipeline(StandardScaler(), RandomForestRegressor(8, random_state=0)),
        Pipeline([("model", BayesianRidge())]),
    ],
    ids=str,
)
def test_the_mean_is_what_the_regressor_predicts(what: Any) -> None:
    surrogate = SklearnSurrogate(what, np.random.default_rng(0)).fit(SEEN, smooth(SEEN))
    mean, sd = surrogate.predict(NEW)
    np.testing.assert_allclose(mean, surrogate._estimator.predict(NEW))
    assert (sd > 0).any()


def test_the_random_state_of_the_last_step_is_set() -> None:
    what = make_pipeline(StandardScaler(), RandomForestRegressor(5))
    one, same, other = (
        made(what, seed).fit(SEEN, smooth(SEEN)).predict(NEW)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


def test_return_std_is_enough() -> None:
    mean, sd = made(BayesianRidge()).fit(SEEN, SEEN[:, 0]).predict(NEW)
    np.testing.assert_allclose(mean, NEW[:, 0], atol=0.01)
    assert (sd > 0).all()


@pytest.mark.parametrize("what", ["forest", RandomForestRegressor(10)], ids=str)
def test_equal_seeds_give_equal_models(what: object) -> None:
    one, same, other = (
        made(what, seed).fit(SEEN, smooth(SEEN)).predict(NEW)[0] for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()


@pytest.mark.parametrize("what", ["forest", "gaussian_process"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_few_or_equal_targets(what: str, count: int) -> None:
    mean, sd = made(what).fit(SEEN[:count], np.full(count, 0.7)).predict(NEW)
    np.testing.assert_allclose(mean, 0.7, atol=1e-6)
    assert np.isfinite(sd).all()
