"""The code of docs/visualization.md runs as written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "visualization.md"


@pytest.mark.filterwarnings("ignore")
def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    assert len(blocks) >= 10
    scope: dict = {}
    for block in blocks:
        exec(compile(block, PAGE.name, "exec"), scope)
    assert {"front.html", "hypervolume.html"} <= {path.name for path in tmp_path.iterdir()}
