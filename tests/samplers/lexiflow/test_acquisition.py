from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.samplers._gaussian_process import Points
from optuna_mofs.samplers.lexiflow import _acquisition as guide
from optuna_mofs.samplers.lexiflow import _acquisition as promise
from optuna_mofs.samplers.lexiflow._acquisition import draw_candidates, random_directions
from optuna_mofs.samplers.lexiflow._directions import EuclideanSpace
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE, History
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed


def test_questions_are_asked_in_order_of_priority():
    order = LexicographicOrder.of(3, tolerances=[0.1, 0, 0], priorities=[1, 0, 2])
    values = np.array([[5.0, 1.0, 7.0], [3.0, 1.0, 2.0], [4.0, 1.0, 1.0]])
    # Column 1 is the same everywhere: there is nothing to learn of it.
    first, second = promise.questions(order, values, order.targets(values))
    assert (first.column, first.best, first.before) == (0, 3.0, ())
    assert (second.column, second.best) == (2, 2.0)
    assert second.before == ((0, pytest.approx(3.1)),)
    assert second.columns == (0, 2)


def test_nobody_asks_for_more_than_a_goal():
    order = LexicographicOrder.of(2, tolerances=[0.1, 0], goals=[None, 10.0])
    values = np.array([[0.5, 8.0], [0.9, 20.0]])
    (only,) = promise.questions(order, values, order.targets(values))
    assert only.column == 0
    # The trial that meets the goal is not among those that reach the first target any more.
    values = np.array([[0.5, 8.0], [0.1, 20.0]])
    assert len(promise.questions(order, values, order.targets(values))) == 2
    done = LexicographicOrder.of(2, goals=[1.0, 100.0])
    assert promise.questions(done, values, done.targets(values)) == []


def test_relevant_trials_are_the_best_and_a_spread():
    rng = np.random.default_rng(0)
    values = rng.random((500, 2))
    wanted = LexicographicOrder.of(2, tolerances=[0.3, 0]).ranking(values)
    leading = np.argsort(values[:, 0])
    kept = promise.relevant(wanted, leading, 60)
    assert len(kept) == len(set(kept.tolist())) == 60
    assert (np.diff(kept) > 0).all()
    assert {*wanted[:20], *leading[:20]} <= set(kept.tolist())
    assert np.median(values[kept, 0]) < np.median(values[:, 0]) < values[kept, 0].max()
    few = np.arange(60)[::-1]
    np.testing.assert_array_equal(promise.relevant(few, few, 60), np.arange(60))


def test_improvement_far_below_joins_what_can_be_computed():
    z = np.linspace(-20, 3, 500)
    found = promise.log_improvement(-z, np.ones(500), 0.0)
    assert np.isfinite(found).all()
    assert (np.diff(found) > 0).all()
    # The two formulas meet.
    assert np.abs(np.diff(found, 2)).max() < 0.1


def bowl(rows):
    """Error with its least at 0.7; cost falls with x."""
    return np.column_stack([(rows[:, 0] - 0.7) ** 2, rows[:, 0]])


@pytest.mark.parametrize(("which", "low", "high"), [(0, 0.62, 0.78), (1, 0.3, 0.55)])
def test_the_best_candidate_answers_the_question(which, low, high):
    """First the least error; then the least cost with an error of at most 0.1: x = 0.384."""
    rows = np.linspace(0, 1, 12)[:, None]
    points = Points(rows, np.zeros(1, dtype=bool))
    values = bowl(rows)
    order = LexicographicOrder.of(2, tolerances=[0.1, 0])
    asked = promise.questions(order, values, order.targets(values))[which]
    scales = {c: promise.scales(order, points, values, c) for c in asked.columns}
    candidates = Points(np.linspace(0, 1, 201)[:, None], points.categorical)
    worths = promise.worth(asked, points, values, candidates, scales)
    assert np.isfinite(worths).all()
    assert low < candidates.rows[np.argmax(worths), 0] < high


