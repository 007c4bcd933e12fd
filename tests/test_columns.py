from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs.columns import ColumnSelector, NamedColumns


@parametrize_with_checks([ColumnSelector(), ColumnSelector(columns=[0])])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.fixture
def frame():
    return pd.DataFrame(
        {
            "age": [1, 2, 3],
            "city": pd.Categorical(["a", None, "b"]),
            "pay": [0.5, np.nan, 1.5],
            "name": ["x", "y", "z"],
        },
        index=[7, 8, 9],
    )


def test_dataframes_keep_types_names_and_index(frame):
    selector = ColumnSelector(columns=[2, 1, 3]).set_output(transform="pandas")
    out = selector.fit(frame).transform(frame)
    pd.testing.assert_frame_equal(out, frame[["city", "pay", "name"]])
    assert selector.get_feature_names_out().tolist() == ["city", "pay", "name"]


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array, sparse.csc_matrix, pd.DataFrame])
@pytest.mark.parametrize("columns", [[], [1], [0, 2], None])
def test_every_container_and_set(make, columns):
    X = np.arange(12.0).reshape(4, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = ColumnSelector(columns=columns).fit(make(X)).transform(make(X))
    out = out.toarray() if sparse.issparse(out) else np.asarray(out)
    np.testing.assert_array_equal(out, X if columns is None else X[:, columns])


def test_new_data_must_have_the_same_columns(frame):
    selector = ColumnSelector(columns=[0]).fit(frame)
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame[["city", "age", "pay", "name"]])
    empty = ColumnSelector(columns=[]).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        empty.transform(frame[["age", "city"]])


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([0, 3], r"0\.\.2, got 0 to 3"),
        ([-1], "-1"),
        ([True, False, True], "np.flatnonzero"),
        ([0.5], "integers"),
        ([[0, 1]], "integers"),
    ],
)
def test_bad_positions_raise(columns, message):
    with pytest.raises(ValueError, match=message):
        ColumnSelector(columns=columns).fit(np.zeros((2, 3)))


def test_works_before_a_model():
    X = np.array([[0, 1], [5, 0], [1, 1], [4, 0]])
    model = make_pipeline(ColumnSelector(columns=[1]), DecisionTreeClassifier())
    assert model.fit(X, [1, 0, 1, 0]).score(X, [1, 0, 1, 0]) == 1.0
    assert model[-1].n_features_in_ == 1


class TestNamedColumns:
    def test_finds_its_columns_in_any_table(self, frame):
        columns = NamedColumns(["pay", "city"], text_columns=["city"])
        shuffled = frame.assign(more=1)[["name", "city", "more", "pay", "age"]]
        out = columns.transform(shuffled)
        assert out.columns.tolist() == ["pay", "city"]
        assert out["city"].tolist()[::2] == ["a", "b"]
        assert np.isnan(out["city"].iloc[1])
        assert out["pay"].dtype == np.float64
        assert out.index.tolist() == [7, 8, 9]

    def test_text_that_looks_like_numbers(self):
        columns = NamedColumns(["code"], text_columns=["code"])
        whole = columns.transform(pd.DataFrame({"code": [1, 2]}))
        holed = columns.transform(pd.DataFrame({"code": [1, np.nan, 2]}))
        assert whole["code"].tolist() == ["1", "2"]
        assert holed["code"].dropna().tolist() == ["1", "2"]

    def test_numbers_of_every_type(self):
        table = pd.DataFrame(
            {
                "a": pd.array([1, None], dtype="Int64"),
                "b": [True, False],
                "c": ["1.5", None],
                "d": np.array([1, 2], dtype=np.int8),
            }
        )
        out = NamedColumns(list("abcd"), as_frame=False).transform(table)
        np.testing.assert_array_equal(out, [[1, 1, 1.5, 1], [np.nan, 0, np.nan, 2]])

    def test_arrays_are_the_full_table(self):
        columns = NamedColumns(["c", "a"], all_columns=["a", "b", "c"], as_frame=False)
        assert columns.transform([[1, 2, 3]]).tolist() == [[3, 1]]
        with pytest.raises(ValueError, match="3 columns of the full table"):
            columns.transform([[1, 2]])

    def test_errors_name_the_column(self, frame):
        with pytest.raises(ValueError, match="lacks 1 of the 2 columns of the model: 'gone'"):
            NamedColumns(["age", "gone"]).transform(frame)
        with pytest.raises(ValueError, match="Column 'name' must hold numbers"):
            NamedColumns(["name"]).transform(frame)

    def test_first_step_of_a_fitted_pipeline(self, frame):
        tree = DecisionTreeClassifier().fit(frame[["age"]].to_numpy(float), [0, 1, 1])
        model = Pipeline([("columns", NamedColumns(["age"], as_frame=False)), ("tree", tree)])
        assert model.predict(frame).tolist() == [0, 1, 1]
        assert model[0].get_feature_names_out().tolist() == ["age"]


def test_masked_entries_become_nan():
    X = np.ma.array([[1.0, 2.0], [3.0, 4.0]], mask=[[0, 1], [0, 0]])
    out = ColumnSelector(columns=[1]).fit(X).transform(X)
    np.testing.assert_array_equal(out, [[np.nan], [4.0]])
    out = NamedColumns(["b"], all_columns=["a", "b"], as_frame=False).transform(X)
    np.testing.assert_array_equal(out, [[np.nan], [4.0]])


def test_columns_with_one_name_are_refused(frame):
    twice = frame.rename(columns={"pay": "age"})
    with pytest.raises(ValueError, match="'age' occurs twice"):
        ColumnSelector().fit(twice)
    with pytest.raises(ValueError, match="'age' occurs twice"):
        ColumnSelector([1]).fit(frame).transform(twice)
    # Only those that the model needs, if it finds columns by name.
    for model in (NamedColumns(["age"]), ColumnSelector([0], by_name=True).fit(frame)):
        with pytest.raises(ValueError, match="'age' occurs twice"):
            model.transform(twice)
    other = frame.rename(columns={"pay": "name"})
    assert NamedColumns(["age"]).transform(other).shape == (3, 1)
