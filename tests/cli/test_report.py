from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import optuna
import pandas as pd
import pytest

from optuna_mofs.cli import main
from tests.cli.tables import QUICK
from tests.cli.test_html import Loaded

URL = "sqlite:///optuna_mofs.db"
pytestmark = pytest.mark.usefixtures("folder")


def _well_formed(text: str) -> None:
    found = Loaded()
    found.feed(text)
    assert found.addresses == []
    assert found.open == []


def test_a_study_of_run(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    argv = ["--data", "people.csv", "--target", "risk", "--drop", "name", "--trials", "8"]
    assert main(["run", *argv, *QUICK, "--study", "a & b", "--quiet"]) == 0
    assert main(["report", "--output", "with.html", "--quiet"]) == 0
    (folder / "people.csv").unlink()  # the data is not needed
    assert main(["report", "--output", "r.html"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("r.html: ")
    assert "the fewest features within one standard error" in out
    text = Path("r.html").read_text()
    _well_formed(text)
    page = text.partition("</head>")[2]
    assert "Predictions on" not in page
    with_data = Path("with.html").read_text().partition("</head>")[2]
    assert "Predictions on 12 held-out rows" in with_data
    assert with_data.index("Confusion matrix") < with_data.index("How the search went")
    first, _, second = page.partition("How the search went")
    assert "error to expect on new rows" in first
    assert "error, cross-validated" in first
    assert re.search(r"Expect error [\d.]+ \(.* to .*\) on new rows", first)
    assert "<th>honest</th><th>interval</th>" in first
    assert "Settings of the search" in second
    assert "Operators of" in second.replace("\\u003c", "<")
    assert "Operators of" not in first
    assert "<h1>a &amp; b</h1>" in page
    assert "ridge on people.csv, predicting risk" in page
    assert "Settings of the search" in page
    assert "optuna-mofs export --study &#x27;a &amp; b&#x27; --trial" in page
    assert page.count('class="figure"') >= 4
    for name in optuna.load_study(study_name="a & b", storage=URL).metric_names or []:
        assert f"<th>{name}</th>" in page
    assert main(["report", "--output", "r.html", "--pick", "best", "--quiet"]) == 0
    assert capsys.readouterr().out == ""


def test_any_optuna_study(capsys: pytest.CaptureFixture[str]) -> None:
    study = optuna.create_study(
        storage=URL,
        study_name="plain",
        directions=["minimize"] * 3,
        sampler=optuna.samplers.RandomSampler(seed=0),
    )
    study.optimize(lambda trial: [trial.suggest_float(n, 0, 1) for n in "abc"], n_trials=4)
    assert main(["report", "--output", "-"]) == 0
    text = capsys.readouterr().out
    _well_formed(text)
    page = text.partition("</head>")[2]
    assert "minimize value_0" in page
    assert "Settings of the search" not in page
    assert "optuna-mofs export" not in page


def test_noise_is_warned_of(folder: Path) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(60, 20))).assign(y=np.arange(60) % 2)
    frame.to_csv("noise.csv", index=False)
    argv = ["run", "--data", "noise.csv", "--target", "y", *QUICK, "--trials", "12", "--quiet"]
    assert main(argv) == 0
    assert main(["report", "--output", "noise.html", "--quiet"]) == 0
    page = Path("noise.html").read_text().partition("</head>")[2]
    assert '<p class="warning">Not clearly better than chance: ' in page


def test_a_learner_that_fails_leaves_the_rest_of_the_page(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("out of memory")

    argv = ["--data", "people.csv", "--target", "risk", "--drop", "name", "--trials", "4"]
    assert main(["run", *argv, *QUICK, "--quiet"]) == 0
    monkeypatch.setattr("optuna_mofs.cli._report.honest_predictions", broken)
    assert main(["report", "--output", "r.html", "--quiet"]) == 0
    page = Path("r.html").read_text()
    assert "The chosen model could not be fitted again: out of memory" in page
    assert "How the search went" in page
