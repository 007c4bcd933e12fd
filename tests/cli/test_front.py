from __future__ import annotations

import argparse
import io
import json
from pathlib import Path

import optuna
import pandas as pd
import pytest

from optuna_mofs import pareto_front
from optuna_mofs.cli import main
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import add_pick_options, pick_trial
from optuna_mofs.cli._settings import Settings

URL = "sqlite:///optuna_mofs.db"


@pytest.fixture(autouse=True)
def study(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> optuna.Study:
    """Create a study without this package, with features as user attributes."""
    monkeypatch.chdir(tmp_path)
    study = optuna.create_study(storage=URL, study_name="wine", directions=["minimize"] * 2)
    study.set_metric_names(["error", "size"])
    wide = ", ".join(f"feature {i}" for i in range(40))
    for values, names in (((0.1, 9), wide), ((0.12, 2), "a, b"), ((0.5, 1), "a"), ((0.5, 3), "c")):
        trial = optuna.trial.create_trial(
            values=values,
            params={"C": 0.5},
            distributions={"C": optuna.distributions.FloatDistribution(0, 1)},
            user_attrs={"features": names, "n_features": names.count(",") + 1},
        )
        study.add_trial(trial)
    return study


def test_table(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["front"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["trial", "error", "size", "n", "features"]
    assert lines[2].split() == ["*1", "0.12", "2", "2", "a,", "b"]
    assert lines[1].endswith(" …")
    assert max(map(len, lines[:4])) <= 80
    assert "Front of 4 completed trials of study 'wine'" in lines[-2]
    assert lines[-1] == "Default pick: 2 features, error 0.12."


def test_features_of_the_pick(
    study: optuna.Study,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ", ".join(f"a feature {i}" for i in range(9))
    attrs = {"features": names, "n_features": 9}
    study.add_trial(optuna.trial.create_trial(values=(0.0, 0), user_attrs=attrs))
    monkeypatch.delenv("COLUMNS", raising=False)
    assert main(["front"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith(names), "a pipe has no width"
    assert not any(line.startswith("Its features") for line in lines)

    monkeypatch.setenv("COLUMNS", "60")
    assert main(["front"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].endswith(" …")
    assert f"Its features: {names}" in lines


def test_csv_and_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["front", "--format", "csv"]) == 0
    frame = pd.read_csv(io.StringIO(capsys.readouterr().out), index_col="trial")
    assert frame.index.tolist() == [0, 1, 2]
    assert frame["pick"].tolist() == [False, True, False]
    assert frame["features"].iloc[1] == "a, b"
    assert frame["C"].tolist() == [0.5] * 3

    assert main(["front", "--study", "wine", "--output", "front.json"]) == 0
    assert capsys.readouterr().out == ""
    found = json.loads(Path("front.json").read_text())
    assert found["directions"] == {"error": "minimize", "size": "minimize"}
    assert found["pick"] == found["knee"] == 1
    assert found["trials"][1]["values"] == {"error": 0.12, "size": 2.0}
    assert found["trials"][1]["params"] == {"C": 0.5}
    assert found["trials"][1]["honest"] is None
    assert found["honest"]["source"] is None


def test_json_has_no_infinity(study: optuna.Study, capsys: pytest.CaptureFixture[str]) -> None:
    study.add_trial(optuna.trial.create_trial(values=[0.05, float("inf")]))
    assert main(["front", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["trials"][0]["values"] == {"error": 0.05, "size": None}


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--study", "beer"], "has no study 'beer'. Choose from 'wine'"),
        (["--storage", "sqlite:///gone.db"], "File 'gone.db' does not exist"),
        (["--output", "gone/front.csv"], "gone/front.csv cannot be written: No such file"),
    ],
)
def test_failures(argv: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["front", *argv]) == 1
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""
    assert not Path("gone.db").exists()


def test_an_empty_study(capsys: pytest.CaptureFixture[str]) -> None:
    optuna.create_study(storage=URL, study_name="empty")
    assert main(["front", "--study", "empty"]) == 1
    assert "no trial has completed with values (0 trials in total)" in capsys.readouterr().err


# error, fraction, number of features
TRIALS = ((0.10, 0.9, 9), (0.11, 0.5, 5), (0.13, 0.2, 2), (0.45, 0.1, 1), (0.5, 1.0, 10))


@pytest.fixture(scope="module")
def picks_study() -> optuna.Study:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.set_metric_names(["error", "fraction"])
    for error, fraction, count in TRIALS:
        attrs = {"n_features": count, "fold_scores": {"error": [error - 0.015, error + 0.015]}}
        study.add_trial(optuna.trial.create_trial(values=(error, fraction), user_attrs=attrs))
    return study


def _pick(study: optuna.Study, *argv: str, settings: Settings | None = None) -> tuple[int, str]:
    parser = argparse.ArgumentParser()
    add_pick_options(parser)
    found = pick_trial(pareto_front(study), parser.parse_args(argv), settings)
    return found.trial.number, found.description


@pytest.mark.parametrize(
    ("argv", "number"),
    [
        ([], 1),
        (["--pick", "knee"], 2),
        (["--pick", "best"], 0),
        (["--pick", "one_standard_error"], 1),
        (["--max-features", "5"], 1),
        (["--trial", "4"], 4),
        (["--tolerance", "error=0.05"], 2),
        (["--tolerance", "error=20%"], 1),
        (["--pick", "lexicographic", "--priority", "fraction"], 3),
        (["--goal", "error=0.12"], 1),
    ],
)
def test_picks(picks_study: optuna.Study, argv: list[str], number: int) -> None:
    found, description = _pick(picks_study, *argv)
    assert found == number
    assert description


def test_the_preference_of_the_search_is_the_default(picks_study: optuna.Study) -> None:
    settings = Settings(tolerances={"error": 0.012})
    assert _pick(picks_study, settings=settings)[0] == 1
    assert "tolerances: error=0.012" in _pick(picks_study, settings=settings)[1]
    assert _pick(picks_study, "--pick", "knee", settings=settings)[0] == 2
    assert _pick(picks_study, "--tolerance", "error=0.05", settings=settings)[0] == 2


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        (["--trial", "7"], "no completed trial 7. The trials on the front are 0, 1, 2, 3"),
        (
            ["--trial", "1", "--max-features", "2"],
            "--trial and --max-features are mutually exclusive",
        ),
        (["--pick", "knee", "--goal", "error=1"], "--pick and --priority"),
        (["--tolerance", "eror=1"], "No metric 'eror'"),
    ],
)
def test_bad_options(picks_study: optuna.Study, argv: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        _pick(picks_study, *argv)


def test_no_feature_set_is_small_enough() -> None:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.add_trial(optuna.trial.create_trial(values=(0.1, 0.5), user_attrs={"n_features": 3}))
    with pytest.raises(CommandError, match="None of the 1 trials"):
        _pick(study, "--max-features", "2")
