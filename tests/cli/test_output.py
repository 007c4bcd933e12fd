from __future__ import annotations

import os
import sys
from argparse import Namespace
from html.parser import HTMLParser
from pathlib import Path

import plotly.graph_objects as go
import pytest

from optuna_mofs.cli import _output as page
from optuna_mofs.cli._output import (
    chosen_format,
    script,
    table,
    without_steps,
    wrapped,
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


BAD = "<i>&\"'"


class Loaded(HTMLParser):
    """Collects what a browser would fetch, and whether tags are closed."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_is_loaded_and_every_tag_is_closed() -> None:
    parts = [
        page.tiles({"trials": "5"}),
        page.section("Front", page.page_table(["a", "b"], [[1, ["x"] * 20]], text=[1], chosen=0)),
        page.columns(page.chips([f"feature {i}" for i in range(50)]), page.command("ls")),
        page.figure(go.Figure(go.Scatter(x=[1], y=[1]))),
        page.figure(go.Figure(go.Scatter(x=[1], y=[2]))),
    ]
    text = page.page("A title", "one line", parts, script=True)
    found = Loaded()
    found.feed(text)
    found.close()
    assert found.addresses == []
    assert found.open == []
    assert text.count("plotly.js v") == 1, "the library is there once"
    assert text.count("Plotly.newPlot(") >= 2
    assert "14 more" in text
    assert 'class="chosen"' in text


def test_texts_are_escaped() -> None:
    parts = [
        page.tiles({BAD: BAD}),
        page.section(BAD, page.chips([BAD]), page.page_table([BAD], [[BAD], [[BAD]]]), note=BAD),
        page.command(BAD),
    ]
    text = page.page(BAD, BAD, parts, script=False)
    assert "<i>&" not in text
    assert text.count("&lt;i&gt;&amp;") == 12
    assert "<script" not in text
