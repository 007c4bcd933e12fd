from __future__ import annotations

import io
import os
import sys
from argparse import Namespace
from pathlib import Path

import pandas as pd
import pytest

from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._output import (
    csv_text,
    format_list,
    format_table,
    output_format,
    script_path,
    short_param_names,
    write_file,
    write_text,
)


@pytest.mark.parametrize(
    ("given", "output", "chosen"),
    [
        (None, None, "table"),
        (None, "a.json", "json"),
        (None, "a.JSON", "json"),
        (None, "a.log", "table"),
        ("csv", "a.json", "csv"),
    ],
)
def test_format(given: str | None, output: str | None, chosen: str) -> None:
    formats = ("table", "csv", "json")
    assert output_format(Namespace(format=given, output=output, formats=formats)) == chosen


def test_files_are_written_atomically(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text("first", str(path))

    def fail(file: Path) -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(str(path), fail)
    assert path.read_text() == "first\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_have_the_usual_permissions(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_text("x", str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").stat().st_mode == plain.stat().st_mode


def test_devices_and_links_are_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_text("x", str(pipe))
    assert os.read(reader, 10) == b"x\n"
    os.close(reader)
    assert pipe.is_fifo()

    (tmp_path / "a.txt").touch()
    (tmp_path / "link").symlink_to("a.txt")
    write_text("x", str(tmp_path / "link"))
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "a.txt").read_text() == "x\n"
    assert sorted(os.listdir(tmp_path)) == ["a.txt", "link", "pipe"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="needs /dev/full")
def test_a_full_disk() -> None:
    with pytest.raises(CommandError, match="/dev/full cannot be written: No space left on device"):
        write_text("x", "/dev/full")
    assert Path("/dev/full").is_char_device()


def test_a_dash_is_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write_text("x", "-")
    assert capsys.readouterr().out == "x\n"


def test_columns_are_aligned() -> None:
    lines = format_table(["a", "long"], [["123", "4"], ["5", "678901"]]).splitlines()
    assert len({len(line) for line in lines}) == 1
    assert lines[1].split() == ["123", "4"]


def test_lists_break_between_items_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "24")
    names = ["worst concave points", "mean area", "mean texture"]
    text = format_list(names)
    assert all(any(name in line for line in text.splitlines()) for name in names)
    assert max(map(len, text.splitlines())) <= 24


def test_script_is_bare_when_its_folder_is_on_the_path(monkeypatch: pytest.MonkeyPatch) -> None:
    folder = str(Path(sys.executable).parent)
    monkeypatch.setenv("PATH", os.pathsep.join(["/nowhere", folder]))
    assert script_path("pip") == "pip"


def test_script_is_a_path_when_the_environment_is_not_activated(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "executable", str(tmp_path / ".venv" / "bin" / "python"))
    monkeypatch.chdir(tmp_path)
    assert script_path("pip") == os.path.join(".venv", "bin", "pip")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert script_path("pip") == str(tmp_path / ".venv" / "bin" / "pip")


def test_pipeline_steps_stay_where_names_would_clash() -> None:
    assert short_param_names(["svc__C", "svc__gamma"]) == ["C", "gamma"]
    assert short_param_names(["a__C", "b__C", "b__gamma"]) == ["a__C", "b__C", "b__gamma"]
    assert short_param_names(["odd__", "plain"]) == ["odd__", "plain"]
    assert short_param_names([]) == []


def test_a_spreadsheet_does_not_run_cells() -> None:
    begins = ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "age", ""]
    frame = pd.DataFrame({"name": begins, "x": range(-4, 4), "=column": [None, 1.5, *begins[2:]]})
    read = pd.read_csv(io.StringIO(csv_text(frame, index=False)), keep_default_na=False)
    assert read.columns.tolist() == ["name", "x", "'=column"]
    assert read["name"].tolist() == [f"'{t}" for t in begins[:5]] + ["' =1", "age", ""]
    assert read["x"].tolist() == list(range(-4, 4))
    assert not read["'=column"].astype(str).str.match(r"[=+\-@\t\r]").any()
