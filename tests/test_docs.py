"""The Python code of every documentation page runs, and the reference is complete."""

from __future__ import annotations

import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from sklearn.datasets import load_wine

import optuna_mofs
from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleNSGA2Sampler,
    filters,
    measures,
    spaces,
    visualization,
)

DOCS = Path(__file__).parents[1] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
PAGES = [
    page
    for page in sorted(DOCS.rglob("*.md"))
    if "_build" not in page.parts and BLOCK.search(page.read_text(encoding="utf-8"))
]
#: What a page uses, and the module without which its code is not run.
REQUIRED = {
    "optuna_mofs.dashboard": "optuna_dashboard",
    "import DaskStorage": "optuna_integration.dask",
    "GrpcStorageProxy": "grpc",
    "import ray": "ray",
}


def initial_names() -> dict[str, Any]:
    """Return the names that pages assume: data, an estimator with its space, a short study."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    estimator, space = spaces.get_learner("svm", random_state=0)
    objective = FeatureSelectionObjective(estimator, X, y, space=space, cv=3)
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=8)
    return {
        "__name__": "__main__",
        "X": X,
        "y": y,
        "estimator": estimator,
        "space": space,
        "objective": objective,
        "study": study,
    }


@pytest.fixture
def restored_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove what a page registers after the test."""
    for module, name in (
        (spaces._registry, "_LEARNERS"),
        (filters._registry, "_FILTERS"),
        (measures._registry, "_MEASURES"),
        (visualization._registry, "_FIGURES"),
    ):
        monkeypatch.setattr(module, name, dict(getattr(module, name)))


@pytest.mark.unseeded
@pytest.mark.usefixtures("few_trials", "restored_registries")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_code_of_a_page_runs(page: Path, tmp_path: Path) -> None:
    for used, module in REQUIRED.items():
        if used in page.read_text(encoding="utf-8"):
            pytest.importorskip(module, exc_type=ImportError)
    if "import ray" in page.read_text(encoding="utf-8"):
        # Ray saves functions by their name in a module, here in a script.
        script = tmp_path / "page.py"
        script.write_text("".join(BLOCK.findall(page.read_text(encoding="utf-8"))))
        subprocess.run([sys.executable, str(script)], check=True, cwd=tmp_path, timeout=600)
        return
    scope = initial_names()
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), scope)


def listed_names() -> list[str]:
    """Return the names of the reference page, relative to the package."""
    text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^\.\. autosummary::\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    return [name for block in blocks for name in re.findall(r"^   (\w[\w.]*)$", block, re.M)]


def public_names() -> dict[str, Any]:
    """Return the names in ``__all__`` of every public module, by full name."""
    modules = ["optuna_mofs"] + [
        module.name
        for module in pkgutil.walk_packages(optuna_mofs.__path__, "optuna_mofs.")
        if not re.search(r"\._|\.cli\b|\.testing\.", module.name)
    ]
    return {
        f"{module}.{name}": getattr(importlib.import_module(module), name)
        for module in modules
        for name in getattr(importlib.import_module(module), "__all__", ())
        if not name.startswith("__")
    }


def resolve(name: str) -> Any:
    module, _, attribute = f"optuna_mofs.{name}".rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def test_the_reference_lists_existing_names_once() -> None:
    names = listed_names()
    assert len(set(names)) == len(names) > 100
    for name in names:
        resolve(name)


def test_the_reference_lists_all_public_names() -> None:
    listed = [resolve(name) for name in listed_names()]
    missing = [
        name
        for name, found in public_names().items()
        if not any(found is other for other in listed) and not name.rpartition(".")[2].isupper()
    ]
    assert not missing
