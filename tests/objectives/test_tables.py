from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs import feature_table
from optuna_mofs.features import mean_tree_size
from optuna_mofs.filters import FilterEnsemble
from optuna_mofs.objectives.tables import feature_layout

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 6))
Y = (X[:, 1] - X[:, 4] > 0).astype(int)


def test_ranks_and_prior_are_those_of_the_data():
    table = feature_table(X, Y, filters=["anova_f", "random_forest"], random_state=3)
    ensemble = FilterEnsemble(["anova_f", "random_forest"], random_state=3).fit(X, Y)
    np.testing.assert_array_equal(table.ranks, ensemble.ranks_)
    assert table.filters == ("anova_f", "random_forest")
    assert table.names == tuple(f"x{j}" for j in range(6))
    expected = mean_tree_size(X, Y, classification=True, random_state=3)
    assert table.mean_size == expected
    assert feature_table(X, Y, filters=["anova_f"], mean_size=2.5).mean_size == 2.5


def test_default_filters_are_the_papers_five():
    assert feature_table(X, Y).ranks.shape == (5, 6)


def test_without_filters():
    table = feature_table(X, Y, filters=())
    assert table.ranks is None
    assert table.filters == ()
    assert table.mean_size >= 1


@pytest.mark.parametrize(
    ("task", "y"), [("auto", Y), ("auto", X[:, 0]), ("regression", Y), ("classification", Y)]
)
def test_tasks(task, y):
    assert feature_table(X, y, task=task, filters=["anova_f"]).ranks.shape == (1, 6)


def test_groups_costs_and_fixed_features():
    frame = pd.DataFrame(X, columns=["age", "city=1", "city=2", "pay", "u", "v"])
    table = feature_table(
        frame,
        Y,
        filters=["anova_f"],
        feature_groups={"city": ["city=1", "city=2"]},
        fixed_features=["age"],
        costs={"city": 4},
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
        sparse.csr_array(X), Y, filters=["anova_f"], feature_names=list("abcdef")
    )
    dense = feature_table(X, Y, filters=["anova_f"])
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
        ({"task": "ranking"}, "not 'ranking'"),
        ({"filters": ["anova"]}, "anova_f"),
        ({"fixed_features": ["x9"]}, "no feature 'x9'"),
        ({"fixed_features": "x1"}, r"\['x1'\]"),
        (
            {"feature_groups": {"g": ["x1", "x2"]}, "fixed_features": ["x2"]},
            r"'x2' is in the group 'g', .* fixed_features=\['g'\]",
        ),
        ({"costs": [1, 2]}, "6 features"),
        ({"costs": {"x9": 1}}, "no feature 'x9'"),
        ({"costs": {"x1": -1}}, "'x1' costs -1"),
        ({"mean_size": -1}, "mean_size must be above 0"),
        ({"feature_names": ["a"]}, "6 columns"),
        ({"feature_groups": {"g": ["x7"]}}, "names no column 'x7'"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        feature_table(X, Y, **options)


def test_a_series_says_costs_by_name():
    costs = pd.Series({"x3": 3.0, "x1": 1.5})
    assert feature_layout(["x1", "x2", "x3"], costs=costs).costs.tolist() == [1.5, 1.0, 3.0]
    by_place = pd.Series([4.0, 5.0])
    assert feature_layout(["x1", "x2"], costs=by_place).costs.tolist() == [4.0, 5.0]
