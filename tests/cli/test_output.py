from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path

import pytest

from optuna_mofs.cli.output import chosen_format, write_file, write_text


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
    assert chosen_format(Namespace(format=given, output=output, formats=formats)) == chosen


def test_a_file_is_whole_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    write_text("first", str(path))

    def fail(file: Path) -> None:
        file.write_text("half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_file(str(path), fail)
    assert path.read_text() == "first\n"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_others_may_read_it(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.touch()
    write_text("x", str(tmp_path / "a.txt"))
    assert (tmp_path / "a.txt").stat().st_mode == plain.stat().st_mode


def test_a_dash_is_stdout(capsys: pytest.CaptureFixture[str]) -> None:
    write_text("x", "-")
    assert capsys.readouterr().out == "x\n"
