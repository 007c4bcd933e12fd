"""README.md: its code runs, its names and links exist, and CI finds its commands."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

import optuna_mofs

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
#: The README is also shown outside of the repository, where relative links do not work.
PUBLISHED = r"https://(github|raw\.githubusercontent)\.com/optuna-mofs/optuna-mofs(/blob)?/main/"
EXAMPLES = sorted((PROJECT / "examples").glob("*.py"))


def _run(code: str, name: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, name, "exec"), scope)
    return scope


@pytest.mark.unseeded
@pytest.mark.usefixtures("few_trials")
def test_the_code_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        scope = _run(block, "README.md")
        assert scope["model"].predict(scope["X"]).shape == scope["y"].shape


@pytest.mark.unseeded
@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path: Path) -> None:
    _run(path.read_text(encoding="utf-8"), path.name)


def test_every_name_exists() -> None:
    names = re.findall(r"`(?:optuna_mofs\.)?([A-Z][A-Za-z0-9]{3,}|pareto_front)`", README)
    names += re.findall(r"`optuna_mofs\.(\w+)", README)
    assert len(names) >= 4
    for name in names:
        found = hasattr(optuna_mofs, name) or importlib.util.find_spec(f"optuna_mofs.{name}")
        assert found, name


def test_links_of_the_documentation_exist() -> None:
    for document in [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            target = re.sub(f"^{PUBLISHED}", "", target)
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("command", ["quickstart", "test"])
def test_commands_are_one_line_that_creates_an_environment(command: str) -> None:
    found = re.search(rf"<!-- command: {command} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert found is not None, "needed by .ci/run"
    assert "\n" not in found[1]
    assert found[1].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_ci_is_valid_shell() -> None:
    subprocess.run(["bash", "-n", str(PROJECT / ".ci" / "run")], check=True)
