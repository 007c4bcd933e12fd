from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optuna_mofs.samplers.operators.survival import (
    binary_tournament,
    crowding_distances,
    pareto_ranks,
    survivors,
)

POINTS = arrays(
    float,
    st.tuples(st.integers(1, 25), st.integers(1, 3)),
    elements=st.integers(0, 6).map(float),
)


def _ranks_by_peeling(values: np.ndarray) -> np.ndarray:
    ranks = np.full(len(values), -1)
    level = 0
    while (ranks < 0).any():
        left = np.flatnonzero(ranks < 0)
        for i in left:
            dominated = any(
                (values[j] <= values[i]).all() and (values[j] < values[i]).any() for j in left
            )
            if not dominated:
                ranks[i] = -2 - level
        ranks[ranks == -2 - level] = level
        level += 1
    return ranks


@settings(deadline=None, max_examples=60)
@given(POINTS)
def test_ranks_are_those_of_peeling(values: np.ndarray) -> None:
    np.testing.assert_array_equal(
        pareto_ranks(values, np.zeros(len(values))), _ranks_by_peeling(values)
    )


@settings(deadline=None, max_examples=40)
@given(POINTS, st.data())
def test_infeasible_points_come_last_by_violation(values: np.ndarray, data: st.DataObject) -> None:
    violations = np.array(
        data.draw(
            st.lists(st.sampled_from([0, 0, 1.0, 2.5]), min_size=len(values), max_size=len(values))
        )
    )
    ranks = pareto_ranks(values, violations)
    for i in range(len(values)):
        for j in range(len(values)):
            if violations[i] < violations[j]:
                assert ranks[i] < ranks[j]


def test_crowding_by_hand() -> None:
    values = np.array([[0.0, 4.0], [1.0, 2.0], [4.0, 0.0], [9.0, 9.0]])
    ranks = np.array([0, 0, 0, 1])
    crowding = crowding_distances(values, ranks)
    assert np.isinf(crowding[[0, 2, 3]]).all()
    assert crowding[1] == 2.0  # the whole range in both objectives
    assert crowding_distances(values, ranks, normalise=False)[1] == 8.0


@settings(deadline=None, max_examples=40)
@given(POINTS, st.integers(1, 30))
def test_survivors_are_the_best(values: np.ndarray, count: int) -> None:
    best, ranks, crowding = survivors(values, np.zeros(len(values)), count)
    assert len(best) == len(ranks) == len(crowding) == min(count, len(values))
    assert (np.diff(best) > 0).all()
    lost = np.setdiff1d(np.arange(len(values)), best)
    if len(lost):
        every = pareto_ranks(values, np.zeros(len(values)))
        assert ranks.max() <= every[lost].min()


def test_tournament_prefers_rank_then_crowding() -> None:
    rng = np.random.default_rng(0)
    wins = [binary_tournament(rng, np.array([0, 1]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 0) < 0.85  # loses only against itself
    wins = [binary_tournament(rng, np.array([0, 0]), np.array([0.0, 9.0])) for _ in range(200)]
    assert 0.65 < np.mean(np.array(wins) == 1) < 0.85
