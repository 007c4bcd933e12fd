"""The installed command in new processes: from a table to a report and a model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import optuna
import pytest

from tests.cli.tables import QUICK

COMMAND = Path(sys.executable).with_name("optuna-mofs")
DATA = ("--data", "people.csv", "--target", "risk", "--drop", "name")
pytestmark = pytest.mark.usefixtures("folder")

PREDICT = """
import joblib, pandas
model = joblib.load("people.joblib")
table = pandas.read_csv("people.csv")
print((model.predict(table) == table["risk"]).mean())
"""


def _run(*argv: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([str(COMMAND), *argv], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def _states() -> Counter[str]:
    study = optuna.load_study(study_name="people", storage="sqlite:///optuna_mofs.db")
    return Counter(trial.state.name for trial in study.trials)


def test_from_a_table_to_a_report_and_a_model(folder: Path) -> None:
    searched = _run("run", *DATA, *QUICK, "--trials", "10", "--workers", "2")
    assert "10/10 trials, hypervolume 0." in searched.stderr
    assert "Warning" not in searched.stderr
    assert "Front of 10 completed trials" in searched.stdout
    assert _states() == {"COMPLETE": 10}

    front = json.loads(_run("front", "--format", "json").stdout)
    assert front["completed_trials"] == 10
    _run("report", "--output", "people.html")
    assert "ridge on people.csv" in (folder / "people.html").read_text()
    exported = _run("export", "--output", "people.joblib")
    assert f"trial {front['pick']}, the fewest features" in exported.stdout

    fresh = subprocess.run([sys.executable, "-c", PREDICT], capture_output=True, text=True)
    assert fresh.returncode == 0, fresh.stderr
    assert float(fresh.stdout) > 0.7


@pytest.mark.parametrize(
    ("number", "code", "workers"), [(signal.SIGINT, 130, "1"), (signal.SIGTERM, 143, "2")]
)
def test_a_search_that_is_stopped_leaves_nothing_running(
    folder: Path, number: signal.Signals, code: int, workers: str
) -> None:
    process = subprocess.Popen(
        [str(COMMAND), "run", *DATA, *QUICK, "--trials", "100000", "--workers", workers],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Background processes ignore Ctrl-C, and their children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL) and None,
    )
    try:
        limit = time.monotonic() + 900
        while _done() < 3:
            assert process.poll() is None, process.stderr
            assert time.monotonic() < limit
            time.sleep(0.2)
        os.kill(process.pid, number)
        _, error = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == code
    assert "optuna-mofs: stopped. " in error
    assert "Traceback" not in error
    states = _states()
    assert states["RUNNING"] == 0
    assert states["WAITING"] == states["FAIL"] <= int(workers)


def _done() -> int:
    if not Path("optuna_mofs.db").exists():
        return 0
    try:
        return _states()["COMPLETE"]
    except Exception:  # the study is being created
        return 0
