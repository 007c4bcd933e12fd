from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from optuna_mofs.features._stability import (
    interchangeable_features,
    nogueira_stability,
    selection_instability,
)

MASKS = hnp.arrays(bool, hnp.array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=7))


def textbook(masks):
    """Return index and variance, written feature by feature and set by set."""
    m, d = len(masks), len(masks[0])
    frequency = [sum(row[f] for row in masks) / m for f in range(d)]
    k = [sum(row) for row in masks]
    mean = sum(k) / m
    chance = mean / d * (1 - mean / d)
    spread = sum(m / (m - 1) * p * (1 - p) for p in frequency) / d
    index = 1 - spread / chance
    parts = []
    for row, size in zip(masks, k):
        agreement = sum(p for p, chosen in zip(frequency, row) if chosen) / d
        correction = 2 * mean * size / d**2 - size / d - mean / d + 1
        parts.append((agreement - size * mean / d**2 + index / 2 * correction) / chance)
    center = sum(parts) / m
    return index, 4 / m**2 * sum((part - center) ** 2 for part in parts)


@settings(max_examples=60)
@given(MASKS)
def test_the_index_and_its_interval_are_those_of_the_paper(masks):
    found = nogueira_stability(masks)
    if masks.mean() in (0.0, 1.0):
        assert np.isnan([found.value, found.low, found.high]).all()
        assert selection_instability(masks) == 0.0
        return
    index, variance = textbook(masks.astype(int).tolist())
    assert found.value == pytest.approx(index, abs=1e-9)
    assert found.high - found.value == pytest.approx(1.959964 * np.sqrt(variance), abs=1e-6)
    assert found.value - found.low == pytest.approx(found.high - found.value, abs=1e-9)
    assert selection_instability(masks) == pytest.approx(1 - index, abs=1e-9)
    assert index <= 1 + 1e-12


@settings(max_examples=30)
@given(MASKS, st.randoms(use_true_random=False))
def test_the_order_of_sets_and_features_does_not_matter(masks, shuffler):
    sets, features = list(range(len(masks))), list(range(len(masks[0])))
    shuffler.shuffle(sets)
    shuffler.shuffle(features)
    one, other = nogueira_stability(masks), nogueira_stability(masks[sets][:, features])
    np.testing.assert_allclose(
        [one.value, one.low, one.high], [other.value, other.low, other.high], atol=1e-9
    )


def test_equal_sets_are_stable_and_random_ones_are_not():
    equal = nogueira_stability(np.tile([True, True, False, False], (6, 1)))
    assert (equal.value, equal.low, equal.high) == (1.0, 1.0, 1.0)
    rng = np.random.default_rng(0)
    found = [nogueira_stability(rng.random((20, 60)) < 0.2) for _ in range(60)]
    assert np.mean([each.value for each in found]) == pytest.approx(0, abs=0.01)
    assert np.mean([each.low <= 0 <= each.high for each in found]) > 0.85


def test_a_higher_confidence_widens_the_interval():
    masks = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]])
    narrow, wide = (nogueira_stability(masks, confidence=c) for c in (0.5, 0.99))
    assert wide.low < narrow.low < narrow.value == wide.value < narrow.high < wide.high
    with pytest.raises(ValueError, match=r"confidence must be a number of .* got 2"):
        nogueira_stability(masks, confidence=2)
    with pytest.raises(ValueError, match="masks must be a table"):
        nogueira_stability(np.array([True, False]))


# ---- groups -------------------------------------------------------------------------------------

#: Features 0 and 1 replace each other, 2 is always there, 3 comes with 0, 4 is rare.
ALTERNATING = np.array(
    [[1, 0, 1, 1, 0], [0, 1, 1, 0, 0], [1, 0, 1, 1, 0], [0, 1, 1, 0, 1]] * 5, dtype=bool
)
ALTERNATING[1:, 4] = False
ALTERNATING[3, 4] = True
ALIKE = dict.fromkeys(itertools.combinations(range(5), 2), 0.9)


def test_features_that_alternate_are_a_group_and_those_that_come_together_are_not():
    (group,) = interchangeable_features(ALTERNATING, {(0, 1): 0.9, (0, 3): 0.95, (0, 2): 0.99})
    assert group.features == (0, 1)
    assert (group.frequency, group.together, group.similarity) == (1.0, 0.0, 0.9)


def test_dissimilar_and_rare_features_are_in_no_group():
    assert interchangeable_features(ALTERNATING, {(0, 1): 0.4}) == []
    assert interchangeable_features(ALTERNATING, {(0, 1): 0.4}, min_similarity=0.3)
    assert interchangeable_features(ALTERNATING, {(0, 4): 0.9}) == []
    assert interchangeable_features(ALTERNATING, {(0, 4): 0.9}, min_frequency=0.01)
    assert interchangeable_features(ALTERNATING[:0], ALIKE) == []


def test_all_pairs_of_a_group_replace_each_other():
    masks = np.eye(3, dtype=bool)[np.arange(30) % 3]
    (three,) = interchangeable_features(
        masks, dict.fromkeys(itertools.combinations(range(3), 2), 0.8)
    )
    assert three.features == (0, 1, 2)
    chain = {(0, 1): 0.9, (1, 2): 0.8, (0, 2): 0.1}
    (two,) = interchangeable_features(masks, chain)
    assert two.features == (0, 1)
    assert two.frequency == pytest.approx(2 / 3)


def test_the_measure_of_groups_is_a_share_of_the_sets():
    masks = np.array([[1, 1], [1, 0], [0, 1], [0, 0], [1, 0], [0, 1]], dtype=bool)
    (group,) = interchangeable_features(masks, {(0, 1): 0.7})
    assert group.frequency == pytest.approx(5 / 6)
    assert group.together == pytest.approx(1 / 6)
