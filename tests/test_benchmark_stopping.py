"""The benchmark of stopping rules."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest

from benchmarks import stopping


def test_rules_are_applied_to_a_finished_search(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = optuna.logging.get_verbosity()
    monkeypatch.setattr(stopping, "MAX_ROWS", 60)
    arguments = ["--quick", "--only", "wine", "--keep", str(tmp_path)]
    try:
        stopping.main(arguments)
        first = capsys.readouterr().out
        stopping.main([*arguments, "--finished"])
        assert capsys.readouterr().out == first
    finally:
        optuna.logging.set_verbosity(before)
    assert "| rule (1 searches) |" in first
    assert "| wine, knn | 20 | +0.00% | +0.00% |" in first, "20 trials are too few to stop"


def test_what_is_saved_and_lost() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, study_name="s")
    study.set_metric_names(["error", "fraction"])
    for number in range(300):
        error = 0.5 if number < 290 else 0.1
        values = (1.0, 1.0) if number == 0 else (error, 0.5)
        study.add_trial(optuna.trial.create_trial(values=values, user_attrs={"n_features": 2}))
    tested = {0: [1.0, 1.0], 1: [0.5, 0.5], 290: [0.3, 0.5]}
    found = stopping.replay(study, tested)["stagnation of hypervolume, horizon 50, risk 0.2"]
    assert found["trials"] == 105
    assert found["saved"] == pytest.approx(1 - 105 / 300)
    assert found["inner"] == pytest.approx(0.25 / 0.45 - 1)
    assert found["outer"] == pytest.approx(0.25 / 0.35 - 1)
    assert found["stated"] < 0.2
    assert found["came"] == 0.0
    patient = stopping.replay(study, tested)["stagnation of hypervolume, horizon 50, risk 0.1"]
    assert patient["trials"] == 283
    assert "came" not in patient, "the search has no 50 trials after the stop"
