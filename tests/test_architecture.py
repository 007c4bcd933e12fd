"""The rules of docs/architecture.md hold for every module of the package."""

from __future__ import annotations

import ast
import graphlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[1]
PACKAGE = PROJECT / "optuna_mofs"
TESTS = PROJECT / "tests"
MODULES = sorted(path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py"))
INTERNAL = [module for module in MODULES if not module.name.startswith("__")]

#: Slow or optional: imported where they are used, never by importing the package.
LAZY = {"xgboost", "lightgbm", "plotly", "matplotlib", "skrebate", "optuna_dashboard"}

#: Modules without an underscore: their contents are public.
PUBLIC = {
    "callbacks.py",
    "columns.py",
    "dashboard.py",
    "honesty.py",
    "stability.py",
    "statistics.py",
    "testing/problems.py",
    "testing/pytest_samplers.py",
}

#: Modules without a test file of the same name, and why.
TESTED_ELSEWHERE = {
    "_api.py": "test_imports.py",
    "_format.py": "doctests; figures and commands",
    "_typing.py": "only types",
    "cli/_model_file.py": "test_export.py",
    "cli/_errors.py": "test_main.py and doctests",
    "cli/_run_messages.py": "test_run.py",
    "measures/_base.py": "test_registry.py and the tests of each measure",
    "samplers/_context.py": "test_base.py",
    "visualization/_utils.py": "the tests of each figure",
}

#: They take arrays, so that they can be tested and reused without a study.
ARRAYS_ONLY = (
    "fronts/_dominance.py",
    "fronts/_honest.py",
    "samplers/_gaussian_process.py",
    "samplers/_hypervolume_gain.py",
    "samplers/_mask_operators.py",
    "samplers/_row_operators.py",
)

#: Attributes of Optuna's objects that only ``_optuna.py`` may use.
OPTUNA_INTERNALS = {"_storage", "_study_id", "_trial_id", "_backend"}


@cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _imported(path: Path) -> Iterator[tuple[int, str]]:
    """Return line and full name of everything that a file imports."""
    for node in ast.walk(_tree(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            # 'from optuna_mofs import fronts' names a folder, 'import Front' the public API.
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def _attributes(path: Path) -> Iterator[ast.Attribute]:
    return (node for node in ast.walk(_tree(path)) if isinstance(node, ast.Attribute))


# ---- folders ------------------------------------------------------------------------------------


@cache
def _allowed() -> dict[str, set[str]]:
    """Return the folders that each may import, from the rows ``| `room` | ... | `a`, `b` |``."""
    text = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("<!-- rooms -->")[2].partition("<!-- end of rooms -->")[0]
    rows = re.findall(r"^\| `(\w+)` \|.*\|([^|]*)\|$", section, flags=re.MULTILINE)
    return {room: set(re.findall(r"`(\w+)`", others)) for room, others in rows}


def _room(module: Path) -> str:
    """Return the first name below the package: ``filters`` for ``filters/_data.py``."""
    return module.parts[0].removesuffix(".py")


ROOMS = {_room(module) for module in MODULES}


def test_the_table_lists_every_folder() -> None:
    folders = ROOMS - {"__init__", "_api"}
    assert set(_allowed()) == folders, "docs/architecture.md: update the table"


def test_imports_have_no_cycles() -> None:
    # Raises CycleError if two folders may import each other, directly or by way of others.
    order = list(graphlib.TopologicalSorter(_allowed()).static_order())
    assert order.index("filters") < order.index("features") < order.index("objectives")


def test_objectives_and_samplers_meet_only_in_the_study() -> None:
    for start, forbidden in (("objectives", "samplers"), ("samplers", "objectives")):
        reached: set[str] = set()
        waiting = [start]
        while waiting:
            new = _allowed().get(waiting.pop(), set()) - reached
            reached |= new
            waiting += new
        assert forbidden not in reached, f"{start} reaches {forbidden}"


@pytest.mark.parametrize("module", MODULES, ids=str)
def test_imports_follow_the_table(module: Path) -> None:
    room = _room(module)
    if room in ("__init__", "_api"):
        return  # the public API imports from everywhere
    permitted = _allowed().get(room, set()) | {room}
    for line, name in _imported(PACKAGE / module):
        parts = name.split(".")
        if parts[0] == PACKAGE.name:
            other = parts[1] if len(parts) > 1 and parts[1] in ROOMS else PACKAGE.name
            assert other in permitted, f"{module}, line {line}: {room} must not import {other}"


def test_importing_the_package_is_light() -> None:
    code = (
        "import json, sys\n"
        "import optuna, pandas, sklearn.ensemble\n"
        "before = set(sys.modules)\n"
        "import optuna_mofs._api\n"
        "print(json.dumps(sorted(set(sys.modules) - before)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = json.loads(done.stdout)
    assert not LAZY & {name.partition(".")[0] for name in modules}
    others = [name for name in modules if name.partition(".")[0] != PACKAGE.name]
    assert len(others) <= 60, others


# ---- samplers and numeric code ------------------------------------------------------------------

SAMPLERS = sorted(p.name for p in (PACKAGE / "samplers").iterdir() if (p / "__init__.py").exists())


@pytest.mark.parametrize(
    "module", [m for m in INTERNAL if m.parts[0] == "samplers"], ids=lambda m: str(m)
)
def test_samplers_do_not_import_each_other(module: Path) -> None:
    own = module.parts[1] if len(module.parts) > 2 else None
    for line, name in _imported(PACKAGE / module):
        parts = name.split(".")
        if parts[:2] == [PACKAGE.name, "samplers"] and parts[2] in SAMPLERS:
            assert parts[2] == own, f"{module}, line {line}: {name}"


@pytest.mark.parametrize("module", ARRAYS_ONLY)
def test_numeric_code_takes_arrays(module: str) -> None:
    forbidden = ("optuna.", "optuna_mofs.study.", "optuna_mofs.history._history.")
    for line, name in _imported(PACKAGE / module):
        is_note = name.endswith(".TrialNote")
        assert is_note or not name.startswith(forbidden), f"{module}, line {line}: {name}"


@pytest.mark.parametrize("module", INTERNAL, ids=str)
def test_only_one_module_uses_optuna_internals(module: Path) -> None:
    if module.name == "_optuna.py":
        return
    for node in _attributes(PACKAGE / module):
        # A module of ours may be called _storage, but then it is imported by name.
        assert node.attr not in OPTUNA_INTERNALS, f"{module}, line {node.lineno}: .{node.attr}"


# ---- files --------------------------------------------------------------------------------------


def test_internal_modules_begin_with_an_underscore() -> None:
    public = {m.as_posix() for m in INTERNAL if not m.name.startswith("_")}
    assert public == PUBLIC


@pytest.mark.parametrize("module", INTERNAL, ids=str)
def test_every_module_has_a_test_file(module: Path) -> None:
    mirrored = TESTS / module.parent / f"test_{module.name.removeprefix('_')}"
    if module.as_posix() in TESTED_ELSEWHERE:
        assert not mirrored.exists(), f"remove {module} from TESTED_ELSEWHERE"
    else:
        assert mirrored.exists(), f"{module} needs {mirrored.relative_to(PROJECT)}"


# ---- tests --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "path", sorted(TESTS.rglob("*.py")), ids=lambda p: str(p.relative_to(TESTS))
)
def test_tests_use_neither_global_generators_nor_clocks(path: Path) -> None:
    if path == TESTS / "conftest.py":
        return
    for node in _attributes(path):
        module, where = ast.unparse(node.value), f"line {node.lineno}: {ast.unparse(node)}"
        if module == "random":
            assert node.attr == "Random", f"{where}: use random.Random(seed)"
        if module == "np.random":
            assert node.attr == "default_rng" or node.attr[0].isupper(), (
                f"{where}: use a Generator"
            )
        assert module != "time" or node.attr not in ("perf_counter", "process_time"), (
            f"{where}: compare counts or ratios, because other processes take time too"
        )
