"""What tests of commands share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.tables import write_people


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with ``people.csv`` in it."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    return tmp_path
