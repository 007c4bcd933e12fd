from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import MOEADSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.samplers._gaussian_process import normal_scores
from optuna_mofs.samplers.moead import _sampler
from optuna_mofs.samplers.moead._acquisition import (
    ExpectedGain,
    expected_gain,
    feasible_values,
    objective_ranges,
    values_from_scores,
)
from optuna_mofs.samplers.moead._offspring import DifferentialVariation, draw_children
from optuna_mofs.samplers.moead._subproblems import simplex_points, tchebycheff
from optuna_mofs.study._trial_note import NOTE
from tests.samplers.context import make_context
from tests.samplers.moead.test_offspring import read_history, two_kinds


def test_the_range_ends_at_the_worst_sensible_value_or_at_four_times_the_front():
    front = np.array([[0.1, 30.0], [0.3, 10.0]])
    origin, span = objective_ranges(front, np.array([1.0, 35.0]))
    np.testing.assert_allclose(
        span, [0.8, 25.0]
    )  # 4 times the range of the front, and the whole range
    assert (origin < front.min(axis=0)).all()


def test_constant_objectives_and_a_worst_value_within_the_front_have_a_range():
    _, span = objective_ranges(np.array([[0.1, 5.0], [0.3, 5.0]]), np.array([0.2, 5.0]))
    np.testing.assert_allclose(span, [0.2, 1.0])


def test_values_from_scores_inverts_normal_scores_and_extrapolates_below():
    values = np.array([3.0, 1.0, 2.0, 10.0])
    z = normal_scores(values)
    np.testing.assert_allclose(values_from_scores(z, z, values), values)
    assert values_from_scores(z.min() - 1, z, values) < 1.0


def test_the_gain_is_summed_over_subproblems():
    weights = simplex_points(5, 2)
    seen = np.array([[0.2, 0.8], [0.8, 0.2]])
    candidates = np.array([[[0.4, 0.4]], [[0.2, 0.79]], [[0.9, 0.9]]])
    gain = expected_gain(candidates, seen, weights, tchebycheff)
    assert gain[0] > gain[1] > gain[2]
    assert gain[2] == pytest.approx(0.0)


def test_children_of_the_better_branch_come_first():
    history = read_history(two_kinds, 30)
    rng = np.random.default_rng(0)
    every = np.arange(30)
    children = draw_children(
        rng,
        history,
        DifferentialVariation(),
        40,
        base=0,
        neighbors=every,
        members=every,
        front=every,
    )
    gain = ExpectedGain(make_context(history), simplex_points(8, 2), tchebycheff)
    order = np.argsort(gain(rng, children))
    kind = children.rows[order, history.space.names.index("kind")]
    assert (kind[:5] == 0).all()
    assert kind[-5:].mean() > 0.5


def test_infeasible_trials_and_infinite_values_get_the_worst_values():
    def constrained(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("x is small", x - 0.5)
        return -x, float("inf") if x < 0.25 else x

    history = read_history(constrained, 30)
    values = feasible_values(history.values, history.violations)
    feasible = history.violations <= 0
    assert 0 < feasible.sum() < 30
    assert (values[~feasible] == values.max(axis=0)).all()
    assert np.abs(values).max() <= 1


def test_without_feasible_trials_there_is_no_model():
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=MOEADSampler(seed=0, population_size=4)
    )

    def never(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("never", 1 + x)
        return x, -x

    study.optimize(never, n_trials=8)
    assert frozen_attr(study.trials[-1], NOTE)["operator"] == "differential"


def test_the_model_is_fitted_once_per_trial(monkeypatch):
    fits = []

    class Counted(ExpectedGain):
        def __init__(self, ctx, *args):
            fits.append(len(ctx.history))
            super().__init__(ctx, *args)

    monkeypatch.setattr(_sampler, "ExpectedGain", Counted)
    sampler = MOEADSampler(seed=0, population_size=4)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)

    def few_configurations(trial):
        n = trial.suggest_int("n", 0, 11)
        return n, 11 - n

    study.optimize(few_configurations, n_trials=14)
    assert fits == list(range(4, 14))
