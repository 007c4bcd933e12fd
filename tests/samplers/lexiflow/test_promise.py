from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.fronts.lexicographic import LexicographicOrder
from optuna_mofs.samplers.gaussian.points import Points
from optuna_mofs.samplers.lexiflow import promise


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
