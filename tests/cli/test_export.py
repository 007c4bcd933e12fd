from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
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
    chosen = list(model.named_steps["columns"].get_feature_names_out())
    np.testing.assert_array_equal(model.predict(table[chosen[::-1]]), predicted)
    # Unseen texts and missing values are allowed.
    strange = table.assign(city="Atlantis", dose=np.nan)
    assert len(model.predict(strange)) == 60


def test_other_trials(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--output", "m.joblib", "--max-features", "1", "--quiet"]) == 0
    assert capsys.readouterr().out == ""
    assert len(joblib.load("m.joblib").named_steps["columns"].get_feature_names_out()) <= 1
    assert main(["export", "--output", "m.joblib", "--trial", "3"]) == 0
    features = _study().trials[3].user_attrs["features"]
    names = joblib.load("m.joblib").named_steps["columns"].get_feature_names_out()
    assert ", ".join(names) == features


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
        assert "does not exist. Give its path with --data" in capsys.readouterr().err
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
    assert "2" in "".join(map(str, model.named_steps["columns"].transformers_[0][2]))
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


# ---- files --------------------------------------------------------------------------------------


@pytest.fixture
def flowers() -> pd.DataFrame:
    """Search a table of numbers, and return it."""
    from sklearn.datasets import load_iris

    frame = load_iris(as_frame=True).frame
    frame.to_csv("iris.csv", index=False)
    argv = ["run", "--data", "iris.csv", "--target", "target", *QUICK, "--noise-floor", "0"]
    argv[argv.index("ridge")] = "logistic_regression"
    assert main([*argv, "--trials", "8", "--quiet", "--storage", "sqlite:///iris.db"]) == 0
    return frame


IRIS = ["export", "--storage", "sqlite:///iris.db"]


def test_a_model_of_numbers_loads_without_this_package(
    flowers: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*IRIS, "--output", "iris.joblib"]) == 0
    assert "must be installed" not in capsys.readouterr().out
    code = (
        "import sys; sys.modules['optuna_mofs'] = sys.modules['optuna'] = None\n"
        "import joblib, pandas\n"
        "model = joblib.load('iris.joblib')\n"
        "table = pandas.read_csv('iris.csv')\n"
        "assert list(model.feature_names_in_) == list(table.columns[:-1])\n"
        "more = table[table.columns[::-1]].assign(id=0)\n"
        "print((model.predict(more) == table['target']).mean() > 0.8)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True\n", "")


def test_a_model_of_texts_says_that_it_needs_this_package(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["export", "--output", "m.joblib", "--pick", "best"]) == 0
    out = capsys.readouterr().out
    card = json.loads(Path("m.card.json").read_text(encoding="utf-8"))
    uses_text = "city" in card["features"]
    assert card["needs_optuna_mofs"] == uses_text == ("must be installed" in out)


def test_the_model_card(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--output", "m.joblib"]) == 0
    assert "model card: m.card.md, m.card.json" in capsys.readouterr().out
    card = json.loads(Path("m.card.json").read_text(encoding="utf-8"))
    trial = _study().trials[card["trial"]]
    assert ", ".join(card["features"]) == trial.user_attrs["features"]
    assert list(card["cross_validated"].values()) == trial.values
    assert card["data"] == {"file": "people.csv", "target": "risk", "rows": 60, "columns": 5}
    assert card["classes"] == ["high", "low"]
    assert card["on_new_rows"]["low"] <= card["on_new_rows"]["value"]
    assert card["versions"]["optuna"] == optuna.__version__
    assert "lightgbm" not in card["versions"]  # installed, but not used
    text = Path("m.card.md").read_text(encoding="utf-8")
    for part in ("# m.joblib", "Predicts *risk*", "- on new rows: error", "## Features"):
        assert part in text
    Path("m.card.md").unlink()
    assert main(["export", "--output", "m.joblib", "--no-card", "--quiet"]) == 0
    assert not Path("m.card.md").exists()


def test_onnx(flowers: pd.DataFrame) -> None:
    pytest.importorskip("skl2onnx")
    runtime = pytest.importorskip("onnxruntime")
    assert main([*IRIS, "--output", "iris.onnx", "--quiet"]) == 0
    assert main([*IRIS, "--output", "iris.joblib", "--quiet"]) == 0
    session = runtime.InferenceSession("iris.onnx")
    names = json.loads(session.get_modelmeta().custom_metadata_map["features"])
    assert names == json.loads(Path("iris.card.json").read_text(encoding="utf-8"))["features"]
    predicted = session.run(None, {"X": flowers[names].to_numpy(dtype=np.float32)})[0]
    assert np.mean(predicted == joblib.load("iris.joblib").predict(flowers)) > 0.98


def test_onnx_of_texts_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    trials = _study().trials
    number = next(t.number for t in trials if "city" in t.user_attrs.get("features", ""))
    assert main(["export", "--output", "m.onnx", "--trial", str(number)]) == 1
    assert "ONNX needs columns of numbers, got 'city'" in capsys.readouterr().err
    assert not Path("m.onnx").exists()


def test_skops_runs_no_code_on_loading(
    flowers: pd.DataFrame, capsys: pytest.CaptureFixture[str]
) -> None:
    skops = pytest.importorskip("skops.io")
    assert main([*IRIS, "--output", "iris.skops"]) == 0
    assert "runs no code" in Path("iris.card.md").read_text(encoding="utf-8")
    types = skops.get_untrusted_types(file="iris.skops")
    # The second one is a list of column names in scikit-learn 1.6.
    columns = "sklearn.compose._column_transformer._RemainderColsList"
    assert set(types) <= {"numpy.dtype", columns}
    model = skops.load("iris.skops", trusted=types)
    assert main([*IRIS, "--output", "iris.model", "--format", "joblib", "--quiet"]) == 0
    expected = joblib.load("iris.model").predict(flowers)
    np.testing.assert_array_equal(model.predict(flowers), expected)
