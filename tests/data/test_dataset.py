from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.model_selection import GroupKFold, KFold, StratifiedKFold, TimeSeriesSplit

from optuna_mofs.data import _dataset
from optuna_mofs.data._dataset import (
    Dataset,
    draw_holdout,
    draw_splits,
    restrict_splits,
    take_rows,
)
from optuna_mofs.data._target import check_target

X = np.arange(12.0).reshape(4, 3)
Y = np.array([0, 1, 0, 1])


def data(X=X, y=Y, classification=True, **options):
    return Dataset(X, y, classification=classification, **options)


def test_the_container_is_kept():
    frame = pd.DataFrame(X, columns=list("abc"))
    pd.testing.assert_frame_equal(data(frame).X, frame)
    assert sparse.issparse(data(sparse.coo_array(X)).X)
    assert data(X.tolist()).X.shape == (4, 3)
    assert data(X).shape == (4, 3)


def test_later_changes_of_the_input_have_no_effect():
    frame, array, matrix = pd.DataFrame(X, columns=list("abc")), X.copy(), sparse.csr_array(X)
    target, weight = Y.copy(), np.ones(4)
    kept = [data(table, target, sample_weight=weight) for table in (frame, array, matrix)]
    frame.insert(0, "id", range(4))
    frame["a"] = 0.0
    array[:] = 0
    matrix.data[:] = 0
    target[:] = 7
    weight[:] = 7
    for each in kept:
        found = each.X.toarray() if sparse.issparse(each.X) else np.asarray(each.X)
        np.testing.assert_array_equal(found, X)
        np.testing.assert_array_equal(each.y, Y)
        np.testing.assert_array_equal(each.sample_weight, np.ones(4))


def test_large_arrays_are_used_in_place(monkeypatch):
    array = X.copy()
    monkeypatch.setattr(_dataset, "MAX_COPIED_BYTES", array.nbytes - 1)
    kept = data(array)
    assert np.shares_memory(kept.X, array)
    assert array.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        kept.X[0, 0] = 1.0
    monkeypatch.setattr(_dataset, "MAX_COPIED_BYTES", array.nbytes)
    assert not np.shares_memory(data(array).X, array)


def test_column_names():
    assert data().column_names == ("x0", "x1", "x2")
    assert data(pd.DataFrame(X, columns=list("abc"))).column_names == ("a", "b", "c")
    assert data(pd.DataFrame(X)).column_names == ("0", "1", "2")
    assert data(feature_names=["p", "q", "r"]).column_names == ("p", "q", "r")


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, pd.DataFrame])
def test_columns_and_rows(make):
    narrow = data(make(X)).narrowed(np.array([0, 2]))
    assert narrow.column_names in (("x0", "x2"), ("0", "2"))
    assert narrow.shape == (4, 2)
    assert narrow.y is not None
    part = take_rows(narrow.X, np.array([3, 1]))
    part = part.toarray() if sparse.issparse(part) else np.asarray(part)
    np.testing.assert_array_equal(part, X[[3, 1]][:, [0, 2]])
    assert data(make(X)).narrowed(np.zeros(0, dtype=int)).shape == (4, 0)


@pytest.mark.parametrize(
    "y",
    [
        ["no", "yes", "no", "yes"],
        pd.Series(["no", "yes", "no", "yes"]),
        pd.Series(["no", "yes", "no", "yes"], dtype="category"),
        pd.Series([0, 1, 0, 1], dtype="Int64"),
        pd.DataFrame({"target": [0, 1, 0, 1]}),
        [False, True, False, True],
        Y.reshape(-1, 1),
    ],
)
def test_targets_become_plain_arrays(y):
    found = data(y=y).y
    assert found.ndim == 1
    assert found.dtype.kind != "O"
    assert len(np.unique(found)) == 2


def test_numbers_become_floats():
    assert data(y=[1, 2, 3, 4], classification=False).y.dtype == float
    assert data(y=pd.Series([1, 2, 3, 4], dtype="Int64"), classification=False).y.dtype == float


