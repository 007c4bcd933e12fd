from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs.objectives.dataset import Dataset, plain_target, take_rows

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


def test_what_happens_to_the_callers_table_later_does_not_matter():
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


def test_test_targets_may_hold_one_class():
    assert plain_target(["a", "a"], 2).tolist() == ["a", "a"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"X": X[:, 0]}, r"two dimensions .* has shape \(4,\)"),
        ({"X": X[:, :0]}, "X has 0 columns"),
        ({"X": X[:0], "y": Y[:0]}, "X has 0 rows"),
        ({"X": None}, "X must be a table .* but is None"),
        ({"X": "wine.csv"}, "X must be a table .* but is 'wine.csv'"),
        ({"y": Y[:3]}, "X has 4 rows but y has 3"),
        ({"y": np.stack([Y, Y], axis=1)}, r"one dimension, but has shape \(4, 2\)"),
        ({"y": [0, 1, np.nan, 1]}, "1 missing values, the first in row 2"),
        ({"y": ["a", None, "b", None]}, "2 missing values, the first in row 1"),
        ({"y": [1, 1, 1, 1]}, "only one class: .*1"),
        ({"y": np.array(["a", 7, "a", 7], dtype=object)}, r"y mixes texts .* \['a', 7\]"),
        ({"y": [0.5, 1.5, 2.5, 3.5]}, r"y is 'continuous' \(it starts with \[0.5, 1.5, 2.5\]"),
        ({"y": list("abab"), "classification": False}, "Numbers are needed for regression"),
        ({"y": [1, np.inf, 2, 3], "classification": False}, "infinity, first in row 1"),
        ({"y": [1, np.nan, 2, 3], "classification": False}, "1 missing values"),
        ({"feature_names": ["a", "b"]}, "X has 3 columns but feature_names has 2"),
        ({"feature_names": ["a", "b", "a"]}, "'a' occurs twice"),
        ({"X": pd.DataFrame(X, columns=["a", "b", "b"])}, "'b' occurs twice"),
        ({"X": pd.DataFrame(X, columns=["a", 1, "b"])}, r"part not \(1\)"),
        ({"sample_weight": [1, 2]}, r"sample_weight .* 4 rows, but has shape \(2,\)"),
        ({"sample_weight": [1, 1, -1, 1]}, "row 2 has -1"),
        ({"sample_weight": [1, 1, 1, np.nan]}, "row 3 has nan"),
        ({"groups": [1, 2, 3]}, "groups .* 4 rows"),
    ],
)
def test_bad_data_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        data(**options)
