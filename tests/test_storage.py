from __future__ import annotations

import errno
import json
import shutil
import sqlite3
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.samplers import RandomSampler
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, ProgrammingError

import optuna_mofs
from optuna_mofs._database import PatientStorage
from optuna_mofs.testing.problems import PROBLEMS, make_study


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


def test_a_database_in_memory() -> None:
    study = optuna.create_study(
        storage=optuna_mofs.storage("sqlite://"), sampler=RandomSampler(seed=0)
    )
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    assert len(study.trials) == 2


def test_an_unreadable_url_is_not_shown() -> None:
    with pytest.raises(ValueError, match="storage URL cannot be read") as raised:
        optuna_mofs.storage("postgresql://me:sec@ret@host:port/db")
    lines = traceback.format_exception(raised.value)
    assert "invalid literal" not in "".join(lines)


@pytest.mark.parametrize("name", ["a?b.db", "a{b}.db"])
def test_a_file_name_that_has_a_meaning_in_a_url_is_refused(tmp_path: Path, name: str) -> None:
    """Without the check, another file is opened."""
    with pytest.raises(ValueError, match="name of an SQLite file must not have"):
        optuna_mofs.storage(tmp_path / name)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["", "a\0b", 3])
@pytest.mark.parametrize("open_", [optuna_mofs.storage, optuna_mofs.journal])
def test_what_is_no_file_name_is_refused(open_: Any, name: Any) -> None:
    with pytest.raises(ValueError, match="Expected the name of a file or a URL"):
        open_(name)


def test_a_password_with_braces_is_not_shown() -> None:
    """Optuna formats the URL, and the error of ``str.format`` shows what is in the braces."""
    password = "{" + "ge" + "heim}"  # the traceback shows this line
    with pytest.raises(ValueError, match="storage URL cannot be read") as raised:
        optuna_mofs.storage(f"postgresql://me:{password}@host/db")
    assert "geheim" not in "".join(traceback.format_exception(raised.value))


def test_a_database_that_cannot_be_opened_is_named_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(StorageInternalError, match=r"^Database sqlite:///.* failed: unable to op"):
        optuna_mofs.storage(tmp_path / "no" / "a.db")


def test_a_missing_driver_is_named() -> None:
    with pytest.raises(ImportError, match=r"driver of mysql.* is not installed"):
        optuna_mofs.storage("mysql+mysqlconnector://me@host/db")


@pytest.mark.parametrize("content", [b"SQLite format 3\0\xfb", b'{"op_code": 12}\n', b"[]\n"])
def test_a_file_that_is_no_journal_is_named(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.log").write_bytes(content)
    with pytest.raises(ValueError, match=r"a\.log' is not a journal"):
        optuna_mofs.journal(tmp_path / "a.log")
    assert (tmp_path / "a.log").read_bytes() == content


def test_options_are_passed_on(tmp_path: Path) -> None:
    given = {"pool_pre_ping": True, "connect_args": {"cached_statements": 64}}
    storage = optuna_mofs.storage(tmp_path / "a.db", engine_kwargs=given)
    assert storage.engine_kwargs["pool_pre_ping"]
    assert storage.engine_kwargs["connect_args"] == {"timeout": 60, "cached_statements": 64}
    assert given["connect_args"] == {"cached_statements": 64}


@pytest.mark.parametrize(
    ("kind", "message", "n_calls"),
    [
        (OperationalError, "table studies already exists", 2),
        (ProgrammingError, 'type "studydirection" already exists', 2),  # PostgreSQL
        (IntegrityError, "Duplicate entry 'v3.2.0.a' for key 'PRIMARY'", 2),  # MySQL
        (OperationalError, "disk is full", 1),
    ],
)
def test_the_slower_of_two_processes_that_create_the_tables_retries(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    kind: type[DBAPIError],
    message: str,
    n_calls: int,
) -> None:
    calls = []

    def fail_once(url: str, **options: Any) -> PatientStorage:
        calls.append(url)
        if len(calls) == 1:
            raise kind("CREATE TABLE", {}, Exception(message))
        return PatientStorage(url, **options)

    monkeypatch.setattr("optuna_mofs._storage.PatientStorage", fail_once)
    if n_calls == 1:
        with pytest.raises(StorageInternalError, match=r"Database .* failed: disk is full"):
            optuna_mofs.storage(tmp_path / "a.db")
    else:
        optuna_mofs.storage(tmp_path / "a.db")
    assert len(calls) == n_calls


# ---- journals -----------------------------------------------------------------------------------


def _optimize(study: optuna.Study, n_trials: int) -> None:
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=n_trials)


