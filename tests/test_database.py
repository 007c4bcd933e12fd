"""Databases that fail: a server that is gone for a while, a full disk, a file without a way in."""

from __future__ import annotations

import logging
import os
import pickle
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import optuna
import pytest
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from sklearn.base import clone
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sqlalchemy import event
from sqlalchemy.exc import OperationalError

import optuna_mofs
from optuna_mofs import FeatureSelectionSearchCV, FilterEnsembleNSGA2Sampler, retry_interrupted
from optuna_mofs._database import PatientStorage, database_reason, hide_password
from optuna_mofs.testing.problems import PROBLEMS, make_study
from optuna_mofs.testing.pytest_samplers import all_params
from tests.servers import postgresql


@pytest.fixture
def errors(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    optuna.logging.enable_propagation()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    with caplog.at_level(logging.WARNING):
        yield caplog
    optuna.logging.disable_propagation()


class Outage:
    """A server that fails at every transaction from one on, for some attempts."""

    def __init__(self, storage: PatientStorage, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(storage.engine.dialect, "name", "postgresql")
        self.left = 0
        self.after_commit = False
        event.listen(storage.engine, "before_cursor_execute", self._before)
        event.listen(storage.engine, "after_cursor_execute", self._after)
        commit = storage.engine.dialect.do_commit

        def commit_and_fail(connection: Any) -> None:
            commit(connection)
            self._fail_after_commit("COMMIT")

        monkeypatch.setattr(storage.engine.dialect, "do_commit", commit_and_fail)

    def _before(self, *arguments: Any) -> None:
        if self.left and not self.after_commit:
            self.left -= 1
            raise OperationalError("SELECT", {}, Exception("server closed the connection"))

    def _after(self, connection: Any, cursor: Any, statement: str, *arguments: Any) -> None:
        is_own = connection.get_execution_options().get("isolation_level") == "AUTOCOMMIT"
        if is_own and statement.startswith("INSERT"):  # a transaction of its own
            self._fail_after_commit(statement)

    def _fail_after_commit(self, statement: str) -> None:
        if self.after_commit and self.left:
            self.left -= 1
            raise OperationalError(statement, {}, Exception("server closed the connection"))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optuna_mofs._database._FIRST_PAUSE", 0.0)
    # Optuna itself waits up to two seconds before it creates a trial again.
    monkeypatch.setattr("optuna.storages._rdb.storage.time.sleep", lambda seconds: None)


@pytest.mark.parametrize("after_commit", [False, True])
@pytest.mark.usefixtures("quick")
def test_every_transaction_of_a_trial_is_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, after_commit: bool
) -> None:
    """A failure at each transaction in turn: the same trials as without a failure."""
    expected = make_study("packed", sampler=FilterEnsembleNSGA2Sampler(seed=0))
    expected.optimize(PROBLEMS["packed"], n_trials=6)
    storage = optuna_mofs.storage(tmp_path / "a.db")
    sampler = FilterEnsembleNSGA2Sampler(seed=0)
    study = make_study("packed", storage=storage, sampler=sampler)
    outage = Outage(storage, monkeypatch)
    outage.after_commit = after_commit

    def objective(trial: optuna.Trial) -> tuple[float, ...]:
        outage.left = 2
        found = PROBLEMS["packed"](trial)
        outage.left = 1  # at the end of the trial
        return found

    study.optimize(objective, n_trials=6)
    complete = study.get_trials(states=(TrialState.COMPLETE,))
    assert [t.values for t in complete] == [t.values for t in expected.trials]
    assert all_params(study) == all_params(expected)


@pytest.mark.usefixtures("quick")
def test_a_server_that_stays_away_is_named_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: pytest.LogCaptureFixture
) -> None:
    storage = optuna_mofs.storage(tmp_path / "a.db", patience=0.3)
    study = optuna.create_study(storage=storage, sampler=RandomSampler(seed=0))
    assert study.get_trials() == []  # the first read finds out the version of the tables
    outage = Outage(storage, monkeypatch)
    outage.left = 10_000_000
    clock = SimpleNamespace(monotonic=count(0, 0.01).__next__, sleep=lambda seconds: None)
    monkeypatch.setattr("optuna_mofs._database.time", clock)
    with pytest.raises(StorageInternalError, match=r"failed: server closed the connection$"):
        study.ask()
    first, last = errors.messages[0], errors.messages[-1]
    assert first.endswith("does not answer; waiting up to 0 seconds.")
    assert last.startswith("Database sqlite:///")
    outage.left = 0
    assert study.ask().number == 0


def test_a_trial_that_was_told_twice_with_other_values_is_an_error(tmp_path: Path) -> None:
    storage = optuna_mofs.storage(tmp_path / "a.db")
    study = optuna.create_study(storage=storage, sampler=RandomSampler(seed=0))
    trial = study.ask()
    study.tell(trial, 1.0)
    with pytest.raises(UpdateFinishedTrialError):
        storage.set_trial_state_values(trial._trial_id, TrialState.COMPLETE, [1.0])


