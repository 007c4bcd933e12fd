from __future__ import annotations

import json
from pathlib import Path

import pytest

from optuna_mofs.cli import main
from tests.cli.tables import QUICK, write_people


def test_studies_are_listed_with_learner_and_data(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["studies"]) == 1
    assert "does not exist" in capsys.readouterr().err
    path = str(write_people(tmp_path))
    run = ["run", "--data", path, "--target", "risk", "--drop", "name", *QUICK]
    assert main([*run, "--trials", "2", "--noise-floor", "0", "--quiet"]) == 0
    assert main(["studies"]) == 0
    assert capsys.readouterr().out.splitlines()[1].split()[:6] == [
        "people",
        "2",
        "0",
        "0",
        "0",
        "ridge",
    ]
    assert main(["studies", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["data"] == path
