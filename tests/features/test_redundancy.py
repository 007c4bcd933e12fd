from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import sparse

from optuna_mofs.features import _redundancy as redundancy
from optuna_mofs.features._redundancy import (
    BatchSelection,
    Similarity,
    best_first,
    median_redundancy,
    nearest_features,
    select_non_redundant,
    selection_order,
    top_masks,
)
from optuna_mofs.filters import FilterData

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 7)) @ RANDOM.normal(size=(7, 7))
Y = np.arange(80) % 2


def all_shares(others: np.ndarray, shares: np.ndarray) -> np.ndarray:
    full = np.zeros((len(others), len(others)))
    np.put_along_axis(full, others, shares, axis=1)
    return full


@pytest.mark.parametrize("block", [7, 20, 10_000])
def test_squared_correlation(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redundancy, "_BLOCK_ENTRIES", block)
    others, shares = nearest_features(FilterData(X, Y))
    expected = np.corrcoef(X.T) ** 2
    np.fill_diagonal(expected, 0)
    expected[expected < 0.04] = 0
    assert others.shape == (7, 6)
    assert np.allclose(all_shares(others, shares), expected, atol=1e-5)
    assert (np.diff(shares, axis=1) <= 0).all()


def test_similarity_of_groups_is_that_of_their_most_similar_columns() -> None:
    groups = [[0, 3], [1], [2, 4, 5], [6]]
    others, shares = nearest_features(FilterData(X, Y), groups)
    square = np.corrcoef(X.T) ** 2
    found = all_shares(others, shares)
    for a, one in enumerate(groups):
        for b, other in enumerate(groups):
            if a != b:
                most = square[np.ix_(one, other)].max()
                assert np.isclose(found[a, b], most if most >= 0.04 else 0, atol=1e-5)


def test_few_neighbors_of_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redundancy, "_MAX_PAIRS", 14)
    monkeypatch.setattr(redundancy, "_MIN_NEIGHBORS", 2)
    others, shares = nearest_features(FilterData(X, Y))
    expected = np.corrcoef(X.T) ** 2
    np.fill_diagonal(expected, 0)
    assert others.shape == (7, 2)
    assert np.allclose(shares[:, 0], expected.max(axis=1), atol=1e-5)


def test_containers_and_column_types() -> None:
    """Strings, missing values, a constant, a sparse matrix, a single column."""
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 0] > 0, "yes", "no"), "c": 0.1})
    frame.loc[:5, "a"] = np.nan
    others, shares = nearest_features(FilterData(frame, Y))
    assert others[0, 0] == 1
    assert shares[0, 0] > 0.5
    assert shares[2].tolist() == [0, 0]
    _, alike = nearest_features(FilterData(sparse.csc_matrix(X), Y))
    assert np.allclose(alike, nearest_features(FilterData(X, Y))[1])
    assert nearest_features(FilterData(X[:, :1], Y))[0].shape == (1, 0)


def median_share(data: np.ndarray, groups: list[list[int]]) -> float:
    square = np.corrcoef(data.T) ** 2
    best = []
    for one in groups:
        others = [k for group in groups if group is not one for k in group]
        best.append(square[np.ix_(one, others)].max())
    return float(np.median(best))


@pytest.mark.parametrize("groups", [None, [[0, 3], [1], [2, 4], [6]]])
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_median_redundancy_by_definition(groups, form) -> None:
    found = median_redundancy(FilterData(form(X), Y), groups)
    # Column 5 belongs to no feature.
    assert found == pytest.approx(median_share(X, groups or [[j] for j in range(7)]), abs=1e-5)


def test_median_redundancy_of_many_features_uses_evenly_spaced_ones() -> None:
    pairs = np.repeat(RANDOM.normal(size=(40, 350)), 2, axis=1)
    target = np.arange(40) % 2
    assert median_redundancy(FilterData(pairs, target)) == 1.0
    assert median_redundancy(FilterData(pairs[:, ::2], target)) < 0.6


@pytest.mark.parametrize("data", [X[:, :1], np.ones((80, 3))])
def test_median_redundancy_without_other_features_is_zero(data: np.ndarray) -> None:
    assert median_redundancy(FilterData(data, Y)) == 0.0


@st.composite
def similarities(draw: st.DrawFn) -> Similarity:
    p = draw(st.integers(1, 9))
    width = draw(st.integers(0, p - 1))
    shape = (p, width)
    others = draw(hnp.arrays(np.int64, shape, elements=st.integers(0, p - 1)))
    shares = draw(hnp.arrays(float, shape, elements=st.floats(0, 1)))
    return Similarity(others, shares)


@given(hnp.arrays(float, st.integers(0, 12), elements=st.sampled_from([0.0, 0.3, 0.7, np.nan])))
def test_best_first_is_a_stable_sort_cut_off(score: np.ndarray) -> None:
    everything = [j for j in np.argsort(-score, kind="stable").tolist() if not np.isnan(score[j])]
    for count in range(len(score) + 2):
        assert best_first(score, count).tolist() == everything[:count]


@given(similarities())
def test_json_there_and_back(similar: Similarity) -> None:
    again = Similarity.from_json(json.loads(json.dumps(similar.to_json())))
    assert again.others.shape == similar.others.shape
    assert (again.others == similar.others).all()
    assert np.abs(again.shares - similar.shares).max(initial=0) <= 0.5 / 255 + 1e-12