def test_half_a_line_at_the_end_of_a_journal_is_removed(tmp_path: Path) -> None:
    """Optuna's own backend would append to it, and then no study could be read."""
    file = tmp_path / "a.log"
    sampler = RandomSampler(seed=0)
    study = optuna.create_study(storage=optuna_mofs.journal(file), study_name="a", sampler=sampler)
    _optimize(study, 2)
    with file.open("ab") as opened:
        opened.write(b'{"op_code":5,"worker_id":"' + b"x" * 70_000)
    for _ in range(2):
        study = optuna.load_study(
            storage=optuna_mofs.journal(file), study_name="a", sampler=sampler
        )
        _optimize(study, 1)
    assert len(study.trials) == 4
    assert all(json.loads(line) for line in file.read_text().splitlines())


def test_a_journal_on_a_full_disk_keeps_whole_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.log"
    sampler = RandomSampler(seed=0)
    study = optuna.create_study(storage=optuna_mofs.journal(file), study_name="a", sampler=sampler)
    _optimize(study, 1)
    before = file.read_bytes()

    def full(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr("optuna_mofs._storage.os.fsync", full)
        with pytest.raises(StorageInternalError, match=r"No space left on device\. Free disk"):
            study.ask()
    assert file.read_bytes() == before
    _optimize(optuna.load_study(storage=optuna_mofs.journal(file), study_name="a"), 0)


#: Fills a file system of 64 kB with a journal or a database, and continues with more space.
_FILL = """
import sys, optuna, optuna_mofs
from optuna_mofs.testing.problems import PROBLEMS, make_study
optuna.logging.set_verbosity(optuna.logging.ERROR)
kind, folder, n_trials = sys.argv[1:]
opened = getattr(optuna_mofs, kind)(f"{folder}/a")
study = make_study("bits", storage=opened, study_name="a", load_if_exists=True,
                   sampler=optuna_mofs.MOEADSampler(seed=0, population_size=8))
numbers = [t.number for t in study.trials if t.state.name != "COMPLETE"]
optuna_mofs.retry_interrupted(study, numbers=numbers)
n_complete = len([t for t in study.trials if t.state.name == "COMPLETE"])
print(n_complete, flush=True)
study.optimize(PROBLEMS["bits"], n_trials=int(n_trials) - n_complete)
print("done", [t.values for t in study.trials if t.state.name == "COMPLETE"][:int(n_trials)])
"""


@pytest.mark.parametrize(("kind", "size"), [("journal", "24k"), ("storage", "400k")])
def test_a_full_file_system(tmp_path: Path, kind: str, size: str) -> None:
    """A real one: ``mount`` is allowed for root only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("needs the right to mount a file system")
    run = [sys.executable, "-c", _FILL, kind, str(folder), "40"]
    try:
        full = subprocess.run(run, capture_output=True, text=True, timeout=300)
        assert full.returncode == 1
        assert "Free disk space, then run again; completed trials are kept." in full.stderr
        subprocess.run(["mount", "-o", "remount,size=8m", str(folder)], check=True)
        rest = subprocess.run(run, capture_output=True, text=True, timeout=300)
    finally:
        subprocess.run(["umount", str(folder)], check=True)
    assert rest.returncode == 0, rest.stderr
    n_complete, values = rest.stdout.split("\n")[:2]
    assert 0 < int(n_complete) < 40
    sampler = optuna_mofs.MOEADSampler(seed=0, population_size=8)
    expected = make_study("bits", sampler=sampler)
    expected.optimize(PROBLEMS["bits"], n_trials=40)
    assert values == f"done {[t.values for t in expected.trials]}"
