"""The commands in README.md and docs/command_line.md work as written."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_wine

from optuna_mofs.cli import main
from optuna_mofs.cli._settings import sampler_names
from optuna_mofs.spaces import learner_names

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "command_line.md").read_text(encoding="utf-8")
README = (PROJECT / "README.md").read_text(encoding="utf-8")


def _blocks(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^```(sh|py|python)\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def _run(block: str) -> None:
    """Run the commands of a block, with fewer trials and a quick filter."""
    for line in block.replace("\\\n", " ").splitlines():
        program, command, *argv = shlex.split(line)
        assert program == "optuna-mofs"
        if "--trials" in argv:
            argv[argv.index("--trials") + 1] = "4"
        if command == "run" and "--data" in argv:
            argv += ["--filters", "anova_f"]
        assert main([command, *argv]) == 0, line


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    scope: dict[str, Any] = {}
    for kind, block in _blocks(PAGE):
        if kind == "sh":
            _run(block)
        else:
            exec(compile(block, "command_line.md", "exec"), scope)
    assert len(scope["model"].predict(scope["X"])) == 178
    for file in ("wine.html", "small.html", "small.joblib", "front.json", "comparison.html"):
        assert Path(file).stat().st_size > 500, file


def test_the_readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.assign(quality=y).to_csv("wine.csv", index=False)
    section = README.partition("## Command line\n")[2].partition("\n## ")[0]
    blocks = [block for kind, block in _blocks(section) if kind == "sh"]
    assert blocks
    for block in blocks:
        _run(block)
    assert Path("wine.html").exists()
    assert Path("wine.joblib").exists()


@pytest.mark.parametrize("name", [*learner_names(), *sampler_names()])
def test_the_page_names_every_learner_and_sampler(name: str) -> None:
    assert f"`{name}`" in PAGE
