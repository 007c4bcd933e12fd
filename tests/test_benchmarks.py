"""The shared parts of the benchmark scripts, and a small run of the storage benchmark."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import optuna
import pytest

from benchmarks import common, storage
from optuna_mofs import selected_mask


def test_one_thread_for_children_too() -> None:
    assert os.environ["OMP_NUM_THREADS"] == "1"


def test_load_returns_all_arrays(tmp_path: Path) -> None:
    np.savez(tmp_path / "small.npz", X=np.eye(3), y=np.arange(3), feature_names=["a", "b", "c"])
    data = common.load(tmp_path, "small")
    assert sorted(data) == ["X", "feature_names", "y"]
    np.testing.assert_array_equal(data["X"], np.eye(3))


def test_load_names_what_is_missing(tmp_path: Path) -> None:
    np.savez(tmp_path / "half.npz", X=np.eye(3))
    with pytest.raises(SystemExit, match="--data DIR"):
        common.load(None, "sonar")
    with pytest.raises(SystemExit, match="The folder contains: half"):
        common.load(tmp_path, "sonar")
    with pytest.raises(SystemExit, match=r"must contain X and y, got \['X'\]"):
        common.load(tmp_path, "half")


def test_numbers_and_spreads() -> None:
    assert [common.number(v) for v in (1234.5, 0.012345, 12, 3.0)] == [
        "1,234",
        "0.0123",
        "12",
        "3",
    ]
    assert str(common.Spread.of([3.0, 1.0, 2.0])) == "2 [1, 3]"
    assert common.Spread.quartiles([0.0, 1.0, 2.0, 3.0, 100.0]).median == 2


def test_table_is_markdown() -> None:
    lines = common.markdown_table(["what", "ms"], [["a", 12.345], ["b", "-"]]).splitlines()
    assert lines == ["| what | ms |", "| --- | --: |", "| a | 12.3 |", "| b | - |"]


def test_storage_benchmark(tmp_path: Path) -> None:
    masked, plain, table = storage.open_studies(tmp_path)
    ours, theirs = storage.paired_times(masked, plain, table, pairs=2)
    assert len(ours) == len(theirs) == 2
    for trial in masked.trials:
        mask = selected_mask(masked, trial)
        assert mask is not None
        assert mask.shape == (storage.FEATURES,)
        assert mask.sum() == storage.SELECTED
    assert [len(trial.params) for trial in plain.trials] == [storage.BOOLEANS] * 2
    storage.fill(tmp_path, table, 4)
    found = storage.read_cold(tmp_path)
    assert found["count"] == 4
    assert found["same"]
    # Optuna copies all trials for its best trials; our front copies none.
    assert found["best_copied"] == 4
    assert found["front_copied"] == 0
    assert all(t.state == optuna.trial.TrialState.COMPLETE for t in masked.trials)
