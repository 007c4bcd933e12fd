"""Fixtures of the tests of commands."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.tables import write_people


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Change to an empty folder with the table ``people.csv``."""
    monkeypatch.chdir(tmp_path)
    write_people(tmp_path)
    return tmp_path