@given(similarities(), st.data())
def test_selection_step_by_step(similar: Similarity, data: st.DataObject) -> None:
    """At each step the feature with the highest penalized score is selected, ties by position."""
    p = len(similar.others)
    score = np.array(data.draw(st.lists(st.floats(0, 1), min_size=p, max_size=p))).round(12)
    count, penalty = data.draw(st.integers(0, p)), data.draw(st.floats(0, 1))
    share = np.zeros(p)
    expected: list[int] = []
    for _ in range(count):
        value = np.array([round(s * (1 - penalty * r), 12) for s, r in zip(score, share)])
        value[expected] = -1
        expected.append(int(value.argmax()))
        np.maximum.at(share, similar.others[expected[-1]], similar.shares[expected[-1]])
    assert select_non_redundant(score, count, penalty=penalty, similar=similar) == expected


TWINS = Similarity(np.array([[1], [0], [0]]), np.array([[1.0], [1.0], [0.0]]))


def test_a_copy_of_a_fixed_feature_comes_last() -> None:
    score = np.array([np.nan, 0.9, 0.1])
    assert select_non_redundant(score, 1, penalty=1.0, similar=TWINS, fixed=[0]) == [2]
    assert select_non_redundant(score, 1, penalty=0.5, similar=TWINS, fixed=[0]) == [1]
    assert select_non_redundant(score, 3, penalty=1.0, similar=TWINS, fixed=[0]) == [2, 1]


@pytest.mark.parametrize(
    ("others", "shares", "message"),
    [
        (np.zeros((3, 1), int), np.zeros((2, 1)), "the same shape"),
        (np.full((3, 1), 3), np.zeros((3, 1)), r"positions in 0\.\.2"),
        (np.zeros((3, 1), int), np.full((3, 1), 1.5), r"in \[0, 1\], got 1\.5"),
    ],
)
def test_bad_arrays_raise(others: np.ndarray, shares: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Similarity(others, shares)


# ---- many selections at once --------------------------------------------------------------------


def random_similarity(p: int, rng: np.random.Generator) -> Similarity:
    """Return up to four different neighbors of each feature, some of them without a share."""
    width = min(4, p - 1)
    others = np.array([rng.permutation(np.delete(np.arange(p), j))[:width] for j in range(p)])
    shares = np.round(rng.random((p, width)), 2) * (rng.random((p, width)) < 0.8)
    return Similarity(others.reshape(p, width), shares)


def masks_of_places(places: np.ndarray, sizes: np.ndarray) -> np.ndarray:
    return places < sizes[:, None]


@settings(max_examples=40)
@given(st.integers(1, 45), st.integers(0, 2), st.integers(0, 10_000))
def test_orders_of_selection_are_those_of_single_ones(p: int, n_fixed: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    similar = random_similarity(p, rng)
    fixed = tuple(range(min(n_fixed, p - 1)))
    free = np.arange(len(fixed), p)
    scores = np.round(rng.random((6, len(free))), 1 if seed % 2 else 12)
    penalties = np.array([0.0, 1.0, *rng.random(4)])
    n_steps = int(rng.integers(0, len(free) + 1))
    selection = BatchSelection(similar, free, fixed)
    places = selection_order(selection, scores, penalties, n_steps)
    # Each feature has its own place; those that are not needed are behind all others.
    n_placed = n_steps if n_steps <= 32 else len(free)
    expected = np.where(np.arange(len(free)) < n_placed, np.arange(len(free)), len(free))
    np.testing.assert_array_equal(np.sort(places, axis=1), np.tile(expected, (6, 1)))
    for score, penalty, place in zip(scores, penalties, places):
        full = np.full(p, np.nan)
        full[free] = score
        wanted = select_non_redundant(
            full, min(32, n_steps), penalty=penalty, similar=similar, fixed=fixed
        )
        assert free[np.argsort(place, kind="stable")][: len(wanted)].tolist() == wanted


@settings(max_examples=25)
@given(st.integers(33, 60), st.integers(0, 10_000))
def test_after_32_features_only_these_are_compared(p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    similar = random_similarity(p, rng)
    scores, penalties = np.round(rng.random((3, p)), 2), rng.random(3)
    counts = rng.integers(0, p + 1, 3)
    found = BatchSelection(similar, np.arange(p))(scores, counts, penalties)
    for score, penalty, count, mask in zip(scores, penalties, counts, found):
        first = select_non_redundant(score, min(32, count), penalty=penalty, similar=similar)
        share = np.zeros(p)
        for j in first:
            np.maximum.at(share, similar.others[j], similar.shares[j])
        rest = np.round(score * (1 - penalty * share), 12)
        rest[first] = np.nan
        assert set(np.flatnonzero(mask)) == {*first, *best_first(rest, count - len(first))}


@settings(max_examples=25)
@given(st.integers(1, 50), st.integers(0, 10_000))
def test_a_set_does_not_depend_on_the_other_sets_of_its_batch(p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    selection = BatchSelection(random_similarity(p, rng), np.arange(p))
    scores, penalties = rng.random((5, p)), rng.random(5)
    counts = rng.integers(0, p + 1, 5)
    together = selection(scores, counts, penalties)
    alone = [selection(scores[[i]], counts[[i]], penalties[[i]])[0] for i in range(5)]
    np.testing.assert_array_equal(together, alone)
    # Sets of all sizes are prefixes of one order.
    places = selection.order(scores, penalties, p)
    np.testing.assert_array_equal(masks_of_places(places, counts), together)


@given(st.integers(1, 12), st.integers(0, 10_000))
def test_without_similarities_the_highest_scores_come_first(p: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((4, p)), 1)
    sizes = rng.integers(0, p + 1, 4)
    places = selection_order(None, scores, np.zeros(4), p)
    np.testing.assert_array_equal(masks_of_places(places, sizes), top_masks(scores, sizes))


def test_no_sets_have_no_order() -> None:
    selection = BatchSelection(random_similarity(5, np.random.default_rng(0)), np.arange(5))
    for made in (selection, None):
        places = selection_order(made, np.empty((0, 5)), np.empty(0), 0)
        assert places.shape == (0, 5)
