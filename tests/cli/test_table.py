from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._table import read_table
from tests.cli.tables import people, write_people


def test_texts_and_missing_values_of_a_csv(tmp_path: Path) -> None:
    table = read_table(str(write_people(tmp_path)), "risk", drop=["name"])
    assert table.names == ("noise 0", "noise 1", "noise 2", "dose", "city")
    assert table.text_columns == ("city",)
    assert table.X["dose"].dtype == np.float64
    assert table.X["dose"].isna().sum() == 3
    assert set(table.X["city"].dropna()) == {"Rome", "Oslo"}
    assert table.X["city"].isna().sum() == 1
    assert table.y.tolist() == people()["risk"].tolist()


def test_numbers_only_are_an_array(tmp_path: Path) -> None:
    path = tmp_path / "a.tsv"
    frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, None], "y": [0, 1]})
    frame.to_csv(path, sep="\t", index=False)
    table = read_table(str(path), "y")
    np.testing.assert_array_equal(table.X, [[1, 1, 0.5], [2, 0, np.nan]])
    assert table.text_columns == ()


def test_compressed_files_and_separators(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    people().to_csv(path, sep=";", index=False)
    with pytest.raises(CommandError, match="Try --separator ';'"):
        read_table(str(path), "risk")
    table = read_table(str(path), "risk", separator=";", drop=["name", "city"])
    assert table.X.shape == (60, 4)


def test_columns_of_groups_and_weights(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    pd.DataFrame({"x": [1, 2], "g": ["a", "b"], "w": [1.0, 2.0], "y": [0, 1]}).to_csv(path)
    table = read_table(str(path), "y", group_column="g", weight_column="w", drop=["Unnamed: 0"])
    assert table.names == ("x",)
    assert table.groups.tolist() == ["a", "b"]
    assert table.weights.tolist() == [1.0, 2.0]


@pytest.mark.parametrize("named", [True, False])
def test_arrays(tmp_path: Path, named: bool) -> None:
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    names = {"feature_names": np.array(["left", "right"])} if named else {}
    np.savez(tmp_path / "a.npz", X=X, label=y, **names)
    table = read_table(str(tmp_path / "a.npz"), "label")
    np.testing.assert_array_equal(table.X, X)
    assert table.names == (("left", "right") if named else ("x0", "x1"))
    assert table.y.tolist() == y.tolist()


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"X": np.zeros((3, 2))}, r"must have the arrays .* got \['X'\]"),
        (
            {"X": np.zeros((3, 2)), "y": np.zeros(2)},
            r"one value per row, got shapes \(3, 2\) and \(2,\)",
        ),
        (
            {"X": np.zeros((3, 2)), "y": np.zeros(3), "feature_names": np.array(["a"])},
            "1 names in 'feature_names'",
        ),
        ({"X": np.array([[{}]]), "y": np.zeros(1)}, "cannot be read"),
    ],
)
def test_arrays_that_do_not_fit(tmp_path: Path, arrays: dict[str, Any], message: str) -> None:
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(CommandError, match=message):
        read_table(str(tmp_path / "a.npz"), "y")


