from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine, make_classification
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from optuna_mofs import feature_table
from optuna_mofs.data._dataset import Dataset
from optuna_mofs.features import FeatureTable, mean_tree_size
from optuna_mofs.features import _ranking as ranking
from optuna_mofs.features._ranking import BinnedTrees, Ranking
from optuna_mofs.features._table import feature_layout
from optuna_mofs.filters import FilterEnsemble

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = (X[:, 2] > 0).astype(int)


@pytest.fixture
def fits(monkeypatch):
    """Rows of every fit of an ensemble."""
    counted = []
    original = FilterEnsemble.fit

    def counting(self, X, y, feature_groups=None):
        counted.append(len(y))
        return original(self, X, y, feature_groups=feature_groups)

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


def test_similarity_is_computed_on_the_given_rows_and_only_on_request():
    rows = np.arange(0, 60, 2)
    found = make(similar=True)
    for seen, expected in ((found.of_rows(rows), X[rows]), (found.table, X)):
        square = np.corrcoef(expected.T) ** 2
        np.fill_diagonal(square, 0)
        assert seen.similar.shares[:, 0].max() == pytest.approx(square.max(), abs=1e-5)
    assert make().table.similar is None


def test_ranks_of_ever_new_rows_do_not_fill_the_memory(monkeypatch):
    monkeypatch.setattr(ranking, "_MAX_CACHED", 3)
    found = make()
    for k in range(6):
        found.of_rows(np.arange(k, 60))
    assert len(found._by_rows) == 3


def test_without_filters_or_free_features_nothing_is_ranked(fits):
    assert make(filters=()).table.ranks is None
    assert make(fixed=(0, 1, 2, 3)).table.ranks is None
    assert fits == []


TABLES_X = RNG.normal(size=(80, 6))
TABLES_Y = (TABLES_X[:, 1] - TABLES_X[:, 4] > 0).astype(int)


def test_ranks_and_prior_are_those_of_the_data():
    table = feature_table(TABLES_X, TABLES_Y, filters=["anova_f", "random_forest"], random_state=3)
    ensemble = FilterEnsemble(["anova_f", "random_forest"], random_state=3).fit(TABLES_X, TABLES_Y)
    np.testing.assert_array_equal(table.ranks, ensemble.ranks_)
    assert table.filters == ("anova_f", "random_forest")
    assert table.names == tuple(f"x{j}" for j in range(6))
    expected = mean_tree_size(TABLES_X, TABLES_Y, classification=True, random_state=3)
    assert table.expected_n_features == expected
    given = feature_table(TABLES_X, TABLES_Y, filters=["anova_f"], expected_n_features=2.5)
    assert given.expected_n_features == 2.5


def test_default_filters_are_the_papers_five():
    assert feature_table(TABLES_X, TABLES_Y).ranks.shape == (5, 6)


def test_without_filters():
    table = feature_table(TABLES_X, TABLES_Y, filters=())
    assert table.ranks is None
    assert table.filters == ()
    assert table.expected_n_features >= 1


@pytest.mark.parametrize(
    ("task", "y"),
    [
        ("auto", TABLES_Y),
        ("auto", TABLES_X[:, 0]),
        ("regression", TABLES_Y),
        ("classification", TABLES_Y),
    ],
)
def test_tasks(task, y):
    assert feature_table(TABLES_X, y, task=task, filters=["anova_f"]).ranks.shape == (1, 6)


def test_groups_costs_and_fixed_features():
    frame = pd.DataFrame(TABLES_X, columns=["age", "city=1", "city=2", "pay", "u", "v"])
    table = feature_table(
        frame,
        TABLES_Y,
        filters=["anova_f"],
        feature_groups={"city": ["city=1", "city=2"]},
        fixed_features=["age"],
        feature_costs={"city": 4},
    )
    assert table.names == ("age", "city", "pay", "u", "v")
    assert table.column_sets == ((0,), (1, 2), (3,), (4,), (5,))
    assert table.fixed == (0,)
    assert table.costs.tolist() == [1, 4, 1, 1, 1]
    assert table.ranks.shape == (1, 5)
    # A group ranks as its best column does.
    assert table.ranks[0, 1] == 1.0


def test_sparse_data_and_names():
    table = feature_table(
        sparse.csr_array(TABLES_X), TABLES_Y, filters=["anova_f"], feature_names=list("abcdef")
    )
    dense = feature_table(TABLES_X, TABLES_Y, filters=["anova_f"])
    assert table.names == tuple("abcdef")
    np.testing.assert_array_equal(table.ranks, dense.ranks)


def test_layout_without_data():
    layout = feature_layout(["a", "b", "c"], fixed=["c", "a", "c"], costs=[1, 2, 3])
    assert layout.fixed == (0, 2)
    assert layout.costs.tolist() == [1, 2, 3]
    assert feature_layout(["a", "b"], all_fixed=True).fixed == (0, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "ranking"}, "got 'ranking'"),
        ({"filters": ["anova"]}, "anova_f"),
        ({"fixed_features": ["x9"]}, "no feature 'x9'"),
        ({"fixed_features": "x1"}, r"\['x1'\]"),
        (
            {"feature_groups": {"g": ["x1", "x2"]}, "fixed_features": ["x2"]},
            r"'x2' is in the group 'g', .* fixed_features=\['g'\]",
        ),
        ({"feature_costs": [1, 2]}, "6 features"),
        ({"feature_costs": {"x9": 1}}, "no feature 'x9'"),
        ({"feature_costs": {"x1": -1}}, "'x1' costs -1"),
        ({"expected_n_features": -1}, "expected_n_features must be"),
        ({"feature_names": ["a"]}, "6 columns"),
        ({"feature_groups": {"g": ["x7"]}}, "names no column 'x7'"),
    ],
)
def test_bad_options_raise(options, message):
    with pytest.raises(ValueError, match=message):
        feature_table(TABLES_X, TABLES_Y, **options)


