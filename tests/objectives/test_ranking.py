from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.features import FeatureTable
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.objectives import ranking
from optuna_mofs.objectives.dataset import Dataset
from optuna_mofs.objectives.ranking import Ranking

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 2] > 0).astype(int)


@pytest.fixture
def fits(monkeypatch):
    """Rows of every fit of an ensemble."""
    counted = []
    original = FilterEnsemble.fit

    def counting(self, X, y, groups=None):
        counted.append(len(y))
        return original(self, X, y, groups=groups)

    monkeypatch.setattr(FilterEnsemble, "fit", counting)
    return counted


def make(filters=("anova_f",), fixed=(), **options):
    table = FeatureTable(("a", "b", "c", "d"), fixed=fixed)
    return Ranking(Dataset(X, Y, classification=True), table, filters, 0, **options)


def test_nothing_is_ranked_before_it_is_needed(fits):
    found = make()
    assert found.unranked.filters == ("anova_f",)
    assert found.unranked.ranks is None
    assert fits == []
    assert found.table.ranks.shape == (1, 4)
    assert found.table is found.table
    assert fits == [60]


def test_ranks_of_rows_see_only_those_rows_and_are_kept(fits):
    found, rows = make(), np.arange(0, 60, 2)
    first = found.of_rows(rows)
    np.testing.assert_array_equal(
        first.ranks, FilterEnsemble(["anova_f"], random_state=0).fit(X[rows], Y[rows]).ranks_
    )
    fits.clear()
    assert found.of_rows(rows.copy()) is first
    assert fits == []


def test_similarity_of_rows_is_of_those_rows_and_only_if_asked_for():
    rows = np.arange(0, 60, 2)
    found = make(similar=True)
    for seen, expected in ((found.of_rows(rows), X[rows]), (found.table, X)):
        square = np.corrcoef(expected.T) ** 2
        np.fill_diagonal(square, 0)
        assert seen.similar.shares[:, 0].max() == pytest.approx(square.max(), abs=1e-5)
    assert make().table.similar is None


def test_ranks_of_ever_new_rows_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(ranking, "_KEPT", 3)
    found = make()
    for k in range(6):
        found.of_rows(np.arange(k, 60))
    assert len(found._by_rows) == 3


def test_without_filters_or_free_features_nothing_is_ranked(fits):
    assert make(filters=()).table.ranks is None
    assert make(fixed=(0, 1, 2, 3)).table.ranks is None
    assert fits == []
