from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.features import FeatureTable, group_columns
from optuna_mofs.filters import rank_scores


@st.composite
def tables(draw):
    p = draw(st.integers(1, 12))
    names = draw(st.lists(st.text(), min_size=p, max_size=p, unique=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    columns = None
    if draw(st.booleans()):
        cuts = np.sort(rng.choice(np.arange(1, 3 * p), size=p - 1, replace=False))
        columns = tuple(map(tuple, np.split(rng.permutation(3 * p), cuts)))
    filters = tuple(draw(st.lists(st.text(), max_size=3, unique=True)))
    ranked = draw(st.booleans())
    return FeatureTable(
        names=tuple(names),
        columns=columns,
        costs=rng.random(p) if draw(st.booleans()) else None,
        fixed=tuple(np.flatnonzero(rng.random(p) < 0.3)),
        filters=filters,
        # Few different scores: ties give half-steps.
        ranks=rank_scores(rng.integers(0, p, (len(filters), p))) if ranked else None,
        expected_n_features=draw(st.none() | st.floats(0.1, 100)),
    )


@settings(max_examples=150)
@given(tables())
def test_json_round_trip(table):
    back = FeatureTable.from_json(json.loads(json.dumps(table.to_json())))
    for name in ("names", "columns", "fixed", "filters", "expected_n_features"):
        assert getattr(back, name) == getattr(table, name)
    for name in ("costs", "ranks"):
        before, after = getattr(table, name), getattr(back, name)
        if before is None:
            assert after is None
        else:
            np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    # A second trip changes nothing at all: what is stored is what every reader computes with.
    assert back.to_json() == table.to_json()


@settings(max_examples=80)
@given(tables(), st.integers(0, 2**32))
def test_masks_names_columns_and_costs_agree(table, seed):
    mask = np.random.default_rng(seed).random(len(table.free)) < 0.5
    full = table.full_mask(mask)
    assert full[list(table.fixed)].all()
    np.testing.assert_array_equal(full[table.free], mask)
    np.testing.assert_array_equal(table.mask_of(table.names_of(full)), mask)
    columns = table.columns_of(full)
    assert columns.tolist() == sorted(
        c for j in np.flatnonzero(full) for c in table.column_sets[j]
    )
    costs = np.ones(len(table)) if table.costs is None else table.costs
    assert table.cost(full) == pytest.approx(costs[full].sum())
    assert table.total_cost == pytest.approx(costs.sum())


def test_ten_thousand_ranks_are_stored_small_and_exactly():
    p = 10_935
    ranks = rank_scores(np.random.default_rng(0).normal(size=(5, p)))
    table = FeatureTable(tuple(f"x{j}" for j in range(p)), filters=tuple("abcde"), ranks=ranks)
    stored = table.to_json()
    assert len(stored["ranks"]) < 5 * p * 4
    np.testing.assert_allclose(FeatureTable.from_json(stored).ranks, ranks, atol=1e-12)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"names": ()}, "no features"),
        ({"names": "abc"}, "list of names"),
        ({"names": ("a", "b", "a")}, "'a' occurs twice"),
        ({"columns": ((0,), (1,))}, "each of the 3 features"),
        ({"columns": ((0,), (), (1,))}, "'b' has no columns"),
        ({"columns": ((0,), (1,), (0,))}, "'c' has column 0"),
        ({"columns": ((0,), (1,), (-1,))}, "negative"),
        ({"costs": [1, 2]}, r"3 features, got shape \(2,\)"),
        ({"costs": [1, "a", 3]}, "must be numbers"),
        ({"costs": [1, -2, 3]}, "'b' costs -2"),
        ({"costs": [1, 2, np.nan]}, "'c' costs nan"),
        ({"costs": [np.inf, -2, 3]}, "'a' costs inf"),
        ({"fixed": (3,)}, r"0\.\.2"),
        ({"fixed": (1, 1)}, "different positions"),
        ({"filters": ("auc",), "ranks": np.zeros((2, 3))}, r"\(1, 3\), got \(2, 3\)"),
        ({"filters": ("auc",), "ranks": [[0, 0.5, 1.5]]}, "rank_scores"),
        ({"filters": ("auc",), "ranks": [[0, np.nan, 1]]}, r"\[0, 1\]"),
        ({"expected_n_features": 0}, "above 0"),
        ({"expected_n_features": np.nan}, "above 0"),
        ({"expected_n_features": np.inf}, "finite"),
    ],
)
def test_bad_tables_raise(options, message):
    with pytest.raises(ValueError, match=message):
        FeatureTable(**{"names": ("a", "b", "c"), **options})


def test_an_unknown_feature_is_named_with_the_nearest():
    table = FeatureTable(("age", "city", "pay"))
    with pytest.raises(ValueError, match=r"no feature 'ciity' among 3. Did you mean 'city'\?"):
        table.mask_of(["ciity"])
    with pytest.raises(ValueError, match=r"\['age'\]"):
        table.mask_of("age")


def test_the_initial_size_is_the_square_root_of_p_by_default():
    assert FeatureTable(tuple(f"x{j}" for j in range(100))).initial_size == 10
    assert FeatureTable(("a",), expected_n_features=3.5).initial_size == 3.5


def test_groups_are_at_the_position_of_their_first_column():
    names, columns = group_columns(
        ["a", "g=1", "b", "g=2", "h"], {"g": ["g=2", "g=1"], "h": ["h"]}
    )
    assert names == ("a", "g", "b", "h")
    assert columns == ((0,), (1, 3), (2,), (4,))
    assert group_columns(["a", "b"], None) == (("a", "b"), None)


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ({"g": []}, "'g' has no columns"),
        ({"g": "g=1"}, r"\['g=1'\]"),
        ({"g": ["g=3"]}, "names no column 'g=3'. Did you mean"),
        ({"g": ["g=1"], "h": ["g=1"]}, "two feature groups: 'g' and 'h'"),
        # Silently, the column "a" would have become part of the group.
        ({"a": ["g=1", "g=2"]}, "name of a column that is not in it"),
    ],
)
def test_bad_groups_raise(groups, message):
    with pytest.raises(ValueError, match=message):
        group_columns(["a", "g=1", "g=2"], groups)
