from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import MOEADSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.history._history import PROPOSAL, History
from optuna_mofs.samplers.moead.children import draw_children
from optuna_mofs.samplers.moead.decomposition import tchebycheff
from optuna_mofs.samplers.moead.judge import Judge, feasible_values
from optuna_mofs.samplers.moead.variation import DifferentialVariation
from optuna_mofs.samplers.moead.weights import simplex_points


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
    order = Judge(simplex_points(8, 2), tchebycheff).order(rng, history, children, front)
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
    assert frozen_attr(study.trials[-1], PROPOSAL)["operator"] == "differential"
