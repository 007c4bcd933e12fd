"""The table of rooms in docs/architecture.md holds for every import of the package."""

from __future__ import annotations

import ast
import graphlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "optuna_mofs"
MODULES = sorted(PACKAGE.rglob("*.py"))

#: Slow or optional: imported where they are used, never by importing the package.
LAZY = {"xgboost", "lightgbm", "plotly", "matplotlib", "skrebate", "optuna_dashboard"}


def _allowed() -> dict[str, set[str]]:
    """Room → rooms it may import, from the rows ``| `room` | ... | `a`, `b` |``."""
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("<!-- rooms -->")[2].partition("<!-- end of rooms -->")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", section, flags=re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", others)) for room, others in rows}


def _room(module: Path) -> str:
    """First name below the package: ``filters`` of ``optuna_mofs/filters/data.py``."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imported(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            assert node.module is not None
            # 'from optuna_mofs import fronts' names a room, 'import Front' the public API.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _rooms_imported(module: Path) -> Iterator[tuple[int, str]]:
    rooms = {_room(m) for m in MODULES}
    for line, name in _imported(ast.parse(module.read_text(encoding="utf-8"))):
        parts = name.split(".")
        if parts[0] == PACKAGE.name:
            known = len(parts) > 1 and parts[1] in rooms
            yield line, parts[1] if known else "optuna_mofs"


def test_the_table_names_every_room_and_no_other() -> None:
    rooms = {_room(m) for m in MODULES} - {"__init__"}
    assert set(_allowed()) == rooms, "docs/architecture.md: add or remove rows of the rooms' table"


def test_nothing_points_backwards() -> None:
    # Raises CycleError if two rooms may import each other, directly or by way of others.
    order = list(graphlib.TopologicalSorter(_allowed()).static_order())
    assert order.index("filters") < order.index("features") < order.index("objectives")


def test_objectives_and_samplers_meet_in_the_study_only() -> None:
    allowed = _allowed()
    for here, there in (("objectives", "samplers"), ("samplers", "objectives")):
        reached, waiting = set(), [here]
        while waiting:
            for room in allowed.get(waiting.pop(), set()) - reached:
                reached.add(room)
                waiting.append(room)
        assert there not in reached, f"{here} reaches {there}"


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_imports_keep_to_the_table(module: Path) -> None:
    room = _room(module)
    if room == "__init__":
        return  # the public API may name anything
    permitted = _allowed().get(room, set()) | {room}
    wrong = [f"line {line}: {name}" for line, name in _rooms_imported(module)]
    wrong = [text for text in wrong if text.split(": ")[1] not in permitted]
    assert not wrong, f"{module.relative_to(PROJECT)} imports what {room!r} may not: {wrong}"


def test_importing_is_light() -> None:
    code = (
        "import json, sys, time\n"
        "import optuna, sklearn.ensemble\n"
        "start = time.process_time()\n"
        "import optuna_mofs\n"
        "print(json.dumps([time.process_time() - start, list(sys.modules)]))\n"
    )
    # With compiled modules, as an installed package has them; the first import writes them.
    compiled = {**os.environ, "PYTHONDONTWRITEBYTECODE": ""}
    # The quickest of some: other processes can only make it slower.
    seconds = []
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=compiled
        )
        used, modules = json.loads(done.stdout)
        assert not LAZY & set(modules)
        seconds.append(used)
        if used <= 0.3:
            break
    assert min(seconds) <= 0.3
