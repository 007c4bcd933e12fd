from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import LexiFlowSampler
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.history._history import History
from optuna_mofs.samplers import _acquisition
from optuna_mofs.samplers._acquisition import GaussianProcessSurrogates
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._gaussian_process import GaussianProcess
from optuna_mofs.samplers.lexiflow._acquisition import (
    draw_candidates,
    fit_surrogates,
    improvement_targets,
    log_constrained_ei,
    training_subset,
)
from optuna_mofs.samplers.lexiflow._directions import EuclideanSpace
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed
from tests.samplers.context import make_context
from tests.samplers.lexiflow import LOSS_FIRST, notes


def test_targets_come_in_order_of_priority():
    order = LexicographicOrder.of(3, tolerances=[0.1, 0, 0], priorities=[1, 0, 2])
    values = np.array([[5.0, 1.0, 7.0], [3.0, 1.0, 2.0], [4.0, 1.0, 1.0]])
    # Column 1 is constant: there is nothing to improve.
    first, second = improvement_targets(order, values, order.targets(values))
    assert (first.column, first.best, first.constraints) == (0, 3.0, ())
    assert (second.column, second.best) == (2, 2.0)
    assert second.constraints == ((0, pytest.approx(3.1)),)


def test_a_column_that_reached_its_goal_is_not_improved():
    order = LexicographicOrder.of(2, tolerances=[0.1, 0], goals=[None, 10.0])
    values = np.array([[0.5, 8.0], [0.9, 20.0]])
    (only,) = improvement_targets(order, values, order.targets(values))
    assert only.column == 0
    # The trial that meets the goal is not among those that reach the first target any more.
    values = np.array([[0.5, 8.0], [0.1, 20.0]])
    assert len(improvement_targets(order, values, order.targets(values))) == 2
    done = LexicographicOrder.of(2, goals=[1.0, 100.0])
    assert improvement_targets(done, values, done.targets(values)) == []


def test_models_are_trained_on_the_best_trials_and_a_spread():
    rng = np.random.default_rng(0)
    values = rng.random((500, 2))
    order = LexicographicOrder.of(2, tolerances=[0.3, 0])
    ranking, strict_ranking = order.ranking(values), np.argsort(values[:, 0])
    subset = training_subset(order, values, 60)
    assert len(subset) == len(set(subset.tolist())) == 60
    assert (np.diff(subset) > 0).all()
    assert {*ranking[:20], *strict_ranking[:20]} <= set(subset.tolist())
    assert np.median(values[subset, 0]) < np.median(values[:, 0]) < values[subset, 0].max()
    np.testing.assert_array_equal(training_subset(order, values[:60], 60), np.arange(60))


def bowl(rows):
    """Error with its minimum at 0.7; cost falls with x."""
    return np.column_stack([(rows[:, 0] - 0.7) ** 2, rows[:, 0]])


