"""The manifests of the how-to: they parse, fit together, and their worker runs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest

PAGE = Path(__file__).parents[1] / "docs" / "how_to" / "kubernetes.md"


def manifests() -> dict[str, dict[str, Any]]:
    yaml = pytest.importorskip("yaml")
    text = PAGE.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    return {found["kind"]: found for found in yaml.safe_load_all(text)}


def test_the_objects_fit_together() -> None:
    found = manifests()
    assert set(found) == {"Secret", "ConfigMap", "Job"}
    job = found["Job"]["spec"]
    assert job["parallelism"] <= job["completions"]
    pod = job["template"]["spec"]
    (container,) = pod["containers"]
    (mount,), (volume,) = container["volumeMounts"], pod["volumes"]
    assert mount["name"] == volume["name"]
    assert volume["configMap"]["name"] == found["ConfigMap"]["metadata"]["name"]
    assert Path(container["command"][1]).parent == Path(mount["mountPath"])
    assert Path(container["command"][1]).name in found["ConfigMap"]["data"]
    references = [
        entry["valueFrom"]["secretKeyRef"] for entry in container["env"] if "valueFrom" in entry
    ]
    (reference,) = references
    assert reference["name"] == found["Secret"]["metadata"]["name"]
    assert reference["key"] in found["Secret"]["stringData"]


def test_two_pods_share_an_empty_database(tmp_path: Path) -> None:
    found = manifests()
    script = tmp_path / "worker.py"
    script.write_text(found["ConfigMap"]["data"]["worker.py"])
    (container,) = found["Job"]["spec"]["template"]["spec"]["containers"]
    names = {entry["name"] for entry in container["env"]}
    url = f"sqlite:///{tmp_path}/mofs.db"
    given = {"MOFS_STORAGE": url, "MOFS_STUDY": "pods", "MOFS_TRIALS": "4", "OMP_NUM_THREADS": "1"}
    assert names == set(given)
    command = [sys.executable, "-W", "ignore", str(script)]
    pods = [subprocess.Popen(command, env={**os.environ, **given}) for _ in range(2)]
    assert [pod.wait(300) for pod in pods] == [0, 0]
    study = optuna.load_study(study_name="pods", storage=url)
    completed = [t for t in study.trials if t.state == optuna.trial.TrialState.COMPLETE]
    assert len(completed) >= 4
    assert len({tuple(sorted(t.params.items())) for t in completed}) == len(completed)
