from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import optuna_mofs
from optuna_mofs._imports import optional_import


def _printed(code: str) -> list[str]:
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    return found.stdout.split()


def test_optional_import_gives_the_module():
    import json

    assert optional_import("json", "boosting") is json


def test_the_error_for_a_missing_module_names_the_package():
    with pytest.raises(ImportError, match=r"pip install 'optuna-mofs\[boosting\]'"):
        optional_import("no_such_module_anywhere", "boosting")


def test_a_required_module_is_installed_by_its_own_name():
    with pytest.raises(ImportError, match=r"pip install no_such_module_anywhere$"):
        optional_import("no_such_module_anywhere.figures")


def test_every_extra_that_a_message_names_installs_the_module():
    text = (Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8")
    extras = tomllib.loads(text)["project"]["optional-dependencies"]
    package = Path(optuna_mofs.__file__).parent
    source = "\n".join(p.read_text(encoding="utf-8") for p in package.rglob("*.py"))
    named = re.findall(r'optional_import\("(\w+)[\w.]*", "(\w+)"\)', source)
    assert named
    for module, extra in named:
        required = " ".join(extras[extra]).replace("-", "_")
        assert module in required, f"the extra {extra!r} does not install {module!r}"
    assert all(extras.values()), "an extra is empty"


def test_importing_the_package_imports_no_heavy_optional_module():
    code = (
        "import sys, optuna_mofs._api; "
        "print([m for m in ('xgboost', 'lightgbm', 'plotly', 'matplotlib', 'skrebate') "
        "if m in sys.modules])"
    )
    assert _printed(code) == ["[]"]


def test_public_names_are_loaded_at_the_first_use():
    code = (
        "import sys, optuna_mofs; first = set(sys.modules); optuna_mofs.__version__; "
        "print(bool({'numpy', 'optuna', 'sklearn'} & first), optuna_mofs.spaces.__name__); "
        "from optuna_mofs import *; print(Front.__name__, optuna_mofs.storage.__name__)"
    )
    assert _printed(code) == ["False", "optuna_mofs.spaces", "Front", "storage"]


@pytest.mark.parametrize("first", ["objectives._evaluator", "study._queue", "fronts._front"])
def test_any_module_can_be_imported_first(first):
    # As when a worker process unpickles an object.
    code = f"import sys, optuna_mofs.{first}; print('optuna_mofs._api' in sys.modules)"
    assert _printed(code) == ["False"]


def test_unknown_names_are_refused():
    assert set(optuna_mofs.__all__) <= set(dir(optuna_mofs))
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = optuna_mofs.no_such_name
    with pytest.raises(AttributeError, match="no attribute '_private'"):
        _ = optuna_mofs._private


def test_the_version_needs_no_library():
    code = (
        "import sys, optuna_mofs.cli as cli\n"
        "try: cli.main(['--version'])\n"
        "except SystemExit: print(bool({'optuna', 'pandas', 'sklearn'} & set(sys.modules)))\n"
    )
    assert _printed(code) == ["optuna-mofs", optuna_mofs.__version__, "False"]


def test_every_package_can_be_imported_first() -> None:
    # As in a new process that reads a pickled object.
    code = """
import importlib, pkgutil, sys, optuna_mofs
for module in [m.name for m in pkgutil.iter_modules(optuna_mofs.__path__) if m.ispkg]:
    for name in [name for name in sys.modules if name.startswith("optuna_mofs")]:
        del sys.modules[name]
    importlib.import_module(f"optuna_mofs.{module}")
    print(module)
"""
    assert {"features", "objectives", "samplers"} <= set(_printed(code))
