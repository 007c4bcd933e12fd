from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestRegressor
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern
from sklearn.linear_model import BayesianRidge, LinearRegression

from optuna_mofs.samplers.model_based import Kriging
from optuna_mofs.samplers.model_based.surrogates import Outside, Surrogate, surrogate_factory


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(5 * X[:, 0]) + (X[:, 1] - 0.3) ** 2


def made(what: object, seed: int = 0) -> Surrogate:
    return surrogate_factory(what)(2, False, np.random.default_rng(seed))


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


def test_who_is_chosen() -> None:
    factory, rng = surrogate_factory("auto"), np.random.default_rng(0)
    assert isinstance(factory(3, False, rng), Kriging)
    assert isinstance(factory(3, True, rng), Outside)
    assert isinstance(factory(80, False, rng), Outside)


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
    outside = surrogate_factory(lambda: model)(3, False, np.random.default_rng(0))
    seen = np.array([[0.2, 0.3, np.nan], [0.6, 0.3, np.nan], [np.nan, np.nan, np.nan]])
    outside.fit(seen, np.zeros(3))
    assert np.isclose(model.fitted[2, 0], 0.6 + 2 * 0.4)  # max + 2 (max - min), section II b
    # A column with one value, or with none, still tells missing from there.
    assert model.fitted[2, 1] >= 0.3 + 1
    outside.predict(np.array([[np.nan, 0.5, 0.5], [0.5, np.nan, np.nan]]))
    assert np.isfinite(model.asked).all()
    assert (model.asked[1, 1:] > 1).all()


def test_kriging_learns_of_one_learner_what_holds_for_the_other() -> None:
    """Columns: a number that both have, one of each learner's own, which learner it is."""
    rng = np.random.default_rng(0)

    def rows(count: int, first: np.ndarray) -> np.ndarray:
        x = rng.random((count, 3))
        x[first, 2] = np.nan
        x[~first, 1] = np.nan
        return np.column_stack([x, first])

    def truth(X: np.ndarray) -> np.ndarray:
        return np.sin(6 * X[:, 0]) + 0.3 * X[:, 3]

    errors = []
    for _ in range(5):
        # The second learner was seen at one end of the shared number only.
        seen = rows(40, np.arange(40) < 34)
        seen[34:, 0] *= 0.3
        new = rows(200, np.zeros(200, dtype=bool))
        both = [Kriging(), Outside(Kriging())]
        found = [model.fit(seen, truth(seen)).predict(new)[0] for model in both]
        errors.append([np.abs(mean - truth(new)).mean() for mean in found])
    inside, outside = np.mean(errors, axis=0)
    assert inside < 0.9 * outside


@pytest.mark.parametrize("what", ["gp", 3, LinearRegression()], ids=str)
def test_what_is_no_surrogate_is_refused(what: object) -> None:
    with pytest.raises(ValueError, match="surrogate"):
        surrogate_factory(what)


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


def test_repeated_points_with_other_values_do_not_break_kriging() -> None:
    X = np.repeat(SEEN[:5], 8, axis=0)
    y = smooth(X) + np.tile([-0.5, 0.5], 20)
    mean, sd = Kriging().fit(X, y).predict(SEEN[:5])
    np.testing.assert_allclose(mean, smooth(SEEN[:5]), atol=0.3)
    assert np.isfinite(sd).all()


def test_kriging_agrees_with_scikit_learn_at_its_own_scales() -> None:
    ours = Kriging().fit(SEEN, smooth(SEEN))
    theirs = GaussianProcessRegressor(
        Matern(nu=1.5, length_scale=ours._lengths), alpha=1e-4, optimizer=None, normalize_y=True
    ).fit(SEEN, smooth(SEEN))
    np.testing.assert_allclose(ours.predict(NEW)[0], theirs.predict(NEW), atol=0.02)


def test_many_trials_are_thinned_but_the_best_stay() -> None:
    X = np.random.default_rng(1).random((700, 2))
    model = Kriging().fit(X, smooth(X))
    best = X[np.argsort(smooth(X))[:50]]
    np.testing.assert_allclose(model.predict(best)[0], smooth(best), atol=0.02)
    assert len(model._X) < 300


def test_kriging_of_many_rows_keeps_the_first() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    # Only the first rows say what is in the corner; the others are far from it.
    X[:120] *= 0.15
    X[120:] = 0.3 + 0.7 * X[120:]
    rough = np.sin(40 * X[:, 0])
    mean, _ = Kriging().fit(X, rough).predict(X[:120])
    assert np.abs(mean - rough[:120]).max() < 0.2
