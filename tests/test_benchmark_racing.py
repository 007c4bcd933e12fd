"""A small run of the racing benchmark."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import racing


def test_a_quick_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "racing.json"
    racing.main(["--quick", "--keep", str(file)])
    first = capsys.readouterr().out
    (result,) = json.loads(file.read_text()).values()
    same, more = result["equal trials"], result["equal fits"]
    assert same["trials"] == result["plain"]["trials"] < more["trials"]
    assert same["fits"] < result["plain"]["fits"] <= more["fits"]
    assert 0 < result["plain"]["outer"] <= 1
    # The kept results are printed again without a search.
    racing.main(["--quick", "--keep", str(file)])
    assert capsys.readouterr().out == first
    assert "| all | 1 |" in first
