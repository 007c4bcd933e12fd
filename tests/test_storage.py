from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

import optuna_mofs


@pytest.mark.parametrize("form", ["{}", "sqlite:///{}"])
def test_sqlite_writes_ahead(tmp_path: Path, form: str) -> None:
    storage = optuna_mofs.storage(form.format(tmp_path / "a.db"))
    study = optuna.create_study(storage=storage, study_name="a", sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    with storage.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 1
    # Optuna alone opens the same file.
    again = optuna.load_study(study_name="a", storage=f"sqlite:///{tmp_path}/a.db")
    assert len(again.trials) == 2


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    storage = optuna_mofs.storage(file, engine_kwargs={"connect_args": {"timeout": 0}})
    study = optuna.create_study(storage=storage, sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with sqlite3.connect(file) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert len(study.trials) == 1
        writer.rollback()


def test_options_are_passed_on(tmp_path: Path) -> None:
    given = {"pool_pre_ping": True, "connect_args": {"cached_statements": 64}}
    storage = optuna_mofs.storage(tmp_path / "a.db", engine_kwargs=given)
    assert storage.engine_kwargs["pool_pre_ping"]
    assert storage.engine_kwargs["connect_args"] == {"timeout": 60, "cached_statements": 64}
    assert given["connect_args"] == {"cached_statements": 64}


@pytest.mark.parametrize(
    ("message", "n_calls"), [("table studies already exists", 2), ("disk is full", 1)]
)
def test_the_slower_of_two_processes_that_create_the_tables_retries(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, message: str, n_calls: int
) -> None:
    calls = []

    def fail_once(url: str, **options: Any) -> RDBStorage:
        calls.append(url)
        if len(calls) == 1:
            raise OperationalError("CREATE TABLE", {}, Exception(message))
        return RDBStorage(url, **options)

    monkeypatch.setattr("optuna_mofs._storage.RDBStorage", fail_once)
    if n_calls == 1:
        with pytest.raises(OperationalError, match="disk is full"):
            optuna_mofs.storage(tmp_path / "a.db")
    else:
        optuna_mofs.storage(tmp_path / "a.db")
    assert len(calls) == n_calls
