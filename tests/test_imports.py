from __future__ import annotations

import subprocess
import sys

import pytest

from optuna_mofs._imports import optional_import


def test_optional_import_gives_the_module():
    import json

    assert optional_import("json", "boosting") is json


def test_a_missing_module_says_what_to_install():
    with pytest.raises(ImportError, match=r"pip install 'optuna-mofs\[boosting\]'"):
        optional_import("no_such_module_anywhere", "boosting")


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