def test_targets_of_test_data_can_hold_one_class():
    assert check_target(["a", "a"], 2).tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": X[:, 0]}, r"two dimensions .* got shape \(4,\)"),
        ({"X": X[:, :0]}, "X has 0 columns"),
        ({"X": X[:0], "y": Y[:0]}, "X has 0 rows"),
        ({"X": None}, "X must be a table .* got None"),
        ({"X": "wine.csv"}, "X must be a table .* got 'wine.csv'"),
        ({"y": Y[:3]}, "X has 4 rows but y has 3"),
        ({"y": np.zeros((4, 2, 2))}, r"one value per row, got shape \(4, 2, 2\)"),
        ({"y": [0, 1, np.nan, 1]}, "1 missing values, the first in row 2"),
        ({"y": ["a", None, "b", None]}, "2 missing values, the first in row 1"),
        ({"y": [1, 1, 1, 1]}, "only one class: .*1"),
        ({"y": np.array(["a", 7, "a", 7], dtype=object)}, r"y mixes strings .* \['a', 7\]"),
        (
            {"y": [0.5, 1.5, 2.5, 3.5]},
            r"got 'continuous' values that start with \[0.5, 1.5, 2.5\]",
        ),
        ({"y": list("abab"), "classification": False}, "y must hold numbers for regression"),
        ({"y": [1, np.inf, 2, 3], "classification": False}, "infinity, first in row 1"),
        ({"y": [1, np.nan, 2, 3], "classification": False}, "1 missing values"),
        ({"feature_names": ["a", "b"]}, "X has 3 columns but feature_names has 2"),
        ({"feature_names": ["a", "b", "a"]}, "'a' occurs twice"),
        ({"X": pd.DataFrame(X, columns=["a", "b", "b"])}, "'b' occurs twice"),
        ({"X": pd.DataFrame(X, columns=["a", 1, "b"])}, r"others are not \(1\)"),
        ({"sample_weight": [1, 2]}, r"sample_weight .* 4 rows, got shape \(2,\)"),
        ({"sample_weight": [1, 1, -1, 1]}, "row 2 has -1"),
        ({"sample_weight": [1, 1, 1, np.nan]}, "row 3 has nan"),
        ({"groups": [1, 2, 3]}, "groups .* 4 rows"),
    ],
)
def test_bad_data_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data(**options)


SPLITS_X = np.zeros((60, 2))
SPLITS_Y = np.repeat([0, 1, 1], 20)


def splits_data(**options):
    return Dataset(SPLITS_X, SPLITS_Y, **{"classification": True, **options})


def test_a_number_of_folds_is_shuffled_stratified_and_reproducible():
    splits = draw_splits(splits_data(), 5, seed=0)
    assert sorted(np.concatenate([test for _, test in splits])) == list(range(60))
    for train, test in splits:
        assert not set(train) & set(test)
        assert np.bincount(SPLITS_Y[test]).tolist() == [4, 8]
    assert any((np.diff(test) > 1).any() for _, test in splits)
    again, other = (
        draw_splits(splits_data(), 5, seed=0),
        draw_splits(splits_data(), np.int64(5), seed=1),
    )
    assert all((a[1] == b[1]).all() for a, b in zip(splits, again))
    assert any((a[1] != b[1]).any() for a, b in zip(splits, other))


@pytest.mark.parametrize("classification", [True, False])
def test_a_number_of_folds_keeps_groups_together(classification):
    groups = np.arange(60) % 12
    splits = draw_splits(splits_data(groups=groups, classification=classification), 3, seed=0)
    for train, test in splits:
        assert not set(groups[train]) & set(groups[test])


def test_splitters_are_used_as_they_are():
    groups = np.arange(60) % 6
    for cv in (KFold(3), StratifiedKFold(4), TimeSeriesSplit(3), GroupKFold(3)):
        shuffled = Dataset(SPLITS_X, np.arange(60) % 2, classification=True, groups=groups)
        given = None if isinstance(cv, KFold | StratifiedKFold | TimeSeriesSplit) else groups
        shuffled.groups = given
        expected = list(cv.split(SPLITS_X, shuffled.y, given))
        found = draw_splits(shuffled, cv, seed=0)
        assert len(found) == len(expected)
        for a, b in zip(found, expected):
            np.testing.assert_array_equal(a[0], b[0])
            np.testing.assert_array_equal(a[1], b[1])


