from __future__ import annotations

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import create_trial
from scipy.stats import norm

from optuna_mofs.history._history import History
from optuna_mofs.samplers._acquisition import (
    MAX_LENGTH_SCALE_TRIALS,
    MAX_TRAINING_TRIALS,
    GaussianProcessSurrogates,
    augmented_tchebycheff,
    expected_improvement,
    log_expected_improvement,
    spread_subset,
)
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study
from tests.samplers.context import make_context


def history_of(rows: np.ndarray) -> History:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    space = {"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)}
    for row in rows.tolist():
        params = dict(zip(space, row))
        study.add_trial(create_trial(params=params, distributions=space, value=0.0))
    history = History()
    history.update(study)
    return history


def candidates_of(rows: np.ndarray, masks: np.ndarray | None = None) -> Candidates:
    return Candidates(rows, np.full((len(rows), 1), -1), np.full(len(rows), ""), masks)


@pytest.mark.parametrize("n_trials", [40, 300])
def test_surrogates_predict_the_scores_of_neighbors(n_trials: int) -> None:
    rows = np.random.default_rng(0).random((n_trials, 2))
    losses = np.column_stack([rows[:, 0], 1 - rows[:, 0]])
    surrogates = GaussianProcessSurrogates(make_context(history_of(rows)), losses)
    assert surrogates.losses.shape == surrogates.scores.shape
    assert surrogates.losses.shape == (2, min(n_trials, MAX_TRAINING_TRIALS))
    tried = candidates_of(np.array([[0.1, 0.5], [0.9, 0.5]]))
    means, sds = surrogates.predict(tried)
    assert means.shape == sds.shape == (2, 2)
    assert means[0, 0] < -0.5 < 0.5 < means[0, 1]
    np.testing.assert_allclose(means[0], -means[1], atol=0.4)
    assert sds.max() < 0.5
    (mean,), (sd,) = surrogates.predict(tried, [1])
    np.testing.assert_array_equal((mean, sd), (means[1], sds[1]))


def test_surrogates_of_masks() -> None:
    study = make_study("packed", sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=20)
    history = History(StudyDescription.read(study))
    history.update(study)
    surrogates = GaussianProcessSurrogates(make_context(history), history.sizes[:, None] / 1.0)
    order = np.argsort(history.sizes)[[0, -1]]
    (mean,), _ = surrogates.predict(candidates_of(history.rows[order], history.masks(order)))
    assert mean[0] < 0 < mean[1]


def test_length_scales_are_estimated_from_an_even_spread_of_values() -> None:
    values, subset = spread_subset(np.random.default_rng(0).random(500))
    assert len(subset) == MAX_LENGTH_SCALE_TRIALS
    assert {values.argmin(), values.argmax()} <= set(subset)
    np.testing.assert_allclose(np.sort(values[subset]), np.linspace(0, 1, 50), atol=0.1)


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
