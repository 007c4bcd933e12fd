from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.feature_selection import mutual_info_classif

from optuna_mofs.data._dataset import Dataset
from optuna_mofs.features import _ranking, _screening
from optuna_mofs.features._ranking import Ranking
from optuna_mofs.features._screening import (
    best_features,
    check_finite,
    column_relevance,
    needs_screening,
    sample_rows,
)
from optuna_mofs.features._table import FeatureTable, feature_layout

RNG = np.random.default_rng(0)
N, P = 300, 60
X = RNG.normal(size=(N, P))
Y = (X[:, 3] + X[:, 17] ** 2 + 0.3 * RNG.normal(size=N) > 1).astype(int)
COUNTS = RNG.poisson(0.2, size=(N, P)).astype(float)
COUNTS_Y = (COUNTS[:, 5] + COUNTS[:, 40] + 0.3 * RNG.normal(size=N) > 0.5).astype(int)


# ---- rows -------------------------------------------------------------------------------------


def test_a_sample_has_the_shares_of_the_classes_and_the_rare_ones():
    y = np.repeat([0, 1, 2, 3], [50_000, 9_000, 150, 7])
    y = y[np.random.default_rng(1).permutation(len(y))]
    rows = np.arange(len(y))[::2]
    some = sample_rows(rows, y, classification=True, seed=0, size=3_000)
    assert np.isin(some, rows).all()
    assert (np.diff(some) > 0).all()
    whole, part = np.bincount(y[rows]), np.bincount(y[some])
    np.testing.assert_allclose(part[:2], whole[:2] * 3_000 / len(rows), atol=1)
    assert part[2:].tolist() == np.minimum(whole[2:], 100).tolist()


def test_a_sample_of_numbers_has_the_given_size():
    some = sample_rows(np.arange(500), RNG.normal(size=500), classification=False, seed=0, size=80)
    assert len(set(some.tolist())) == 80
    assert abs(some.mean() / 250 - 1) < 0.2


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
def test_infinity_is_found_in_any_row(form, monkeypatch):
    monkeypatch.setattr(_screening, "MAX_ROWS", 100)
    check_finite(form(X))
    bad = X.copy()
    bad[250, 3] = np.inf
    with pytest.raises(ValueError, match="X holds infinity"):
        check_finite(form(bad))


