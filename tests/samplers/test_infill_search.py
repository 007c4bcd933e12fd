from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from optuna_mofs import FeatureTable
from optuna_mofs.history._search_space import ConditionalParameters, SearchSpace
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._encoding import MAX_SUMMARY_BITS, MaskSummary
from optuna_mofs.samplers._infill_search import InfillSearch, MaskSearch, neighbors


def trials(rows: np.ndarray, masks: np.ndarray | None = None) -> Candidates:
    return Candidates(rows, np.arange(len(rows))[:, None], np.full(len(rows), ""), masks)


SPACE = SearchSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c", "d"]),
        "n": IntDistribution(1, 9),
        "x": FloatDistribution(0, 1),
        "y": FloatDistribution(0, 1),
    }
)


#: All parameters are active.
ANY = ConditionalParameters(SPACE, np.empty((0, 4)))


def acquisition(candidates: Candidates) -> np.ndarray:
    rows = candidates.rows
    return (rows[:, 0] != 2) + (rows[:, 2] - 0.63) ** 2 + (rows[:, 3] - 0.11) ** 2


def search(seed: int = 0, **options: int) -> tuple[Candidates, np.ndarray]:
    rng = np.random.default_rng(seed)
    starts = trials(SPACE.sample(rng, 3))
    return InfillSearch(**options)(rng, SPACE, ANY, acquisition, starts)


def test_finds_the_minimum_of_a_mixed_function() -> None:
    for seed in range(5):
        found, values = search(seed)
        best = found.rows[values.argmin()]
        assert best[0] == 2
        np.testing.assert_allclose(best[2:], [0.63, 0.11], atol=0.02)


def test_focus_and_local_each_do_their_part() -> None:
    found, _ = search(n_restarts=3, n_rounds=3, n_points=100)
    focus = found.rows[:900].reshape(3, 3, 100, 4)
    widths = np.ptp(focus[:, 0, :, 2], axis=1)
    assert widths[1] < 0.6 * widths[0]
    assert widths[2] < 0.6 * widths[1]
    assert set(found.parents[:, 0]) == {-1, 0, 1, 2}
    assert set(found.operators) == {"focus", "local"}


def test_only_active_parameters() -> None:
    rows = np.array([[0, 0.5, 0.3, np.nan], [1, 0.5, 0.3, 0.1], [2, 0.5, 0.2, np.nan]])
    conditional = ConditionalParameters(SPACE, rows)
    rng = np.random.default_rng(0)
    found = InfillSearch()(rng, SPACE, conditional, lambda c: c.rows[:, 2], trials(rows))[0].rows
    assert np.isnan(found[found[:, 0] == 0, 3]).all()
    assert not np.isnan(found[found[:, 0] == 1]).any()


@settings(max_examples=20)
@given(st.integers(0, 999), st.sampled_from([0.01, 0.3]))
def test_neighbors_are_legal_and_near(seed: int, step: float) -> None:
    rng = np.random.default_rng(seed)
    rows = SPACE.sample(rng, 5)
    rows[0, 3] = np.nan
    near = neighbors(rng, SPACE, ANY, rows, 40, step)
    assert near.shape == (5, 40, 4)
    assert not np.isnan(near).any()
    assert set(np.unique(near[:, :, 0])) <= {0, 1, 2, 3}
    assert (near[:, :, 1:] >= 0).all()
    assert (near[:, :, 1:] <= 1).all()
    assert (near[1:] != rows[1:, None]).any(axis=2).all()
    assert np.abs(near[1:, :, 2] - rows[1:, None, 2]).mean() < step


def test_effort_must_be_positive() -> None:
    with pytest.raises(ValueError, match="n_points must be an integer of at least 1, got 0"):
        InfillSearch(n_points=0)


def table(p: int, *, ranked: bool = True) -> FeatureTable:
    ranks = np.array([np.arange(p)[::-1] / (p - 1), np.arange(p) / (p - 1)])
    return FeatureTable(
        tuple(f"f{j}" for j in range(p)),
        filters=("first", "last") if ranked else (),
        ranks=ranks if ranked else None,
        expected_n_features=2.0,
    )


def test_columns_by_hand() -> None:
    view = MaskSummary(table(5))
    masks = np.array([[True, True, False, False, False], [False] * 5])
    found = view(masks)
    assert found[0, 0] == np.float32(0.4)
    np.testing.assert_allclose(found[0, 2:4], [0.875, 0.125])  # mean ranks
    np.testing.assert_allclose(found[0, 4:6], [1.0, 0.0])  # favorites of each filter
    np.testing.assert_array_equal(found[:, 6:], masks)
    np.testing.assert_allclose(found[1, :4], [0, 0, 0.5, 0.5])


@pytest.mark.parametrize("ranked", [True, False])
def test_width_does_not_grow_with_features(ranked: bool) -> None:
    widths = {
        MaskSummary(table(p, ranked=ranked))(np.zeros((3, p), dtype=bool)).shape[1]
        for p in (100, 1000, 5000)
    }
    assert len(widths) == 1
    assert widths.pop() <= MAX_SUMMARY_BITS + 6


@pytest.mark.parametrize("ranked", [True, False])
def test_search_improves_on_its_parents(ranked: bool) -> None:
    p = 40
    rng = np.random.default_rng(0)
    wanted = np.zeros(p, dtype=bool)
    wanted[:3] = True
    parents = rng.random((6, p)) < 0.2
    rows = rng.random((6, 2))

    def acquisition(candidates: Candidates) -> np.ndarray:
        wrong = (candidates.masks_of(slice(None)) ^ wanted).sum(axis=1)
        return wrong + np.abs(candidates.rows - 0.5).sum(axis=1)

    starts = trials(rows, parents)
    before = acquisition(starts).min()
    space = SearchSpace({"x": FloatDistribution(0, 1), "y": FloatDistribution(0, 1)})
    conditional = ConditionalParameters(space, rows)
    features = table(p, ranked=ranked)
    found, values = MaskSearch()(rng, features, space, conditional, acquisition, starts)
    assert values.min() < before - 1
    np.testing.assert_allclose(values, acquisition(found))
    assert {"add_drop", "filter_ensemble", "crossover", "hyperparameters"} <= set(found.operators)
    assert set(found.parents[:, 0]) <= set(range(6))


def test_many_features_get_fewer_masks() -> None:
    p = 50_000
    rng = np.random.default_rng(0)
    space = SearchSpace({})
    found, _ = MaskSearch()(
        rng,
        table(p),
        space,
        ConditionalParameters(space, np.zeros((1, 0))),
        lambda candidates: candidates.masks.sum(axis=1)[candidates.mask_index].astype(float),
        trials(np.zeros((1, 0)), np.zeros((1, p), dtype=bool)),
    )
    assert found.masks.size < 5_000_000
