from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path

import optuna
import pytest
from optuna.exceptions import StorageInternalError
from optuna.samplers import RandomSampler
from sqlalchemy import text
from sqlalchemy.exc import OperationalError

from optuna_mofs.cli import main
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._main import _without_password
from optuna_mofs.cli._storage import display_url, open_storage, open_study, storage_errors


def test_sqlite_writes_ahead(tmp_path: Path) -> None:
    storage = open_storage(f"sqlite:///{tmp_path}/a.db")
    study = optuna.create_study(storage=storage, sampler=RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    with storage.engine.connect() as connection:
        assert connection.execute(text("PRAGMA journal_mode")).scalar() == "wal"
        assert connection.execute(text("PRAGMA synchronous")).scalar() == 1


def test_optuna_alone_can_open_the_storage(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    sampler = RandomSampler(seed=0)
    study = optuna.create_study(storage=open_storage(url), study_name="a", sampler=sampler)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=3)
    assert len(optuna.load_study(study_name="a", storage=url).trials) == 3


def test_reading_creates_no_file(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"File '.*a\.db' does not exist"):
        open_storage(f"sqlite:///{tmp_path}/a.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_study_is_an_error_that_lists_studies(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    storage = open_storage(url)
    with pytest.raises(CommandError, match=r"a\.db has no study\."):
        open_study(storage, url, None)
    optuna.create_study(storage=storage, study_name="one")
    assert open_study(storage, url, None).study_name == "one"
    with pytest.raises(CommandError, match=r"no study 'won'\. Did you mean 'one'"):
        open_study(storage, url, "won")
    optuna.create_study(storage=storage, study_name="two")
    with pytest.raises(CommandError, match=r"2 studies\. Choose one with --study: 'one', 'two'"):
        open_study(storage, url, None)
    assert open_study(storage, url, "two").study_name == "two"


@pytest.mark.filterwarnings("ignore:Heartbeat of storage")
def test_the_trial_of_a_dead_worker_is_enqueued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("optuna_mofs.cli._storage._GRACE_PERIOD", 1)
    storage = open_storage(f"sqlite:///{tmp_path}/a.db", heartbeat=True)
    study = optuna.create_study(storage=storage, sampler=RandomSampler(seed=0))
    trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 1)})
    storage.record_heartbeat(trial._trial_id)
    time.sleep(2.1)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    assert [t.state.name for t in study.trials] == ["FAIL", "COMPLETE"]
    assert study.trials[1].params == trial.params


def test_password_is_hidden() -> None:
    assert "secret" not in display_url("mysql+pymysql://me:secret@host/db")


def test_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"gone/a\.db failed: unable to open database file"):
        open_storage(f"sqlite:///{tmp_path}/gone/a.db")


def test_a_file_that_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "a.db").write_text("not a database, but long enough to be taken for one" * 20)
    with pytest.raises(CommandError, match="not a database"):
        open_storage(f"sqlite:///{tmp_path}/a.db")


@pytest.mark.parametrize("url", ["nodb://me:secret@host/db", "://me:secret@host"])
def test_the_error_for_a_bad_url_hides_the_password(url: str) -> None:
    with pytest.raises(CommandError, match="URL cannot be read") as raised:
        open_storage(url)
    assert "secret" not in str(raised.value)


def test_failure_in_the_middle_names_the_storage() -> None:
    with (
        pytest.raises(CommandError, match=r"Storage sqlite:///a\.db failed: disk is full"),
        storage_errors("sqlite:///a.db"),
    ):
        raise StorageInternalError from OSError("disk is full")


def test_other_errors_pass() -> None:
    with pytest.raises(KeyError), storage_errors("sqlite:///a.db"):
        raise KeyError


def test_a_read_only_file_can_be_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    url = f"sqlite:///{tmp_path}/a b.db"
    opened = open_storage(url)
    optuna.create_study(storage=opened, study_name="a").add_trial(
        optuna.trial.create_trial(value=1.0)
    )
    opened.engine.dispose()
    access = os.access
    # The user of the tests may be allowed to write every file.
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK and access(path, mode))
    read = open_storage(url, create=False)
    assert optuna.load_study(study_name="a", storage=read).best_value == 1.0
    with pytest.raises(StorageInternalError):
        optuna.create_study(storage=read, study_name="b")


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://me:secret@nowhere.invalid:port/db",
        "postgresql://me:pass@secret:word@host/db",
        "secret://me:secret",
        "nodialect://me:secret@host/db",
        "postgresql://me:secret@/db?host=/nowhere",
        "postgresql://me@/db?host=/nowhere&password=secret",
        "me:secret@host/db",
    ],
)
@pytest.mark.parametrize("command", [["studies"], ["front"], ["run", "--data", "a.csv"]])
def test_a_password_is_never_printed(
    url: str, command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with suppress(SystemExit):  # wrong usage
        assert main([*command, "--storage", url]) == 1
    shown = capsys.readouterr()
    lines = (shown.out + shown.err).replace("secret://", "")
    assert "secret" not in lines
    assert "Traceback" not in lines


def test_the_suggested_command_has_no_password() -> None:
    for given in ("postgresql://me:secret@host/db", "--storage=postgresql://me:secret@host/db"):
        assert "secret" not in _without_password(given)
    assert _without_password("--target") == "--target"


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    cause = OperationalError("INSERT", {}, Exception("database or disk is full"))

    def full() -> None:
        try:
            raise StorageInternalError("An exception is raised during the commit.") from cause
        finally:
            raise AssertionError("Should not reach.")  # as Optuna does

    with pytest.raises(CommandError) as raised, storage_errors(f"sqlite:///{tmp_path}/a.db"):
        full()
    assert str(raised.value).endswith(
        "failed: database or disk is full. Free disk space, then run again; completed trials are "
        "kept."
    )
