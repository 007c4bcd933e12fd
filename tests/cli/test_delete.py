from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from optuna_mofs.cli import main


def test_a_study_is_deleted_only_if_confirmed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    for name in ("wine", "other"):
        optuna.create_study(storage=url, study_name=name)
    command = ["delete", "--storage", url, "--study", "wine"]
    assert main(command) == 1
    assert "Confirm with --yes" in capsys.readouterr().err
    assert main([*command, "--yes"]) == 0
    assert "Study 'wine' with 0 trials deleted." in capsys.readouterr().err
    assert optuna.get_all_study_names(url) == ["other"]
    assert main([*command, "--yes"]) == 1