def test_parquet_without_pyarrow_names_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    imported = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] in ("pyarrow", "fastparquet"):
            raise ImportError(name)
        return imported(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(CommandError, match=r"pip install 'optuna-mofs\[parquet\]'"):
        read_table(str(tmp_path / "a.parquet"), "y")


def test_parquet(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = str(tmp_path / "a.parquet")
    frame = people()
    frame["Größe"] = pd.array([None, *range(59)], dtype="Int64")
    frame["member"] = pd.array([None, *[True, False] * 29, True], dtype="boolean")
    frame["city"] = frame["city"].astype("category")
    frame.to_parquet(path)
    table = read_table(path, "risk", drop=["name"])
    assert table.names == ("noise 0", "noise 1", "noise 2", "dose", "city", "Größe", "member")
    assert table.text_columns == ("city",)
    assert table.X["Größe"].tolist()[1:] == list(range(59))
    assert table.X["member"].tolist()[1:3] == [1.0, 0.0]
    assert table.X[["Größe", "member"]].isna().sum().tolist() == [1, 1]
    assert table.y.tolist() == frame["risk"].tolist()
    # The same table in another format.
    frame.to_csv(tmp_path / "a.csv", index=False)
    same = read_table(str(tmp_path / "a.csv"), "risk", drop=["name", "member"])
    pd.testing.assert_frame_equal(
        same.X, table.X.drop(columns="member"), check_dtype=False, check_categorical=False
    )


def test_parquet_of_numbers_is_an_array(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"a": [1.5, None], "b": [1, 2], "y": [0.5, 0.25]}, index=["r", "s"])
    frame.to_parquet(tmp_path / "a.pq")
    table = read_table(str(tmp_path / "a.pq"), "y")
    np.testing.assert_array_equal(table.X, [[1.5, 1], [np.nan, 2]])
    assert table.y.tolist() == [0.5, 0.25]


def test_a_broken_parquet_file(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    with pytest.raises(CommandError, match=r"a\.parquet cannot be read"):
        read_table(str(tmp_path / "a.parquet"), "y")


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        ({}, {"target": "Risk"}, "--target: .* no column 'Risk'. Did you mean 'risk'?"),
        ({}, {"drop": ["nam"]}, "--drop: .* Did you mean 'name'?"),
        ({}, {"drop": []}, r"'name' \(60 in 60 rows, for example .*with --drop"),
        ({"risk": None}, {}, "'risk' is missing in 60 of 60 rows.*the first is row 1"),
        ({"dose": np.inf}, {}, "Infinity: column 'dose' in row 1"),
    ],
)
def test_columns_that_cannot_be_used(
    tmp_path: Path, change: dict[str, Any], options: dict[str, Any], message: str
) -> None:
    path = tmp_path / "a.csv"
    people().assign(**change).to_csv(path, index=False)
    with pytest.raises(CommandError, match=message):
        read_table(str(path), **{"target": "risk", "drop": ["name"], **options})


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.doc", "x", "must be .csv"),
        ("a.xlsx", "x", r"is a spreadsheet.*read_excel\('a\.xlsx'\)\.to_csv"),
        ("a.csv", "x,y\n", "a header but no rows"),
        ("a.csv", "", "cannot be read: No columns"),
        ("a.csv", "y\n1\n", "no columns besides the target"),
        ("a.csv", "x,x,y\n1,2,3\n", "has two columns 'x'. Rename one"),
        ("a.csv", "x,größe,y\n1,2,3\n".encode("latin1"), "not text in UTF-8.*iconv"),
    ],
)
def test_files_that_cannot_be_used(
    tmp_path: Path, name: str, text: str | bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(CommandError, match=message):
        read_table(str(tmp_path / name), "y")
    with pytest.raises(CommandError, match="does not exist"):
        read_table(str(tmp_path / "gone.csv"), "y")
    with pytest.raises(CommandError, match="is a folder"):
        read_table(str(tmp_path), "y")


def test_decimal_commas_are_no_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n0,5;1\n-1,25;0\n;1\n")
    with pytest.raises(CommandError, match=r"decimal comma: column 'x'.*'0,5'"):
        read_table(str(tmp_path / "a.csv"), "y", separator=";")
    (tmp_path / "b.csv").write_text('x,y\n"1,5",1\n"a,b",0\n')
    assert read_table(str(tmp_path / "b.csv"), "y").text_columns == ("x",)


def test_columns_without_a_name_are_no_duplicates(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",,y\n1,2,3\n")
    assert read_table(str(tmp_path / "a.csv"), "y").names == ("Unnamed: 0", "Unnamed: 1")


def test_dates_are_days(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    dates = pd.Series(pd.date_range("1970-01-02", periods=60))
    frame = people().assign(when=dates, zone=dates.dt.tz_localize("UTC"), took=dates - dates[0])
    frame.to_parquet(tmp_path / "a.parquet")
    table = read_table(str(tmp_path / "a.parquet"), "risk", drop=["name"])
    assert table.date_columns == ("when", "zone", "took")
    assert table.X["when"].tolist() == table.X["zone"].tolist() == list(range(1, 61))
    assert table.X["took"].tolist() == list(range(60))


def test_dates_of_a_text_file_are_days_also_without_texts(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("when,y\n1970-01-02,1\n,0\n1970-01-03 12:00,1\n")
    table = read_table(str(tmp_path / "a.csv"), "y")
    np.testing.assert_array_equal(table.X, [[1.0], [np.nan], [2.5]])
    assert table.date_columns == ("when",)
    assert table.text_columns == ()


def test_all_problems_are_in_one_message(tmp_path: Path) -> None:
    frame = people().assign(price=["1,5"] * 60, note=[f"text {i}" for i in range(60)])
    frame.loc[2, "dose"] = np.inf
    frame.to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(CommandError) as raised:
        read_table(str(tmp_path / "a.csv"), "risk")
    for name in ("price", "note", "name", "dose"):
        assert f"column {name!r}" in str(raised.value)
    assert raised.value.add == ("--decimal", ",", "--drop", "name", "note")


def test_decimal_commas_are_read_with_the_option(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x;y\n0,5;1\n-1,25;0\n")
    table = read_table(str(tmp_path / "a.csv"), "y", separator=";", decimal=",")
    np.testing.assert_array_equal(table.X, [[0.5], [-1.25]])
