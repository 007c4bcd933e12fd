from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs import FeatureTable
from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._children import (
    FilterColumns,
    FilteredChildren,
    sample_filtered_mask,
)
from optuna_mofs.samplers.ghga._guides import ForestGuide

P = 40


@pytest.fixture
def table() -> FeatureTable:
    """One filter prefers low numbers, the other high ones."""
    ranks = np.array([np.linspace(1, 0, P), np.linspace(0, 1, P)])
    return FeatureTable(tuple(f"x{j}" for j in range(P)), filters=("low", "high"), ranks=ranks)


def test_single_filters_take_turns(table: FeatureTable) -> None:
    rng = np.random.default_rng(0)
    for number, best in ((1, 0), (3, -1), (5, 0)):
        for _ in range(10):
            mask, operator = sample_filtered_mask(rng, table, np.full(2, 0.5), number)
            assert operator == "initial_single_filter"
            inside = np.flatnonzero(mask)
            assert mask[best]
            assert np.ptp(inside) == len(inside) - 1


def test_other_initial_masks_take_turns(table: FeatureTable) -> None:
    rng, weights = np.random.default_rng(0), np.full(2, 0.5)
    found = [sample_filtered_mask(rng, table, weights, number)[1] for number in (2, 4, 6, 8)]
    assert found == ["initial_wide", "initial_ensemble", "initial_wide", "initial_bernoulli"]


def test_columns_set_the_best_features_apart(table: FeatureTable) -> None:
    assert table.free_ranks is not None
    columns = FilterColumns(table.free_ranks)
    masks = np.zeros((3, P), dtype=bool)
    masks[0, :2] = masks[1, 10:12] = True  # the third is empty
    found = columns(masks)
    assert found.shape == (3, 6)
    assert found[0, 0] > found[1, 0] + 1
    assert found[0, 1] < found[1, 1]
    np.testing.assert_array_equal(found[2], 0)


def test_a_guide_learns_which_filter_to_trust(table: FeatureTable) -> None:
    # Sets that were never tried: only the filters distinguish them.
    assert table.free_ranks is not None
    rng = np.random.default_rng(0)
    masks = np.array(
        [sample_filtered_mask(rng, table, np.ones(2), 2 * k + 1)[0] for k in range(40)]
    )
    losses = np.exp(-(masks @ table.free_ranks[0]) / np.maximum(1, masks.sum(axis=1)))
    candidates = np.zeros((2, P), dtype=bool)
    candidates[0, [2, 4, 6]] = candidates[1, [33, 35, 37]] = True
    informed = ForestGuide(columns=FilterColumns(table.free_ranks))
    scores = informed(masks, losses, rng)(candidates, rng)
    assert scores[0] > scores[1] + 0.3


def children(table: FeatureTable, wanted: np.ndarray) -> tuple[FilteredChildren, Archive]:
    archive = Archive(P)
    rng = np.random.default_rng(1)
    for number in range(6):
        archive.add(np.packbits(rng.random(P) < 0.2), 0.5, number)
    return FilteredChildren(table, lambda masks, rng: masks @ wanted, 0.05), archive


def test_children_are_new_and_the_best_that_the_guide_predicts(table: FeatureTable) -> None:
    wanted = np.where(np.arange(P) < 8, 1.0, -1.0)
    make, archive = children(table, wanted)
    members = np.arange(6)
    before = max(mask @ wanted for mask in archive.masks(np.arange(6)))
    gains = []
    for seed in range(40):
        child = make(np.random.default_rng(seed), archive, members)
        assert child is not None
        assert archive.position(child.mask) is None
        assert child.mask.any()
        gains.append(child.mask @ wanted - before)
        if child.operator == "addition":
            added = np.flatnonzero(child.mask & ~archive.masks(child.first))
            assert len(added) == 1
            assert added[0] < 8
        if child.operator == "prefix":
            assert child.mask[[0, -1]].any()
    assert np.mean(gains) > 0


def test_no_child_if_all_sets_were_tried() -> None:
    table = FeatureTable(("a",), filters=("f",), ranks=np.ones((1, 1)))
    archive = Archive(1)
    archive.add(np.packbits([True]), 0.1, 0)
    archive.add(np.packbits([False]), 0.2, 1)
    make = FilteredChildren(table, lambda masks, rng: masks.sum(axis=1), 0.05)
    for seed in range(10):
        assert make(np.random.default_rng(seed), archive, np.array([0, 1])) is None
