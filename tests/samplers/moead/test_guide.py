from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.samplers.gaussian.points import Points
from optuna_mofs.samplers.gaussian.process import normal_scores
from optuna_mofs.samplers.moead.decomposition import tchebycheff
from optuna_mofs.samplers.moead.guide import (
    drawn_values,
    expected_gain,
    from_scores,
    ranges,
    scales,
    spread,
)
from optuna_mofs.samplers.moead.weights import simplex_points


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
