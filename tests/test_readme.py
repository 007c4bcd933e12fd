"""README.md keeps its promises: its code runs, its commands are where CI looks for them."""

from __future__ import annotations

import importlib.util
import re
import subprocess
from pathlib import Path
from typing import Any

import optuna
import pytest

import optuna_mofs

PROJECT = Path(__file__).parents[1]
README = (PROJECT / "README.md").read_text(encoding="utf-8")
EXAMPLES = sorted((PROJECT / "examples").glob("*.py"))


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, and budgets cut down; everything else is as written."""
    optimize = optuna.Study.optimize

    def shorter(self: optuna.Study, func: Any, n_trials: int, **options: Any) -> None:
        optimize(self, func, n_trials=min(n_trials, 6), **options)

    monkeypatch.setattr(optuna.Study, "optimize", shorter)
    monkeypatch.chdir(tmp_path)


def _run(code: str, name: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(code, name, "exec"), scope)
    return scope


@pytest.mark.usefixtures("few_trials")
def test_the_code_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)
    assert blocks
    for block in blocks:
        scope = _run(block, "README.md")
        assert scope["model"].predict(scope["X"]).shape == scope["y"].shape


@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_examples_run(path: Path) -> None:
    _run(path.read_text(encoding="utf-8"), path.name)


def test_every_name_it_tells_of_exists() -> None:
    names = re.findall(r"`(?:optuna_mofs\.)?([A-Z][A-Za-z0-9]{3,}|pareto_front)`", README)
    names += re.findall(r"`optuna_mofs\.(\w+)", README)
    assert len(names) >= 4
    for name in names:
        found = hasattr(optuna_mofs, name) or importlib.util.find_spec(f"optuna_mofs.{name}")
        assert found, name


def test_links_lead_somewhere() -> None:
    for document in [PROJECT / "README.md", *sorted((PROJECT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#]+)\)", document.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (document.parent / target).exists(), f"{document.name}: {target}"


@pytest.mark.parametrize("command", ["quickstart", "test"])
def test_a_command_is_one_line_in_a_fresh_environment(command: str) -> None:
    found = re.search(rf"<!-- command: {command} -->\n```sh\n(.*?)\n```", README, re.DOTALL)
    assert found is not None, "where .ci/run looks for it"
    assert "\n" not in found[1]
    assert found[1].startswith("python3 -m venv .venv && .venv/bin/pip install ")


def test_ci_is_valid_shell() -> None:
    subprocess.run(["bash", "-n", str(PROJECT / ".ci" / "run")], check=True)
