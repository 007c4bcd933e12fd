from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from optuna_mofs.cli.text import script, table, without_steps, wrapped


def test_columns_end_below_each_other() -> None:
    lines = table(["a", "long"], [["123", "4"], ["5", "678901"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["123", "4"]


def test_wrapped_breaks_between_items_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    names = ["worst concave points", "mean area", "mean texture"]
    text = wrapped(names)
    assert all(any(name in line for line in text.splitlines()) for name in names)
    assert max(map(len, text.splitlines())) <= 24


def test_script_is_bare_when_its_folder_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", folder]))
    assert script("pip") == "pip"


def test_script_is_a_path_when_the_environment_is_not_activated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    assert script("pip") == os.path.join(".venv", "bin", "pip")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert script("pip") == str(tmp_path / ".venv" / "bin" / "pip")


def test_steps_before_parameters_stay_where_names_would_clash() -> None:
    assert without_steps(["svc__C", "svc__gamma"]) == ["C", "gamma"]
    assert without_steps(["a__C", "b__C", "b__gamma"]) == ["a__C", "b__C", "b__gamma"]
    assert without_steps(["odd__", "plain"]) == ["odd__", "plain"]
    assert without_steps([]) == []