def test_splits_can_be_rows_booleans_or_a_generator():
    odd = np.arange(60) % 2 == 1
    listed = draw_splits(splits_data(), [(odd, ~odd)], seed=0)
    generated = draw_splits(
        splits_data(), ((np.flatnonzero(odd), np.flatnonzero(~odd)) for _ in "a"), 0
    )
    for splits in (listed, generated):
        assert splits[0][0].tolist() == np.flatnonzero(odd).tolist()
        assert splits[0][1].tolist() == np.flatnonzero(~odd).tolist()


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "at least 2 folds, got 1"),
        (41, "No class has enough rows for 41 folds: the largest of 2 has 40 of 60 rows"),
        (None, "got None"),
        (True, "got True"),
        ([], "yields no folds"),
        ([([0, 59], [60])], "rows 60 to 60, but X has rows 0 to 59"),
        ([([-1, 59], [0])], "rows -1 to 59"),
        ([([0, 30], [])], "test fold 0 .* has no rows"),
        ([([0, 1], [2])], "training fold 0 .* only one class: .*0"),
        (TimeSeriesSplit(5), "only one class"),
        (GroupKFold(3), "groups"),
        ("five", "cv"),
    ],
)
def test_bad_folds_are_refused(cv, message):
    with pytest.raises(ValueError, match=message):
        draw_splits(splits_data(), cv, seed=0)


def test_masked_entries_are_missing():
    masked = np.ma.array(np.arange(12).reshape(4, 3), mask=np.eye(4, 3, dtype=bool))
    found = data(masked).X
    np.testing.assert_array_equal(np.isnan(found), masked.mask)
    np.testing.assert_array_equal(found[~masked.mask], masked.compressed())
    assert not isinstance(found, np.ma.MaskedArray)
    strings = np.ma.array([["a", "b"]] * 4, mask=np.eye(4, 2, dtype=bool))
    assert pd.isna(data(strings).X).sum() == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": np.ma.array(Y, mask=[0, 1, 0, 0])}, "1 missing values, the first in row 1"),
        ({"y": np.ma.array(list("abab"), mask=[0, 0, 1, 0])}, "the first in row 2"),
        ({"sample_weight": np.ma.array(np.ones(4), mask=[0, 0, 0, 1])}, "row 3 is masked"),
        ({"groups": np.ma.array([1, 1, 2, 2], mask=[1, 0, 0, 0])}, "row 0 is masked"),
    ],
)
def test_masked_targets_weights_and_groups_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data(**options)


# ---- parts of the rows ------------------------------------------------------------------------


def task(n=100, *, classes=2, **options):
    rng = np.random.default_rng(n)
    y = np.arange(n) % classes if classes else rng.normal(size=n)
    return Dataset(rng.normal(size=(n, 3)), y, classification=classes > 0, **options)


def test_some_rows_keep_their_numbers_weights_and_groups():
    weight, groups = np.arange(100.0), np.repeat(np.arange(20), 5)
    part = task(sample_weight=weight, groups=groups).take(np.array([7, 3, 50]))
    part = part.take(np.array([2, 0]))
    assert part.row_numbers.tolist() == [50, 7]
    assert part.sample_weight.tolist() == [50, 7]
    assert part.groups.tolist() == [10, 1]
    assert part.y.tolist() == [0, 1]
    assert part.shape == (2, 3)


def test_some_rows_can_have_another_target():
    full = task()
    part = full.take(np.array([1, 2]), y=["b", "a"])
    assert part.y.tolist() == ["b", "a"]
    assert full.y[1] == 1
    with pytest.raises(ValueError, match="3 rows"):
        full.take(np.arange(3), y=[0, 1])


