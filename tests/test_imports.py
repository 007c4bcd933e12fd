from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import optuna_mofs
from optuna_mofs._imports import optional_import


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
        "import sys, optuna_mofs; "
        "print([m for m in ('xgboost', 'lightgbm', 'plotly', 'matplotlib', 'skrebate') "
        "if m in sys.modules])"
    )
    found = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=120
    )
    assert found.stdout.strip() == "[]"
