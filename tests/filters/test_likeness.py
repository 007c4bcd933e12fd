from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs.filters import FilterData, likeness
from optuna_mofs.filters.likeness import nearest_features, typical_share

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(80, 7)) @ RANDOM.normal(size=(7, 7))
Y = np.arange(80) % 2


def all_shares(others: np.ndarray, shares: np.ndarray) -> np.ndarray:
    full = np.zeros((len(others), len(others)))
    np.put_along_axis(full, others, shares, axis=1)
    return full


@pytest.mark.parametrize("block", [7, 20, 10_000])
def test_squared_correlation(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "_BLOCK_ENTRIES", block)
    others, shares = nearest_features(FilterData(X, Y))
    expected = np.corrcoef(X.T) ** 2
    np.fill_diagonal(expected, 0)
    expected[expected < 0.04] = 0
    assert others.shape == (7, 6)
    assert np.allclose(all_shares(others, shares), expected, atol=1e-5)
    assert (np.diff(shares, axis=1) <= 0).all()


def test_groups_are_as_alike_as_their_most_alike_columns() -> None:
    groups = [[0, 3], [1], [2, 4, 5], [6]]
    others, shares = nearest_features(FilterData(X, Y), groups)
    square = np.corrcoef(X.T) ** 2
    found = all_shares(others, shares)
    for a, one in enumerate(groups):
        for b, other in enumerate(groups):
            if a != b:
                most = square[np.ix_(one, other)].max()
                assert np.isclose(found[a, b], most if most >= 0.04 else 0, atol=1e-5)


def test_few_neighbours_of_many_features(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likeness, "_PAIRS", 14)
    monkeypatch.setattr(likeness, "_FEWEST", 2)
    others, shares = nearest_features(FilterData(X, Y))
    expected = np.corrcoef(X.T) ** 2
    np.fill_diagonal(expected, 0)
    assert others.shape == (7, 2)
    assert np.allclose(shares[:, 0], expected.max(axis=1), atol=1e-5)


def test_what_users_hold() -> None:
    """Words, gaps, a constant, a sparse matrix, a single column."""
    frame = pd.DataFrame({"a": X[:, 0], "b": np.where(X[:, 0] > 0, "yes", "no"), "c": 0.1})
    frame.loc[:5, "a"] = np.nan
    others, shares = nearest_features(FilterData(frame, Y))
    assert others[0, 0] == 1
    assert shares[0, 0] > 0.5
    assert shares[2].tolist() == [0, 0]
    _, alike = nearest_features(FilterData(sparse.csc_matrix(X), Y))
    assert np.allclose(alike, nearest_features(FilterData(X, Y))[1])
    assert nearest_features(FilterData(X[:, :1], Y))[0].shape == (1, 0)


def middle_share(data: np.ndarray, groups: list[list[int]]) -> float:
    square = np.corrcoef(data.T) ** 2
    best = []
    for one in groups:
        others = [k for group in groups if group is not one for k in group]
        best.append(square[np.ix_(one, others)].max())
    return float(np.median(best))


@pytest.mark.parametrize("groups", [None, [[0, 3], [1], [2, 4], [6]]])
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_typical_share_is_that_of_the_middle_feature(groups, form) -> None:
    found = typical_share(FilterData(form(X), Y), groups)
    # Column 5 belongs to no feature.
    assert found == pytest.approx(middle_share(X, groups or [[j] for j in range(7)]), abs=1e-5)


def test_typical_share_of_many_features_looks_at_a_spread_of_them() -> None:
    pairs = np.repeat(RANDOM.normal(size=(40, 350)), 2, axis=1)
    target = np.arange(40) % 2
    assert typical_share(FilterData(pairs, target)) == 1.0
    assert typical_share(FilterData(pairs[:, ::2], target)) < 0.6


@pytest.mark.parametrize("data", [X[:, :1], np.ones((80, 3))])
def test_typical_share_of_what_has_no_other(data: np.ndarray) -> None:
    assert typical_share(FilterData(data, Y)) == 0.0