@pytest.mark.parametrize(("holdout", "size"), [(0.2, 20), (0.5, 50), (30, 30), (np.int64(8), 8)])
def test_holdout_has_the_shares_of_the_classes(holdout, size):
    data = task(classes=4)
    rows = draw_holdout(data, holdout, 0)
    assert len(set(rows.tolist())) == size
    assert rows.tolist() == sorted(rows)
    assert np.bincount(data.y[rows]).tolist() == [size // 4] * 4 or size % 4
    assert draw_holdout(data, holdout, 0).tolist() == rows.tolist()
    assert draw_holdout(data, holdout, 1).tolist() != rows.tolist()


def test_holdout_of_numbers():
    assert len(draw_holdout(task(classes=0), 0.3, 0)) == 30


def test_holdout_takes_whole_groups_of_all_classes():
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), rng.integers(1, 9, 40))
    y = (groups % 5 == 0).astype(int)
    n = len(y)
    data = Dataset(rng.normal(size=(n, 2)), y, classification=True, groups=groups)
    rows = draw_holdout(data, 0.2, 0)
    assert not set(groups[rows]) & set(np.delete(groups, rows))
    assert len(rows) == pytest.approx(0.2 * n, abs=3)
    assert y[rows].mean() == pytest.approx(y.mean(), abs=0.07)


@pytest.mark.parametrize("rows", [[3, 1, 2], np.isin(np.arange(100), [1, 2, 3])])
def test_holdout_by_row_number(rows):
    assert draw_holdout(task(), rows, 0).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("data", "holdout", "message"),
    [
        (task(), True, "must be a fraction"),
        (task(), 0, "must be a fraction"),
        (task(), 100, "number of rows below 100"),
        (task(), "half", "got 'half'"),
        (task(), 20.5, "got 20.5"),
        (task(30), 0.2, "at least 40 rows"),
        (task(), 1, "at least 40 rows in total and 2 in each part"),
        (task(classes=15), 0.2, "fewer than 2 rows of class"),
        (task(classes=60), 0.2, "cannot be drawn"),
        (task(), [1, 1], "each row once"),
        (task(), [1, 100], "rows from 0 to 99"),
        (task(), [0.5], "rows from 0 to 99"),
        (task(), [], "rows from 0 to 99"),
        (task(), np.arange(100), "all 100 rows"),
    ],
)
def test_wrong_holdouts(data, holdout, message):
    with pytest.raises(ValueError, match=message):
        draw_holdout(data, holdout, 0)


def test_splits_of_some_rows():
    splits = draw_splits(task(), 5, 0)
    rows = np.random.default_rng(0).permutation(100)[:60]
    found = restrict_splits(splits, rows, 100)
    for (train, test), (some_train, some_test) in zip(splits, found):
        assert set(rows[some_train]) == set(train) & set(rows)
        assert set(rows[some_test]) == set(test) & set(rows)
    with pytest.raises(ValueError, match="Fold 0 has no test rows"):
        restrict_splits(splits, splits[0][0], 100)


def test_a_part_of_a_large_array_is_copied_when_it_is_needed(monkeypatch):
    monkeypatch.setattr("optuna_mofs.data._dataset.MAX_COPIED_BYTES", 1_000)
    X = np.arange(400.0).reshape(100, 4)
    whole = Dataset(X, np.arange(100) % 2, classification=True)
    part = whole.take(np.arange(10, 60)).take(np.arange(5, 25))
    assert part._X is None
    assert part.shape == (20, 4)
    assert part.n_entries == 80
    for positions in ([0, 3], [], [2]):
        columns = np.array(positions, dtype=int)
        np.testing.assert_array_equal(part.columns(columns), X[15:35][:, columns])
        narrow = part.narrowed(columns)
        np.testing.assert_array_equal(narrow.X, X[15:35][:, columns])
        assert narrow.shape == (20, len(positions))
    np.testing.assert_array_equal(part.rows(np.array([1, 0])), X[[16, 15]])
    assert len(draw_splits(part, 3, 0)) == 3
    assert pickle.loads(pickle.dumps(part)).shape == (20, 4)
    assert part._X is None
    np.testing.assert_array_equal(part.X, X[15:35])
    np.testing.assert_array_equal(part.rows(np.array([1])), X[[16]])
    np.testing.assert_array_equal(part.columns(np.array([1])), X[15:35, [1]])