@pytest.mark.usefixtures("quick")
def test_a_full_disk_stops_the_study_and_free_space_continues_it(
    tmp_path: Path, errors: pytest.LogCaptureFixture
) -> None:
    expected = make_study("packed", sampler=FilterEnsembleNSGA2Sampler(seed=0))
    expected.optimize(PROBLEMS["packed"], n_trials=20)
    storage = optuna_mofs.storage(tmp_path / "a.db")
    sampler = FilterEnsembleNSGA2Sampler(seed=0)
    study = make_study("packed", storage=storage, study_name="a", sampler=sampler)
    with storage.engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one() + 2

    def limit(connection: Any, record: Any) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")

    event.listen(storage.engine, "connect", limit)
    storage.engine.dispose()
    with pytest.raises(Exception) as caught:  # noqa: PT011 - of Optuna or of this package
        study.optimize(PROBLEMS["packed"], n_trials=20)
    reason = database_reason(caught.value)
    line = "database or disk is full. Free disk space, then run again; completed trials are kept."
    assert reason == line
    assert errors.messages[0] == f"Database sqlite:///{tmp_path}/a.db failed: {line}"
    assert sum("failed: database" in text for text in errors.messages) <= 3
    again = optuna.load_study(
        study_name="a",
        storage=optuna_mofs.storage(tmp_path / "a.db"),
        sampler=FilterEnsembleNSGA2Sampler(seed=0),
    )
    complete = len(again.get_trials(states=(TrialState.COMPLETE,)))
    assert 0 < complete < 20
    # Optuna marks the trial of the failed write as failed, if there is space for that.
    retry_interrupted(again, numbers=range(20))
    again.optimize(PROBLEMS["packed"], n_trials=20 - complete)
    values = [t.values for t in again.get_trials(states=(TrialState.COMPLETE,))]
    assert values == [t.values for t in expected.trials]


@pytest.mark.usefixtures("quick")
def test_a_read_only_file_is_named(tmp_path: Path, errors: pytest.LogCaptureFixture) -> None:
    file = tmp_path / "a.db"
    optuna.create_study(storage=optuna_mofs.storage(file), study_name="a")
    url = f"sqlite:///file:{file}?mode=ro&uri=true"
    opened = PatientStorage(url, skip_table_creation=True)
    study = optuna.load_study(study_name="a", storage=opened, sampler=RandomSampler(seed=0))
    with pytest.raises(StorageInternalError, match="Make the file and its folder writable"):
        study.ask()
    assert len(errors.messages) == 1


def test_a_damaged_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "a.db"
    file.write_bytes(b"no database" * 1000)
    with pytest.raises(Exception, match="file is not a database") as caught:
        optuna_mofs.storage(file)
    assert "Restore the file from a copy" in str(database_reason(caught.value))


def test_a_storage_is_pickled_with_its_patience(tmp_path: Path) -> None:
    storage = optuna_mofs.storage(tmp_path / "a.db", patience=7)
    storage.get_all_studies()
    again = pickle.loads(pickle.dumps(storage))
    assert again.patience == 7
    assert again.get_all_studies() == []


def test_an_estimator_shows_no_password() -> None:
    url = "postgresql://me:secret@host/db"
    search = FeatureSelectionSearchCV(GaussianNB(), storage=url, study_name="a")
    assert search.storage == url
    assert clone(search).storage == url
    for shown in (search, clone(search), make_pipeline(search)):
        assert "me:***@host" in repr(shown)
        assert "secret" not in repr(shown) + shown._repr_html_()


def test_other_errors_have_no_database_reason() -> None:
    assert database_reason(ValueError("no")) is None
    assert database_reason(StorageInternalError("why")) == "why"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///a.db", "sqlite:///a.db"),
        ("postgresql://me:se%40cret@host/db", "postgresql://me:***@host/db"),
        ("mysql+pymysql://me@host/db?password=secret", "mysql+pymysql://me@host/db?password=***"),
        ("postgresql://me:secret@host:port/db", "postgresql://***"),
        ("secret", "***"),
    ],
)
def test_passwords_are_hidden(url: str, shown: str) -> None:
    assert hide_password(url) == shown


# ---- a real server ------------------------------------------------------------------------------


@contextmanager
def _stopped(folder: Path) -> Iterator[None]:
    """Stop the server of a folder at once, as if its computer had lost power; start it again."""
    pid_file = folder / "data" / "postmaster.pid"
    pid = int(pid_file.read_text().split()[0])
    command = Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")[:-1]
    os.kill(pid, signal.SIGQUIT)
    deadline = time.monotonic() + 30
    while pid_file.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    yield
    owner = folder.stat().st_uid
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    _stopped.server = subprocess.Popen(  # type: ignore[attr-defined]
        command, user=owner if os.geteuid() == 0 else None, start_new_session=True, **quiet
    )


def test_a_real_server_is_gone_and_comes_back(errors: pytest.LogCaptureFixture) -> None:
    expected = make_study("packed", sampler=FilterEnsembleNSGA2Sampler(seed=0))
    expected.optimize(PROBLEMS["packed"], n_trials=20)
    away = float(os.environ.get("MOFS_OUTAGE", "2"))  # seconds
    with postgresql() as url:
        folder = Path(url.partition("host=")[2])
        sampler = FilterEnsembleNSGA2Sampler(seed=0)
        study = make_study(
            "packed", storage=optuna_mofs.storage(url), study_name="away", sampler=sampler
        )
        reached = threading.Event()

        def stop_and_start() -> None:
            reached.wait(60)
            with _stopped(folder):
                time.sleep(away)

        outage = threading.Thread(target=stop_and_start)
        outage.start()

        def objective(trial: optuna.Trial) -> tuple[float, ...]:
            if trial.number == 5:
                reached.set()
            if 5 <= trial.number < 15:
                time.sleep(0.05)  # so that the server stops within one of these trials
            return PROBLEMS["packed"](trial)

        try:
            study.optimize(objective, n_trials=20)
            outage.join()
            complete = study.get_trials(states=(TrialState.COMPLETE,))
            # A trial whose creation was repeated can leave one that never ran.
            assert [t.values for t in complete] == [t.values for t in expected.trials]
        finally:
            outage.join()
            _stopped.server.send_signal(signal.SIGQUIT)  # type: ignore[attr-defined]
            _stopped.server.wait(30)  # type: ignore[attr-defined]
    assert any("does not answer; waiting up to" in line for line in errors.messages)
    assert any("answers again after" in line for line in errors.messages)
