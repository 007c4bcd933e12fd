from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs.history._search_space import Activity, ParameterSpace
from optuna_mofs.samplers.model_based.candidates import Candidates
from optuna_mofs.samplers.model_based.search import InfillSearch, neighbours

SPACE = ParameterSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c", "d"]),
        "n": IntDistribution(1, 9),
        "x": FloatDistribution(0, 1),
        "y": FloatDistribution(0, 1),
    }
)


def score(rows: np.ndarray) -> np.ndarray:
    return (rows[:, 0] != 2) + (rows[:, 2] - 0.63) ** 2 + (rows[:, 3] - 0.11) ** 2


def search(seed: int = 0, **options: int) -> Candidates:
    activity = Activity(SPACE, np.empty((0, 4)))
    rng = np.random.default_rng(seed)
    return InfillSearch(**options)(rng, SPACE, activity, score, SPACE.sample(rng, 3))


def test_finds_the_minimum_of_a_mixed_function() -> None:
    for seed in range(5):
        found = search(seed)
        best = found.rows[found.scores.argmin()]
        assert best[0] == 2
        np.testing.assert_allclose(best[2:], [0.63, 0.11], atol=0.02)


def test_focus_and_local_each_do_their_part() -> None:
    found = search(restarts=3, rounds=3, points=100)
    focus = found.rows[:900].reshape(3, 3, 100, 4)
    widths = np.ptp(focus[:, 0, :, 2], axis=1)
    assert widths[1] < 0.6 * widths[0]
    assert widths[2] < 0.6 * widths[1]
    assert set(found.source) == {-1, 0, 1, 2}
    assert set(found.operators) == {"focus", "local"}


def test_only_active_parameters() -> None:
    rows = np.array([[0, 0.5, 0.3, np.nan], [1, 0.5, 0.3, 0.1], [2, 0.5, 0.2, np.nan]])
    activity = Activity(SPACE, rows)
    found = InfillSearch()(np.random.default_rng(0), SPACE, activity, lambda r: r[:, 2], rows).rows
    assert np.isnan(found[found[:, 0] == 0, 3]).all()
    assert not np.isnan(found[found[:, 0] == 1]).any()


@settings(deadline=None, max_examples=20)
@given(st.integers(0, 999), st.sampled_from([0.01, 0.3]))
def test_neighbours_are_legal_and_near(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    rows = SPACE.sample(rng, 5)
    rows[0, 3] = np.nan
    near = neighbours(rng, SPACE, rows, 40, step)
    assert near.shape == (5, 40, 4)
    assert not np.isnan(near).any()
    assert set(np.unique(near[:, :, 0])) <= {0, 1, 2, 3}
    assert (near[:, :, 1:] >= 0).all()
    assert (near[:, :, 1:] <= 1).all()
    assert (near[1:] != rows[1:, None]).any(axis=2).all()
    assert np.abs(near[1:, :, 2] - rows[1:, None, 2]).mean() < step


def test_effort_must_be_positive() -> None:
    with pytest.raises(ValueError, match="points must be at least 1, but is 0"):
        InfillSearch(points=0)
