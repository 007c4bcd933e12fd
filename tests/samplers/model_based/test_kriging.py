from __future__ import annotations

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import Matern

from optuna_mofs.samplers.model_based import Kriging
from optuna_mofs.samplers.model_based.kriging import likely_scales
from optuna_mofs.samplers.model_based.surrogates import Outside


def smooth(X: np.ndarray) -> np.ndarray:
    return np.sin(5 * X[:, 0]) + (X[:, 1] - 0.3) ** 2


RANDOM = np.random.default_rng(0)
SEEN, NEW = RANDOM.random((60, 2)), RANDOM.random((300, 2))


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
    assert len(model._X) == 400


def test_kriging_of_many_rows_keeps_the_first() -> None:
    rng = np.random.default_rng(0)
    X = rng.random((900, 2))
    # Only the first rows say what is in the corner; the others are far from it.
    X[:120] *= 0.15
    X[120:] = 0.3 + 0.7 * X[120:]
    rough = np.sin(40 * X[:, 0])
    mean, _ = Kriging().fit(X, rough).predict(X[:120])
    assert np.abs(mean - rough[:120]).max() < 0.2


def test_given_scales_are_taken() -> None:
    y = smooth(SEEN)
    estimated = Kriging().fit(SEEN, y).predict(NEW)
    given = Kriging(scales=likely_scales(SEEN, y)).fit(SEEN, y).predict(NEW)
    np.testing.assert_allclose(given, estimated)
    short = Kriging(scales=np.log([0.05, 0.05, 1e-3])).fit(SEEN, y).predict(NEW)
    assert short[1].mean() > 2 * estimated[1].mean()


def points(rng: np.random.Generator, count: int) -> np.ndarray:
    """A number, and 30 columns of a set."""
    sets = (rng.random((count, 30)) < 0.2).astype(float)
    sets /= np.maximum(1, np.linalg.norm(sets, axis=1, keepdims=True))
    return np.column_stack([rng.random(count), sets])


def test_columns_that_belong_together_have_one_scale() -> None:
    X = points(np.random.default_rng(0), 80)
    scales = likely_scales(X, X[:, 0] + X[:, 1:6].sum(axis=1), together=30)
    assert len(scales) == 1 + 1 + 1  # the number, the set, the nugget
    model = Kriging(30, scales).fit(X, X[:, 0])
    np.testing.assert_allclose(model._lengths, np.exp(scales[[0] + [1] * 30]))


def test_sets_that_share_what_matters_are_learned_from_few() -> None:
    rng = np.random.default_rng(1)
    X, new = points(rng, 60), points(rng, 200)
    weights = rng.standard_normal(30)

    def truth(X: np.ndarray) -> np.ndarray:
        found: np.ndarray = X[:, 1:] @ weights + X[:, 0]
        return found

    together, alone = (
        np.corrcoef(Kriging(k).fit(X, truth(X)).predict(new)[0], truth(new))[0, 1] for k in (30, 0)
    )
    assert together > 0.7
    assert together > alone


@pytest.mark.parametrize("together", [0, 1, 2])
def test_scales_of_more_rows_than_are_used(together: int) -> None:
    X = np.random.default_rng(2).random((300, 2))
    few = likely_scales(X, smooth(X), together=together, most=50)
    assert len(few) == {0: 3, 1: 3, 2: 2}[together]
    assert np.isfinite(few).all()
