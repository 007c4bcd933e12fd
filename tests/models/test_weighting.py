from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.models._weighting import (
    diverse_subset,
    entropy_diversity,
    focused_weights,
    ideal_distances,
    inverse_distance_weights,
)


def test_weights_follow_equation_17():
    losses = np.array([[0.0, 10.0], [0.3, 4.0], [1.0, 0.0]])
    distances = np.array([1.0, 0.5, 1.0])
    assert ideal_distances(losses) == pytest.approx(distances)
    expected = (1 / distances) / (1 / distances).sum()
    assert inverse_distance_weights(losses) == pytest.approx(expected)


@settings(max_examples=30)
@given(seed=st.integers(0, 9999), count=st.integers(1, 9), m=st.integers(1, 3))
def test_weights_sum_to_one_in_any_unit(seed, count, m):
    losses = np.random.default_rng(seed).random((count, m))
    weights = inverse_distance_weights(losses)
    assert weights.sum() == pytest.approx(1)
    assert (weights > 0).all()
    assert inverse_distance_weights(5 + 1000 * losses) == pytest.approx(weights)


def test_a_member_at_the_ideal_point_does_not_take_all_the_weight():
    weights = inverse_distance_weights(np.array([[0.0, 0.0], [0.5, 0.5], [1.0, 1.0]]))
    assert weights[0] > weights[1] > weights[2] > 0.01


@pytest.mark.parametrize(
    ("correct", "expected"),
    [
        ([[1, 1, 1, 1]], 0.0),
        ([[1, 0], [1, 0]], 0.0),
        ([[1, 0], [0, 1]], 1.0),
        # Three members: L - ceil(L / 2) = 1, one of three right in each row.
        ([[1, 0, 0], [0, 1, 0], [0, 0, 1]], 1.0),
        # Four members: L - ceil(L / 2) = 2; rows with 1, 2, 3 and 4 right.
        ([[1, 1, 1, 1], [0, 1, 1, 1], [0, 0, 1, 1], [0, 0, 0, 1]], (1 + 2 + 1 + 0) / 4 / 2),
    ],
)
def test_diversity_by_hand(correct, expected):
    assert entropy_diversity(np.array(correct, dtype=bool)) == pytest.approx(expected)


def test_forward_selection_starts_with_the_closest_and_stops_when_diversity_decreases():
    correct = np.array([[1, 1, 1, 0], [1, 1, 1, 0], [0, 0, 0, 1], [1, 1, 1, 0]], dtype=bool)
    chosen = diverse_subset(correct, np.array([0.5, 0.1, 0.9, 0.4]))
    assert chosen[:2] == [1, 2]
    alone = diverse_subset(correct[:2], np.array([0.5, 0.1]))
    assert alone == [1]


@given(st.lists(st.floats(1e-3, 1.0), min_size=1, max_size=8))
def test_a_lower_loss_has_more_weight_in_any_unit(first):
    losses = np.column_stack([first, np.arange(len(first))])
    weights = focused_weights(losses)
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights[np.argsort(first)]) <= 1e-12).all()
    np.testing.assert_allclose(focused_weights(100 * losses), weights)


def test_losses_of_zero_are_not_divided_by():
    np.testing.assert_allclose(focused_weights(np.zeros((2, 1))), [0.5, 0.5])
    assert focused_weights(np.array([[0.0], [1.0]]))[0] > 0.99
    with pytest.raises(ValueError, match=r"never negative, got -0\.9"):
        focused_weights(np.array([[-0.9], [-0.8]]))


def test_equation_17_without_a_floor():
    losses = np.array([[0.0, 0.02], [0.5, 0.5], [1.0, 0.0], [0.0, 1.0]])
    floored = inverse_distance_weights(losses)
    weights = inverse_distance_weights(losses, min_distance=0.0)
    distances = np.linalg.norm(losses, axis=1)
    assert weights == pytest.approx((1 / distances) / (1 / distances).sum())
    assert weights[0] > floored[0]
    at_ideal = inverse_distance_weights(np.array([[0.0, 0.0], [1.0, 1.0]]), min_distance=0.0)
    assert at_ideal.tolist() == [1.0, 0.0]
