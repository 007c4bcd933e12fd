from __future__ import annotations

import re
import shutil
from pathlib import Path

import joblib
import numpy as np
import optuna
import pandas as pd
import pytest

from optuna_mofs.cli import main
from tests.cli.tables import QUICK, people, write_people

URL = "sqlite:///optuna_mofs.db"


@pytest.fixture(scope="module")
def searched(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a table and a study of it."""
    folder = tmp_path_factory.mktemp("searched")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_people(folder)
        argv = ["--data", "people.csv", "--target", "risk", "--drop", "name", "--trials", "12"]
        assert main(["run", *argv, *QUICK, "--quiet"]) == 0
    return folder


@pytest.fixture(autouse=True)
def _in_a_copy(searched: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(searched, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def _study() -> optuna.Study:
    return optuna.load_study(study_name="people", storage=URL)


def test_the_default_model_takes_any_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--output", "m.joblib"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("m.joblib: ridge of trial ")
    assert "the fewest features within one standard error" in out
    assert "fitted on 60 rows" in out
    model, table = joblib.load("m.joblib"), people()
    predicted = model.predict(table)
    assert set(predicted) <= {"high", "low"}
    assert np.mean(predicted == table["risk"]) > 0.7
    # Only the selected columns are needed, in any order.
    chosen = model.named_steps["columns"].columns
    np.testing.assert_array_equal(model.predict(table[chosen[::-1]]), predicted)
    # Unseen texts and missing values are allowed.
    strange = table.assign(city="Atlantis", dose=np.nan)
    assert len(model.predict(strange)) == 60


def test_other_trials(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--output", "m.joblib", "--max-features", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert len(joblib.load("m.joblib").named_steps["columns"].columns) <= 1
    assert main(["export", "--output", "m.joblib", "--trial", "3"]) == 0
    features = _study().trials[3].user_attrs["features"]
    assert ", ".join(joblib.load("m.joblib").named_steps["columns"].columns) == features


def test_other_rows_are_noted_and_other_columns_are_an_error(
    capsys: pytest.CaptureFixture[str],
) -> None:
    people(80).to_csv("more.csv", index=False)
    assert main(["export", "--output", "m.joblib", "--data", "more.csv"]) == 0
    captured = capsys.readouterr()
    assert "note: the data differs from the study's" in captured.err
    assert "rows: 60 rows in the study, 80 rows now" in captured.err
    assert "fitted on 80 rows" in captured.out
    people().drop(columns="dose").to_csv("less.csv", index=False)
    assert main(["export", "--output", "n.joblib", "--data", "less.csv"]) == 1
    assert "missing: 'dose'" in capsys.readouterr().err
    assert not Path("n.joblib").exists()


def test_data_that_has_moved(searched: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (searched / "people.csv").rename(searched / "moved.csv")
    try:
        assert main(["export", "--output", "m.joblib"]) == 1
        assert "does not exist. Give its path by --data" in capsys.readouterr().err
        assert main(["export", "--output", "m.joblib", "--data", "people.csv", "--quiet"]) == 0
        assert capsys.readouterr().err == ""
    finally:
        (searched / "moved.csv").rename(searched / "people.csv")


def test_a_study_created_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    study = optuna.create_study(storage=URL, study_name="mine", directions=["minimize"] * 2)
    study.add_trial(optuna.trial.create_trial(values=(0.1, 0.5)))
    assert main(["export", "--study", "mine", "--output", "m.joblib"]) == 1
    assert "Give --data" in capsys.readouterr().err


def test_arrays_of_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 4))
    np.savez("a.npz", X=X, price=X[:, 2] * 3 + rng.normal(size=50) / 10)
    argv = ["run", "--data", "a.npz", "--target", "price", *QUICK, "--trials", "10", "--quiet"]
    assert main([*argv, "--storage", "sqlite:///b.db"]) == 0
    best = ["--pick", "best", "--storage", "sqlite:///b.db"]
    assert main(["export", *best, "--output", "m.joblib"]) == 0
    model = joblib.load("m.joblib")
    assert "x2" in model.named_steps["columns"].columns
    assert np.corrcoef(model.predict(X), X[:, 2])[0, 1] > 0.9


def test_the_error_to_expect_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    for options in ([], ["--pick", "best"], ["--max-features", "2"]):
        assert main(["export", "--output", "m.joblib", *options]) == 0
        assert re.search(
            r"^  expect error [\d.]+ \(.* to .*\) on new rows$",
            capsys.readouterr().out,
            re.MULTILINE,
        )


def test_a_constant_model_is_refused_unless_chosen_by_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=list("abc"))
    frame.assign(y=np.arange(80) % 20 == 0).to_csv("rare.csv", index=False)
    argv = ["run", "--data", "rare.csv", "--target", "y", *QUICK, "--trials", "6", "--quiet"]
    assert main([*argv, "--storage", "sqlite:///rare.db", "--holdout", "0"]) == 0
    options = ["export", "--storage", "sqlite:///rare.db", "--output", "rare.joblib"]
    assert main(options) == 1
    error = capsys.readouterr().err
    assert "predicts the same for every row" in error
    assert "balanced_accuracy" in error
    assert not Path("rare.joblib").exists()
    number = re.findall(r"--trial (\d+)", error)[0]
    assert main([*options, "--trial", number]) == 0
    captured = capsys.readouterr()
    assert "warning: The model of trial" in captured.err
    assert "Not clearly better than chance" in captured.err
    assert Path("rare.joblib").exists()
