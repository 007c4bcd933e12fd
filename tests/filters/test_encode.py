from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from optuna_mofs.filters.encode import detect_task, encode_columns, encode_target


def test_frame_with_every_kind_of_column():
    frame = pd.DataFrame(
        {
            "float": [1.5, np.nan, 2.0],
            "int": [3, 1, 2],
            "bool": [True, False, True],
            "string": ["b", "a", None],
            "category": pd.Categorical(["lo", "hi", None], categories=["lo", "hi"]),
            "ordered": pd.Categorical(["lo", "hi", "lo"], ["lo", "hi"], ordered=True),
            "nullable": pd.array([1, None, 3], dtype="Int64"),
            "nullable_bool": pd.array([True, None, False], dtype="boolean"),
            "date": pd.to_datetime(["2020-01-01", None, "2020-01-03"]),
        }
    )
    before = frame.copy(deep=True)
    values, nominal = encode_columns(frame)
    pd.testing.assert_frame_equal(frame, before)
    expected = [
        [1.5, 3, 1, 1, 0, 0, 1, 1],
        [np.nan, 1, 0, 0, 1, 1, np.nan, np.nan],
        [2.0, 2, 1, np.nan, np.nan, 0, 3, 0],
    ]
    np.testing.assert_array_equal(values[:, :8], expected)
    assert np.isnan(values[:, 8]).tolist() == [False, True, False]
    assert values[2, 8] > values[0, 8]
    assert frame.columns[nominal].tolist() == ["string", "category"]


def test_object_array_is_split_into_numbers_and_words():
    values, nominal = encode_columns(np.array([[1, "x"], [2, "y"], [3, "x"]], dtype=object))
    np.testing.assert_array_equal(values, [[1, 0], [2, 1], [3, 0]])
    assert nominal.tolist() == [False, True]


def test_sparse_stays_sparse():
    values, _ = encode_columns(sparse.random(6, 4, density=0.5, format="csr", random_state=0))
    assert sparse.issparse(values)
    assert values.format == "csc"


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.arange(3), "two dimensions"),
        (np.array([[1.0, np.inf]]), "infinity"),
        (np.array([[1j]]), "complex"),
        (sparse.csr_array([[np.inf, 0.0]]), "infinity"),
    ],
)
def test_bad_features_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        encode_columns(X)


def test_large_finite_values_are_not_taken_for_infinity():
    values, _ = encode_columns(np.full((2, 2), 1e308))
    assert np.isfinite(values).all()


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([[0, 1], [1, 0]], "vector"),
        ([0.0, np.nan, 1.0], "1 missing"),
        (["a", None, "b"], "1 missing"),
        ([0.0, np.inf], "infinity"),
    ],
)
def test_bad_targets_are_refused(y, message):
    with pytest.raises(ValueError, match=message):
        encode_target(y)


def test_target_containers():
    assert encode_target(pd.Series([1, 2], dtype="Int64")).dtype.kind == "i"
    assert encode_target(pd.Series(["a", "b"], dtype="category")).tolist() == ["a", "b"]
    assert encode_target(pd.DataFrame({"y": [1, 0]})).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("y", "task"),
    [
        ([True, False, True], "classification"),
        (["a", "b", "c"], "classification"),
        ([0.0, 1.0, 1.0], "classification"),
        ([0.1, 1.0, 2.5], "regression"),
        (list(range(40)), "regression"),
        (list(range(40)) * 20, "classification"),
        ([float(k) for k in range(40)] * 20, "regression"),
        ([float(k) for k in range(30)] * 20, "classification"),
        ([str(k) for k in range(40)], "classification"),
    ],
)
def test_detect_task(y, task):
    assert detect_task(y) == task
