from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.moead.weights import neighbourhoods, simplex_points


@settings(max_examples=25, deadline=None)
@given(count=st.integers(4, 40), m=st.integers(1, 6))
def test_weights_are_on_the_simplex_and_differ(count, m):
    weights = simplex_points(count, m)
    assert weights.shape == (count, m)
    assert (weights >= 0).all()
    np.testing.assert_allclose(weights.sum(axis=1), 1.0)
    if m > 1:
        assert len(np.unique(weights, axis=0)) == count


@pytest.mark.parametrize("m", [2, 3, 4])
def test_every_corner_is_among_them(m):
    weights = simplex_points(20, m)
    assert set(weights.argmax(axis=1)[weights.max(axis=1) == 1.0]) == set(range(m))


def test_three_objectives_are_covered_evenly():
    weights = simplex_points(28, 3)
    apart = np.sqrt(((weights[:, None] - weights) ** 2).sum(axis=2)) + 10 * np.eye(28)
    assert apart.min() > 0.1  # an even spread has about 0.24


def test_neighbours_are_the_nearest_itself_first():
    places = neighbourhoods(simplex_points(6, 2), 3)
    assert places[:, 0].tolist() == list(range(6))
    assert set(places[2]) == {1, 2, 3}
    assert set(places[0]) == {0, 1, 2}


def test_neighbours_of_equal_weights_hold_oneself():
    assert neighbourhoods(simplex_points(5, 1), 2)[:, 0].tolist() == list(range(5))