# ---- columns ----------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [None, np.arange(20, 280)])
def test_relevance_is_the_information_of_the_bins(rows):
    found = column_relevance(X, Y, rows, classification=True)
    part, y = (X, Y) if rows is None else (X[rows], Y[rows])
    n = len(y)
    cuts = np.sort(part, axis=0)[[k * n // 5 for k in range(1, 5)]]
    bins = (part[:, None, :] >= cuts).sum(axis=1)
    expected = mutual_info_classif(bins, y, discrete_features=True)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert set(best_first(found, 2)) == {3, 17}


def best_first(scores: Any, count: int) -> list[int]:
    return np.argsort(-scores)[:count].tolist()


def test_relevance_of_frames_numbers_and_blocks(monkeypatch):
    whole = column_relevance(X, Y, None, classification=True)
    monkeypatch.setattr(_screening, "_BLOCK_ENTRIES", 7 * N)
    np.testing.assert_array_equal(column_relevance(X, Y, None, classification=True), whole)
    frame = pd.DataFrame(X).assign(level=np.where(Y, "yes", "no"))
    found = column_relevance(frame, Y, None, classification=True)
    np.testing.assert_array_equal(found[:P], whole)
    assert found[P] == pytest.approx(-np.log([1 - Y.mean(), Y.mean()]) @ [1 - Y.mean(), Y.mean()])
    numbers = column_relevance(X, X[:, 8] + 0.1 * X[:, 9], None, classification=False)
    assert numbers.argmax() == 8


def test_zeros_and_missing_values_are_bins_of_their_own():
    rare = (RNG.random(N) < 0.1).astype(float)
    common = 1.0 - rare
    missing = np.where(rare > 0, np.nan, RNG.normal(size=N))
    constant = np.ones(N)
    table = np.column_stack([rare, common, missing, constant])
    found = column_relevance(table, rare.astype(int), None, classification=True)
    entropy = -(rare.mean() * np.log(rare.mean()) + common.mean() * np.log(common.mean()))
    np.testing.assert_allclose(found, [entropy, entropy, entropy, 0.0], atol=1e-6)


def test_relevance_of_sparse_columns_without_making_them_dense(monkeypatch):
    monkeypatch.setattr(_screening, "_blocks", None)
    rows = np.arange(10, N)
    found = column_relevance(sparse.csr_array(COUNTS), COUNTS_Y, rows, classification=True)
    assert set(best_first(found, 2)) == {5, 40}
    present = mutual_info_classif(COUNTS[rows] > 0, COUNTS_Y[rows], discrete_features=True)
    assert (found >= present - 1e-6).all()
    squared = [np.corrcoef(column, COUNTS_Y[rows])[0, 1] ** 2 for column in COUNTS[rows].T]
    linear = -0.5 * np.log1p(-np.array(squared))
    np.testing.assert_allclose(found, np.maximum(present, linear), atol=1e-5)


def test_a_group_is_as_relevant_as_its_best_column(monkeypatch):
    monkeypatch.setattr(_screening, "N_CANDIDATES", 2)
    relevance = np.array([0.1, 0.9, 0.5, 0.3, 0.2])
    assert best_features(relevance, None).tolist() == [1, 2]
    assert best_features(relevance, [[0, 3], [2, 4], [1]]).tolist() == [1, 2]


def test_only_very_wide_tables_are_screened():
    assert not needs_screening(10, 5_000, is_sparse=False)
    assert needs_screening(1, 5_001, is_sparse=False)
    assert not needs_screening(9_000, 5_000, is_sparse=True)
    assert needs_screening(11_000, 5_000, is_sparse=True)


# ---- rankings ---------------------------------------------------------------------------------


def ranking(table: Any, y: Any, groups: Any = None, **options: Any) -> Ranking:
    data = Dataset(table, y, classification=True)
    layout = feature_layout(data.column_names, groups=groups)
    return Ranking(data, layout, ["auc", "jmi"], 0, **options)


@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame, sparse.csr_array])
@pytest.mark.parametrize("similar", [False, True])
def test_of_very_many_features_the_filters_rank_the_best(form, similar, monkeypatch):
    monkeypatch.setattr(_screening, "MAX_COLUMNS", P - 1)
    monkeypatch.setattr(_screening, "N_CANDIDATES", 10)
    table = form(X)
    if isinstance(table, pd.DataFrame):
        table.columns = [f"c{j}" for j in range(P)]
    rows = np.arange(250)
    found = ranking(table, Y, similar=similar).of_rows(rows)
    relevance = column_relevance(table, Y, rows, classification=True)
    best = np.sort(best_first(relevance, 10))
    assert isinstance(found, FeatureTable)
    narrow = ranking(X[:, best], Y, similar=similar).of_rows(rows)
    for full, part in zip(found.ranks, narrow.ranks):
        assert (
            np.argsort(full[best], kind="stable").tolist()
            == np.argsort(part, kind="stable").tolist()
        )
        others = np.delete(np.arange(P), best)
        assert full[others].max() < full[best].min()
        assert best_first(full[others], 50) == best_first(relevance[others], 50)
    if similar:
        np.testing.assert_array_equal(found.similar.others[best], best[narrow.similar.others])
        np.testing.assert_array_equal(found.similar.shares[best], narrow.similar.shares)
        assert found.similar.shares[np.delete(np.arange(P), best)].max() == 0


def test_groups_of_very_many_columns(monkeypatch):
    monkeypatch.setattr(_screening, "MAX_COLUMNS", P - 1)
    monkeypatch.setattr(_screening, "N_CANDIDATES", 5)
    groups = {"pair": ["x3", "x4"], "other": ["x17", "x18", "x19"]}
    made = ranking(X, Y, groups)
    found = made.table
    assert found.ranks.shape == (2, len(found.names)) == (2, P - 3)
    order = np.argsort(-found.ranks[1])
    assert {found.names[j] for j in order[:2]} == {"pair", "other"}
    assert found.expected_n_features >= 1
    assert 0 <= made.median_redundancy() <= 1


def test_many_rows_are_ranked_on_a_sample(monkeypatch):
    taken = []
    rows_of = Dataset.rows
    monkeypatch.setattr(_ranking, "MAX_ROWS", 200)
    monkeypatch.setattr(_ranking, "N_SAMPLED", 120)
    monkeypatch.setattr(
        Dataset, "rows", lambda data, rows: (taken.append(len(rows)), rows_of(data, rows))[1]
    )
    made = ranking(X, Y)
    table = made.table
    made.median_redundancy()
    assert taken[0] == taken[-1] == 200  # a hundred rows of each class
    assert table.ranks[0].argmax() == 3
    bad = X.copy()
    bad[7, 7] = np.inf
    with pytest.raises(ValueError, match="X holds infinity"):
        _ = ranking(bad, Y).table


def test_all_rows_are_not_copied():
    made = ranking(X, Y)
    assert made._job(np.arange(N)).X is made.data.X


def test_the_size_prior_of_many_columns_is_that_of_the_best(monkeypatch):
    monkeypatch.setattr(_ranking, "_MAX_TREE_COLUMNS", 12)
    seen = []
    mean_tree_size = _ranking.mean_tree_size

    def watched(table: Any, *args: Any, **options: Any) -> float:
        seen.append((table.shape, options["subsets"]))
        return mean_tree_size(table, *args, **options)

    monkeypatch.setattr(_ranking, "mean_tree_size", watched)
    table = ranking(X, Y).table
    assert seen == [((N, 12), 10)]
    assert table.expected_n_features >= 2