@pytest.mark.parametrize(("which", "low", "high"), [(0, 0.62, 0.78), (1, 0.3, 0.55)])
def test_the_best_candidate_improves_the_target(which, low, high):
    """First the lowest error; then the lowest cost with an error of at most 0.1: x = 0.384."""
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    rows = np.linspace(0, 1, 12)[:, None]
    for x in rows[:, 0]:
        study.enqueue_trial({"x": x})
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=12)
    history = History()
    history.update(study)
    losses = bowl(rows)
    order = LexicographicOrder.of(2, tolerances=[0.1, 0])
    target = improvement_targets(order, losses, order.targets(losses))[which]
    surrogates = fit_surrogates(make_context(history), order, losses)
    tried = np.linspace(0, 1, 201)[:, None]
    candidates = Candidates(tried, np.full((201, 1), -1), np.full(201, ""))
    values = log_constrained_ei(target, surrogates, candidates)
    assert np.isfinite(values).all()
    assert low < tried[np.argmax(values), 0] < high


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_steps_stay_near_their_trial_and_random_points_are_spread(problem):
    study = make_study(problem, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(PROBLEMS[problem], n_trials=12)
    history = History(StudyDescription.read(study))
    history.update(study)
    space = EuclideanSpace.of(history)
    rng = np.random.default_rng(0)
    batch, points, step_sizes = draw_candidates(
        rng, history, space, 300, (3, 5), (0.01, 0.02), sparse_prob=0.5, config={}
    )
    bases = batch.parents[:, 0]
    assert set(bases.tolist()) == {-1, 3, 5}
    assert set(step_sizes.tolist()) == {0.01, 0.02}
    np.testing.assert_array_equal(space.to_row(points), batch.rows)
    numbers = ~history.space.categorical
    for i in (3, 5):
        steps = batch.rows[bases == i][:, numbers]
        distance = np.abs(steps - history.rows[i][numbers])
        assert 0 < distance.max() < 0.2
    spread = np.ptp(batch.rows[bases < 0][:, numbers], axis=0)
    assert (spread > 0.7).all()
    if problem == "packed":
        assert len(batch) == 75
        flips = np.array([(batch.masks[bases == 3] != history.mask(3)).sum(axis=1)])
        assert flips.min() == 0
        assert 1 <= flips.max() <= 4
    else:
        assert batch.masks is None


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_notes_of_candidates_are_complete(problem):
    study = make_study(problem, sampler=LexiFlowSampler(LOSS_FIRST, seed=1, n_startup_trials=4))
    study.optimize(PROBLEMS[problem], n_trials=40)
    written = notes(study)[1:]
    chosen = [n for n in written if n.operator == "acquisition"]
    assert len(chosen) > 25
    assert {n.improves for n in chosen} == {0, 1}
    # Some step from a trial, some are random points; none waits for an opposite.
    assert {len(n.parents) for n in chosen} == {0, 1}
    assert {n.sign for n in chosen} == {-1}
    assert all(p < k for k, n in enumerate(written, start=1) for p in n.parents)
    operators = {n.operator for n in written}
    assert operators <= {"initial_design", "acquisition", "random", "restart"}
    assert len({str(sorted(t.params.items())) for t in study.trials}) == 40


def test_a_model_needs_fewer_trials_than_random_directions():
    """Both minimize a bowl with many parameters."""

    def wide(trial):
        x = np.array([trial.suggest_float(f"x{j}", 0, 1) for j in range(6)])
        return float(((x - 0.3) ** 2).sum())

    found = {}
    for n_candidates in (0, 64):
        values = []
        for seed in range(3):
            sampler = LexiFlowSampler(n_startup_trials=10, n_candidates=n_candidates, seed=seed)
            study = optuna.create_study(sampler=sampler)
            study.optimize(wide, n_trials=40)
            values.append(study.best_value)
        found[n_candidates] = np.median(values)
    assert found[64] < 0.5 * found[0]


def test_workers_that_propose_at_once_get_different_candidates():
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=0, n_startup_trials=4))
    study.optimize(mixed, n_trials=12)
    for _ in range(6):
        mixed(study.ask())
    running = study.trials[12:]
    assert len({str(sorted(t.params.items())) for t in running}) == 6


def test_length_scales_are_kept_until_there_are_enough_new_trials(monkeypatch):
    counts = []
    fit = GaussianProcessSurrogates._fit_scales

    def counted(self, column, count):
        counts.append(count)
        return fit(self, column, count)

    monkeypatch.setattr(GaussianProcessSurrogates, "_fit_scales", counted)
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=1))
    study.optimize(mixed, n_trials=60)
    # Two columns, each refitted when there are 1.3 times as many trials.
    assert max(counts.count(c) for c in counts) == 2
    assert 4 <= len(set(counts)) <= 9


def test_models_are_fitted_once_per_trial(monkeypatch):
    fits = []

    class Counted(GaussianProcess):
        def __init__(self, *args):
            fits.append(args)
            super().__init__(*args)

    monkeypatch.setattr(_acquisition, "GaussianProcess", Counted)
    sampler = LexiFlowSampler(LOSS_FIRST, n_startup_trials=4, seed=0)
    study = make_study("mixed", sampler=sampler)
    study.optimize(mixed, n_trials=12)
    # Every proposal counts as a duplicate, so that there are 20 attempts.
    monkeypatch.setattr(History, "contains_internal", lambda self, internal: True)
    monkeypatch.setattr(History, "contains", lambda self, row, mask=None: False)
    fits.clear()
    mixed(study.ask())
    assert 1 <= len(fits) <= 2
