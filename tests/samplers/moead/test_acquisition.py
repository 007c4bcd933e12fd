from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import MOEADSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.samplers._gaussian_process import Points, normal_scores
from optuna_mofs.samplers.moead._acquisition import (
    ExpectedGain,
    drawn_values,
    expected_gain,
    feasible_values,
    from_scores,
    ranges,
    scales,
    spread,
)
from optuna_mofs.samplers.moead._offspring import DifferentialVariation, draw_children
from optuna_mofs.samplers.moead._subproblems import simplex_points, tchebycheff
from optuna_mofs.study._trial_note import NOTE, History


def test_the_range_ends_at_the_worst_sensible_value_but_not_far_beyond_the_front():
    front = np.array([[0.1, 30.0], [0.3, 10.0]])
    origin, span = ranges(front, np.array([1.0, 35.0]))
    np.testing.assert_allclose(span, [0.8, 25.0])  # 4 times what the front covers, and all of it
    assert (origin < front.min(axis=0)).all()


def test_a_constant_objective_and_a_reference_within_the_front_do_not_divide_by_zero():
    _, span = ranges(np.array([[0.1, 5.0], [0.3, 5.0]]), np.array([0.2, 5.0]))
    np.testing.assert_allclose(span, [0.2, 1.0])


def test_a_spread_holds_who_must_be_in_and_both_ends_of_the_others():
    scores = np.arange(100.0)
    sure = np.isin(np.arange(100), [40, 60])
    kept = spread(scores, sure, 10)
    assert len(kept) == 10
    assert {0, 40, 60, 99} <= set(kept.tolist())
    assert len(spread(scores, np.ones(100, dtype=bool), 10)) == 10


def test_scores_turn_back_into_values_and_below_the_least():
    values = np.array([3.0, 1.0, 2.0, 10.0])
    z = normal_scores(values)
    np.testing.assert_allclose(from_scores(z, z, values), values)
    assert from_scores(z.min() - 1, z, values) < 1.0


def test_the_model_draws_what_it_has_seen_nearby():
    rng = np.random.default_rng(0)
    rows = rng.random((40, 2))
    values = np.column_stack([rows[:, 0], 1 - rows[:, 0]])
    points = Points(rows, np.zeros(2, dtype=bool))
    lengths = [scales(points, column) for column in values.T]
    asked = np.array([[0.1, 0.5], [0.9, 0.5]])
    drawn = drawn_values(rng, points, values, Points(asked, points.categorical), lengths)
    assert drawn.shape[::2] == (2, 2)
    np.testing.assert_allclose(drawn.mean(axis=1), [[0.1, 0.9], [0.9, 0.1]], atol=0.15)


def test_gain_is_what_all_subproblems_have_of_it():
    weights = simplex_points(5, 2)
    seen = np.array([[0.2, 0.8], [0.8, 0.2]])
    candidates = np.array([[[0.4, 0.4]], [[0.2, 0.79]], [[0.9, 0.9]]])
    gain = expected_gain(candidates, seen, weights, tchebycheff)
    assert gain[0] > gain[1] > gain[2]
    assert gain[2] == pytest.approx(0.0)


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def two_kinds(trial):
    if trial.suggest_categorical("kind", ["good", "bad"]) == "bad":
        return 5.0 + trial.suggest_float("y", 0, 1), 5.0
    x = trial.suggest_float("x", 0, 1)
    return x, 1 - x


def known(objective, trials, **options):
    study = optuna.create_study(directions=["minimize"] * 2, **options)
    study.optimize(objective, n_trials=trials)
    history = History()
    history.update(study)
    return history


def test_children_come_from_the_subproblem_the_front_and_anywhere():
    history = known(two_kinds, 30, sampler=optuna.samplers.RandomSampler(seed=0))
    front = np.arange(5)
    children = draw_children(
        np.random.default_rng(0),
        history,
        DifferentialVariation(),
        40,
        base=7,
        near=np.array([7, 8, 9]),
        members=np.arange(10),
        front=front,
    )
    assert len(children) == 40
    assert (children.parents[:20, 0] == 7).all()
    assert set(children.parents[:20, 1:].ravel()) <= {7, 8, 9}
    assert np.isin(children.parents[20:30, 0], front).all()
    assert (children.parents[30:] == -1).all()
    assert not np.isnan(children.rows).any()


def test_children_of_the_better_branch_come_first():
    history = known(two_kinds, 30, sampler=optuna.samplers.RandomSampler(seed=0))
    rng = np.random.default_rng(0)
    everyone = np.arange(30)
    children = draw_children(
        rng,
        history,
        DifferentialVariation(),
        40,
        base=0,
        near=everyone,
        members=everyone,
        front=everyone,
    )
    front = np.flatnonzero(history.values[:, 1] <= 1)
    order = ExpectedGain(simplex_points(8, 2), tchebycheff).order(rng, history, children, front)
    kind = children.rows[order, history.space.names.index("kind")]
    assert (kind[:5] == 0).all()
    assert kind[-5:].mean() > 0.5


def test_trials_that_break_a_constraint_and_infinities_are_the_worst():
    def constrained(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("x is small", x - 0.5)
        return -x, float("inf") if x < 0.25 else x

    history = known(constrained, 30, sampler=optuna.samplers.RandomSampler(seed=0))
    values = feasible_values(history.values, history.violations)
    feasible = history.violations <= 0
    assert 0 < feasible.sum() < 30
    assert (values[~feasible] == values.max(axis=0)).all()
    assert np.abs(values).max() <= 1


def test_only_trials_that_break_constraints_leave_nothing_to_model():
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=MOEADSampler(seed=0, population_size=4)
    )

    def never(trial):
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("never", 1 + x)
        return x, -x

    study.optimize(never, n_trials=8)
    assert frozen_attr(study.trials[-1], NOTE)["operator"] == "differential"