@pytest.mark.parametrize("dimension", [0, 1, 6])
@pytest.mark.parametrize("sparse", [0.0, 1.0])
def test_directions_have_length_1_for_each_axis_on_average(dimension, sparse):
    drawn = random_directions(np.random.default_rng(0), 2000, dimension, sparse=sparse)
    assert drawn.shape == (2000, dimension)
    if dimension:
        assert np.mean(drawn**2) == pytest.approx(1, abs=0.15)
    if dimension == 6:
        hardly = np.mean(np.abs(drawn) < 0.05 * np.abs(drawn).max(axis=1, keepdims=True))
        assert hardly > 0.3 if sparse else hardly < 0.1


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_steps_stay_near_their_trial_and_others_go_anywhere(problem):
    study = make_study(problem, sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(PROBLEMS[problem], n_trials=12)
    history = History(StudyDescription.read(study))
    history.update(study)
    places = EuclideanSpace.of(history)
    rng = np.random.default_rng(0)
    drawn = draw_candidates(rng, history, places, 300, (3, 5), (0.01, 0.02), sparse=0.5, start={})
    assert set(drawn.bases.tolist()) == {-1, 3, 5}
    assert set(drawn.steps.tolist()) == {0.01, 0.02}
    np.testing.assert_array_equal(places.row(drawn.places), drawn.rows)
    numbers = ~history.space.categorical
    for i in (3, 5):
        mine = drawn.rows[drawn.bases == i][:, numbers]
        far = np.abs(mine - history.rows[i][numbers])
        assert far.max() < 0.2
        assert far.max() > 0
    spread = np.ptp(drawn.rows[drawn.bases < 0][:, numbers], axis=0)
    assert (spread > 0.7).all()
    if problem == "packed":
        assert len(drawn.rows) == 75
        flips = np.array([(drawn.masks[drawn.bases == 3] != history.mask(3)).sum(axis=1)])
        assert flips.min() == 0
        assert 1 <= flips.max() <= 4
    else:
        assert drawn.masks is None


LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study):
    return [frozen_attr(t, NOTE) or {} for t in study.trials]


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_guided_trials_say_what_they_were_to_improve(problem):
    study = make_study(problem, sampler=LexiFlowSampler(LOSS_FIRST, seed=1, start_trials=4))
    study.optimize(PROBLEMS[problem], n_trials=40)
    written = notes(study)[1:]
    guided = [n for n in written if n["operator"] == "guided"]
    assert len(guided) > 25
    assert {n["improves"] for n in guided} == {0, 1}
    # Some step from a trial, some are drawn anywhere; none waits for an opposite.
    assert {len(n["parents"]) for n in guided} == {0, 1}
    assert all(p < k for k, n in enumerate(written, start=1) for p in n["parents"])
    assert {n["operator"] for n in written} <= {"start", "guided", "explore", "restart"}
    assert len({str(sorted(t.params.items())) for t in study.trials}) == 40


def test_a_model_finds_in_fewer_trials_what_directions_find():
    """Both are judged by the least loss of a bowl with many parameters."""

    def wide(trial):
        x = np.array([trial.suggest_float(f"x{j}", 0, 1) for j in range(6)])
        return float(((x - 0.3) ** 2).sum())

    found = {}
    for candidates in (0, 64):
        values = []
        for seed in range(3):
            sampler = LexiFlowSampler(seed=seed, start_trials=10, candidates=candidates)
            study = optuna.create_study(sampler=sampler)
            study.optimize(wide, n_trials=40)
            values.append(study.best_value)
        found[candidates] = np.median(values)
    assert found[64] < 0.5 * found[0]


def test_workers_that_ask_at_once_are_guided_to_different_points():
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=0, start_trials=4))
    study.optimize(mixed, n_trials=12)
    for _ in range(6):
        mixed(study.ask())
    asked = study.trials[12:]
    assert len({str(sorted(t.params.items())) for t in asked}) == 6


def test_length_scales_are_kept_until_there_are_enough_new_trials(monkeypatch):
    counts = []
    real = guide.scales
    monkeypatch.setattr(guide, "scales", lambda *args: counts.append(len(args[2])) or real(*args))
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=1))
    study.optimize(mixed, n_trials=60)
    # Two columns, each learned anew when there are 1.3 times as many trials.
    assert max(counts.count(c) for c in counts) == 2
    assert 4 <= len(set(counts)) <= 9