def test_a_series_has_costs_by_name():
    costs = pd.Series({"x3": 3.0, "x1": 1.5})
    assert feature_layout(["x1", "x2", "x3"], costs=costs).costs.tolist() == [1.5, 1.0, 3.0]
    by_place = pd.Series([4.0, 5.0])
    assert feature_layout(["x1", "x2"], costs=by_place).costs.tolist() == [4.0, 5.0]


LIMITS = {"min_samples_split": 20, "min_samples_leaf": 7, "random_state": 0}


def exact_size(X, y, classification, subsets=20):
    """The same with scikit-learn's trees, which look at every threshold."""
    rng = np.random.default_rng(1)
    sizes = []
    for _ in range(subsets):
        rows = rng.permutation(len(y))[: int(0.9 * len(y))]
        if classification:
            share = np.bincount(y[rows]) / len(rows)
            least = 0.01 * (1 - np.sum(share**2))
            tree = DecisionTreeClassifier(min_impurity_decrease=least, **LIMITS)
        else:
            least = 0.01 * np.var(y[rows])
            tree = DecisionTreeRegressor(min_impurity_decrease=least, **LIMITS)
        split = tree.fit(X[rows], y[rows]).tree_.feature
        sizes.append(len(set(split[split >= 0])))
    return np.mean(sizes)


@pytest.mark.parametrize(
    ("load", "classification"),
    [(load_breast_cancer, True), (load_wine, True), (load_diabetes, False)],
)
def test_finds_as_many_features_as_exact_trees(load, classification):
    X, y = load(return_X_y=True)
    found = mean_tree_size(X, y, classification=classification)
    assert found == pytest.approx(exact_size(X, y, classification), abs=0.7)


@pytest.mark.parametrize("classification", [True, False])
def test_trees_are_exact_where_bins_do_not_change_the_data(classification):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 8, (300, 6)).astype(float)
    signal = X[:, 0] * (X[:, 1] > 3) + 0.3 * X[:, 2] + rng.normal(size=300)
    y = np.digitize(signal, [1, 3]) if classification else signal
    if classification:
        share = np.bincount(y) / len(y)
        least = 0.01 * (1 - np.sum(share**2))
        tree = DecisionTreeClassifier(min_impurity_decrease=least, **LIMITS)
    else:
        tree = DecisionTreeRegressor(min_impurity_decrease=0.01 * np.var(y), **LIMITS)
    expected = tree.fit(X, y).tree_.feature
    trees = BinnedTrees(X.T.astype(np.uint8), y, classification=classification)
    found = trees.split_columns(np.arange(300))
    assert sorted(found) == sorted(expected[expected >= 0])


def test_noise_and_tiny_data_give_one():
    rng = np.random.default_rng(0)
    noise = rng.normal(size=(3000, 5)), rng.integers(0, 2, 3000)
    assert mean_tree_size(*noise, classification=True) == 1
    tiny = rng.normal(size=(10, 5)), np.arange(10) % 2
    assert mean_tree_size(*tiny, classification=True) == 1


def test_constant_columns_and_targets_that_cannot_be_split():
    X = np.ones((50, 3))
    assert mean_tree_size(X, np.arange(50) % 2, classification=True) == 1


def test_grouped_columns_count_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    alone = mean_tree_size(X, y, classification=True)
    together = mean_tree_size(X, y, classification=True, columns=[[0, 1], [2], [3]])
    assert alone >= 2
    assert together == pytest.approx(1, abs=0.5)


def test_any_container_with_missing_values_and_categories():
    X, y = load_wine(return_X_y=True)
    expected = mean_tree_size(X, y, classification=True)
    assert mean_tree_size(sparse.csr_array(X), y, classification=True) == expected
    frame = pd.DataFrame(X)
    frame.iloc[:5, 0] = np.nan
    frame["kind"] = pd.Categorical(np.where(y == 0, "red", "white"))
    assert 1 <= mean_tree_size(frame, y, classification=True) <= len(frame.columns)
    strings = np.where(y == 0, "red", "white")
    assert mean_tree_size(frame, strings, classification=True) == 1


def test_same_seed_same_size():
    X, y = load_wine(return_X_y=True)
    first = mean_tree_size(X, y, classification=True, random_state=3)
    assert first == mean_tree_size(X, y, classification=True, random_state=3)


def test_small_data_gets_100_subsets_and_large_data_fewer(monkeypatch):
    counted = []
    monkeypatch.setattr(
        BinnedTrees, "split_columns", lambda self, rows: counted.append(len(rows)) or [0]
    )
    X, y = make_classification(200, 20, random_state=0)
    mean_tree_size(X, y, classification=True)
    assert counted == [180] * 100
    counted.clear()
    mean_tree_size(np.zeros((2600, 500)), np.arange(2600) % 2, classification=True)
    assert 5 <= len(counted) < 100
    assert counted[0] == 2340
    counted.clear()
    rows = ranking._MAX_ROWS + 1000
    mean_tree_size(np.zeros((rows, 2)), np.arange(rows) % 2, classification=True, subsets=3)
    assert counted == [int(0.9 * ranking._MAX_ROWS)] * 3


def test_a_rare_class_is_never_left_out():
    rows = 20 * ranking._MAX_ROWS
    y = np.zeros(rows, dtype=int)
    y[:2] = 1
    X = np.column_stack([y, np.arange(rows) % 7])
    for seed in range(3):
        assert mean_tree_size(X, y, classification=True, subsets=2, random_state=seed) == 1
