"""What is published: metadata, README, recipes, workflows and OptunaHub packages."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import BaseSampler
from packaging.requirements import Requirement

import optuna_mofs

PROJECT = Path(__file__).parents[1]
METADATA = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
REPOSITORY = "https://github.com/optuna-mofs/optuna-mofs"
HUB = PROJECT / "packaging" / "optunahub"
PACKAGES = sorted(path for path in (HUB / "package" / "samplers").iterdir() if path.is_dir())


def _text(*names: str) -> str:
    return PROJECT.joinpath(*names).read_text(encoding="utf-8")


def test_the_version_has_one_place() -> None:
    assert METADATA["dynamic"] == ["version"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", optuna_mofs.__version__)
    assert f'version: "{optuna_mofs.__version__}"' in _text("packaging", "conda", "recipe.yaml")


def test_links_point_into_one_repository() -> None:
    for name, url in METADATA["urls"].items():
        assert url.startswith((REPOSITORY, "https://optuna-mofs.readthedocs.io")), name
    assert REPOSITORY in _text("packaging", "CITATION.cff")


def test_the_recipe_has_the_dependencies_of_the_package() -> None:
    run = _text("packaging", "conda", "recipe.yaml").partition("  run:\n")[2].partition("\n\n")[0]
    recipe = {Requirement(line) for line in re.findall(r"- (.+)", run)}
    package = {Requirement(entry) for entry in METADATA["dependencies"]}
    assert recipe == package | {Requirement("python" + METADATA["requires-python"])}


def test_optuna_has_a_tested_range() -> None:
    found = next(r for r in map(Requirement, METADATA["dependencies"]) if r.name == "optuna")
    assert {entry.operator for entry in found.specifier} == {">=", "<"}
    assert found.specifier.contains(optuna.__version__)


def test_the_matrix_has_the_versions_of_the_classifiers() -> None:
    versions = [
        entry.rpartition(" ")[2]
        for entry in METADATA["classifiers"]
        if re.search(r"Python :: 3\.\d+$", entry)
    ]
    listed = ", ".join(f'"{version}"' for version in versions)
    assert f"python: [{listed}]" in _text(".github", "workflows", "ci.yml")


def test_the_readme_renders_outside_of_the_repository() -> None:
    markdown = pytest.importorskip("readme_renderer.markdown")
    html = markdown.render(_text("README.md"))
    if html is None:
        pytest.skip("readme_renderer has no Markdown")
    targets = re.findall(r'(?:href|src)="([^"]+)"', html)
    assert len(targets) > 3
    assert [t for t in targets if not t.startswith(("https://", "#"))] == []


def test_scripts_are_valid_shell() -> None:
    for script in ("packaging/check_dist.sh", "packaging/docker/entrypoint.sh"):
        subprocess.run(["bash", "-n", str(PROJECT / script)], check=True)


def test_the_image_copies_what_exists() -> None:
    for source in re.findall(r"^COPY (packaging/\S+)", _text("packaging/docker/Dockerfile"), re.M):
        assert (PROJECT / source).exists()


# ---- OptunaHub ----------------------------------------------------------------------------------


def _load(path: Path) -> tuple[Any, type[BaseSampler]]:
    hub = pytest.importorskip("optunahub")
    module = hub.load_local_module(f"samplers/{path.name}", registry_root=str(HUB / "package"))
    (name,) = module.__all__
    return module, getattr(module, name)


@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.name)
def test_a_package_has_the_layout_of_the_registry(path: Path) -> None:
    for name in ("__init__.py", "README.md", "LICENSE", "example.py", "requirements.txt"):
        assert (path / name).read_text(encoding="utf-8").strip()
    text = (path / "README.md").read_text(encoding="utf-8")
    header = dict(re.findall(r"^(\w+): (.+)$", text.split("---\n")[1], flags=re.MULTILINE))
    assert set(header) == {"author", "title", "description", "tags", "optuna_versions", "license"}
    assert header["tags"].strip("[]").split(", ")[0] == "sampler"
    assert header["license"] == "MIT License"
    # YAML takes a colon for another key, unless the text is quoted.
    assert all(": " not in value or value[0] == value[-1] == '"' for value in header.values())
    assert (path / "example.py").read_text(encoding="utf-8") in text


def test_there_is_a_package_for_each_sampler() -> None:
    loaded = {_load(path)[1] for path in PACKAGES}
    own = {getattr(optuna_mofs, n) for n in optuna_mofs.__all__ if n.endswith("Sampler")}
    assert loaded == own


@pytest.mark.usefixtures("few_trials")
@pytest.mark.parametrize("path", PACKAGES, ids=lambda path: path.name)
def test_the_example_of_a_package_runs(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module, sampler = _load(path)
    asked = []
    # The example loads the package from the internet; here, the same files are loaded.
    monkeypatch.setattr("optunahub.load_module", lambda name: asked.append(name) or module)
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec((path / "example.py").read_text(encoding="utf-8"), scope)
    assert asked == [f"samplers/{path.name}"]
    assert isinstance(scope["study"].sampler, sampler)
    assert len(scope["study"].get_trials(states=[optuna.trial.TrialState.COMPLETE])) == 8
