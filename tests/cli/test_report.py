from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from optuna_mofs.cli import main
from tests.cli.tables import QUICK
from tests.cli.test_output import Loaded

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
    (folder / "people.csv").unlink()  # the data is not needed
    assert main(["report", "--output", "r.html"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("r.html: ")
    assert "the fewest features within one standard error" in out
    text = Path("r.html").read_text()
    _well_formed(text)
    page = text.partition("</head>")[2]
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
