"""Tables of other libraries become DataFrames with the same names."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from optuna_mofs._tables import check_labels, column_labels, to_pandas

FRAME = pd.DataFrame(
    {
        "age in years": [31.0, 45.0, np.nan, 28.0],
        "größe": [170, 182, 165, 177],
        "city": pd.Categorical(["Rome", "Oslo", None, "Rome"]),
        "is_new": [True, False, True, True],
        "word": ["a", "b", "c", "a"],
    }
)


@pytest.mark.parametrize("make", [pl.from_pandas, pa.Table.from_pandas])
def test_columns_keep_names_and_values(make):
    found = to_pandas(make(FRAME))
    assert column_labels(found) == list(FRAME.columns)
    pd.testing.assert_frame_equal(found, FRAME, check_dtype=False, check_categorical=False)
    assert list(found["city"].cat.categories) == ["Oslo", "Rome"]
    assert found["is_new"].dtype == bool
    assert found["größe"].dtype == np.int64


def test_lazy_frames_are_collected():
    assert to_pandas(pl.LazyFrame({"a": [1, 2]})).to_dict("list") == {"a": [1, 2]}


def test_an_order_of_categories_is_kept():
    sizes = pl.Series(["L", "S", "M"], dtype=pl.Enum(["S", "M", "L"]))
    found = to_pandas(pl.DataFrame({"size": sizes}))["size"]
    assert list(found.cat.categories) == ["S", "M", "L"]
    assert found.cat.codes.tolist() == [2, 0, 1]


def test_missing_entries_and_dates():
    frame = pl.DataFrame(
        {
            "flag": [True, None, False],
            "count": [1, None, 3],
            "word": ["a", None, "b"],
            "day": [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2), None],
            "time": [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2), None],
            "price": pl.Series([1, 2, 3]).cast(pl.Decimal(10, 2)),
        }
    )
    found = to_pandas(frame)
    assert found["flag"].tolist()[::2] == [1.0, 0.0]
    assert found.isna().sum().tolist() == [1, 1, 1, 1, 1, 0]
    assert found["day"].dtype.kind == "M"
    assert found["time"].dtype.kind == "M"
    assert found["price"].dtype == float


def test_other_objects_stay_as_they_are():
    for X in (np.eye(2), sparse.eye_array(2), [[1, 2]], FRAME, None, "text"):
        assert to_pandas(X) is X
    assert column_labels(np.eye(2)) is None


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "a"], "'a' occurs twice"),
        ([1, 1], "'1' occurs twice"),
        ([np.nan, np.nan], "'nan' occurs twice"),
        (["a", 2.5], r"others are not \(2.5\)"),
    ],
)
def test_bad_labels_are_named(labels, message):
    with pytest.raises(ValueError, match=message):
        check_labels(pd.DataFrame([[1, 2]], columns=labels))


def test_good_labels_and_what_has_none():
    array = np.zeros((2, 2))
    assert check_labels(array) is array
    frame = pd.DataFrame(array, columns=["a", "b"])
    assert check_labels(frame) is frame
    assert check_labels(pd.DataFrame(array)).shape == (2, 2)


def test_an_arrow_table_can_have_two_columns_of_one_name():
    table = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    with pytest.raises(ValueError, match=r"Two columns of the table have the same name.*'a'"):
        to_pandas(table)
