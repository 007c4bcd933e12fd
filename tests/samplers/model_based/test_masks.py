from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs import FeatureTable
from optuna_mofs.samplers.model_based.masks import SHOWN_BITS, MaskSearch, MaskView


def table(p: int, *, ranked: bool = True) -> FeatureTable:
    ranks = np.array([np.arange(p)[::-1] / (p - 1), np.arange(p) / (p - 1)])
    return FeatureTable(
        tuple(f"f{j}" for j in range(p)),
        filters=("first", "last") if ranked else (),
        ranks=ranks if ranked else None,
        mean_size=2.0,
    )


def test_columns_by_hand() -> None:
    view = MaskView(table(5))
    masks = np.array([[True, True, False, False, False], [False] * 5])
    found = view(masks)
    assert found[0, 0] == np.float32(0.4)
    np.testing.assert_allclose(found[0, 2:4], [0.875, 0.125])  # mean ranks
    np.testing.assert_allclose(found[0, 4:6], [1.0, 0.0])  # favourites of each filter
    np.testing.assert_array_equal(found[:, 6:], masks)
    np.testing.assert_allclose(found[1, :4], [0, 0, 0.5, 0.5])


@pytest.mark.parametrize("ranked", [True, False])
def test_width_does_not_grow_with_features(ranked: bool) -> None:
    widths = {
        MaskView(table(p, ranked=ranked))(np.zeros((3, p), dtype=bool)).shape[1]
        for p in (100, 1000, 5000)
    }
    assert len(widths) == 1
    assert widths.pop() <= SHOWN_BITS + 6


@pytest.mark.parametrize("ranked", [True, False])
def test_search_improves_on_its_parents(ranked: bool) -> None:
    p = 40
    rng = np.random.default_rng(0)
    wanted = np.zeros(p, dtype=bool)
    wanted[:3] = True
    parents = rng.random((6, p)) < 0.2
    rows = rng.random((6, 2))

    def score(rows: np.ndarray, masks: np.ndarray, index: np.ndarray) -> np.ndarray:
        wrong = (masks ^ wanted).sum(axis=1)[index]
        return wrong + np.abs(rows - 0.5).sum(axis=1)

    before = score(rows, parents, np.arange(6)).min()
    found = MaskSearch()(
        rng,
        table(p, ranked=ranked),
        (rows, parents),
        lambda rows, count, step: np.clip(
            rows[:, None] + step * rng.standard_normal((len(rows), count, 2)), 0, 1
        ),
        score,
    )
    assert found.scores.min() < before - 1
    masks = np.array([found.mask(k) for k in range(len(found.rows))])
    np.testing.assert_allclose(found.scores, score(found.rows, masks, np.arange(len(masks))))
    assert {"flip", "redraw", "crossover", "row"} <= set(found.operators)
    assert set(found.source) <= set(range(6))


def test_many_features_get_fewer_masks() -> None:
    p = 50_000
    rng = np.random.default_rng(0)
    found = MaskSearch()(
        rng,
        table(p),
        (np.zeros((1, 0)), np.zeros((1, p), dtype=bool)),
        lambda rows, count, step: np.zeros((len(rows), count, 0)),
        lambda rows, masks, index: masks.sum(axis=1)[index].astype(float),
    )
    assert found.masks.size < 5_000_000
