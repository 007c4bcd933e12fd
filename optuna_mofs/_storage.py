"""Storages for studies that do not wait for the disk, and lose nothing if it or a server fails."""

from __future__ import annotations

import errno
import json
import os
import time
from os import PathLike
from typing import Any

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import BaseStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend, JournalFileSymlinkLock

from optuna_mofs._database import (
    PATIENCE,
    UNREADABLE_URL,
    PatientStorage,
    database_reason,
    hide_password,
    parse_url,
)
from optuna_mofs._validation import check_float

_logger = optuna.logging.get_logger("optuna.mofs")

_MAX_ATTEMPTS = 6
_BLOCK = 65_536  # bytes
#: Parts of the error messages in the slower of two processes that both create the tables, in
#: SQLite, PostgreSQL and MySQL.
_RACE_MESSAGES = (
    "already exists",
    "is locked",
    "UNIQUE constraint",
    "duplicate key",
    "Duplicate entry",
)
_LOCK_TIMEOUT = 60  # seconds to wait for other writers of an SQLite file


def storage(
    database: str | PathLike[str], *, patience: float = PATIENCE, **options: Any
) -> RDBStorage:
    """Open a database for studies, SQLite with a write-ahead log.

    By default, SQLite waits for the disk several times per suggestion, and workers for each other.
    With the log it appends, and reading does not wait for writing. What a trial has stored
    survives a killed process; after a power failure the last trials may be lost, but the file is
    intact. The log needs a local disk: on a network drive, use a database server.

    Workers may open a new, empty database at the same moment. Optuna alone raises an error in
    those that find the tables half created.

    Args:
        database: Path of an SQLite file, which is created if it does not exist, or the URL of any
            database.
        patience: Seconds to wait for a database server that does not answer, with growing pauses.
        options: Passed to :class:`optuna.storages.RDBStorage`.

    Example:
        >>> import tempfile, optuna
        >>> from pathlib import Path
        >>> import optuna_mofs
        >>> file = Path(tempfile.mkdtemp()) / "mofs.db"
        >>> study = optuna.create_study(storage=optuna_mofs.storage(file), study_name="wine")
        >>> study.set_user_attr("rows", 178)
        >>> optuna.load_study(study_name="wine", storage=optuna_mofs.storage(file)).user_attrs
        {'rows': 178}
    """
    url = _file_name(database)
    if "://" not in url:
        if wrong := next((c for c in "?{}" if c in url), None):
            raise ValueError(
                f"The name of an SQLite file must not have {wrong!r}, which has a meaning in the "
                f"URL of a storage, got {url!r}. Rename the file."
            )
        url = f"sqlite:///{url}"
    parsed = parse_url(url)
    is_sqlite = parsed.get_backend_name() == "sqlite"
    if is_sqlite:
        engine_kwargs = dict(options.get("engine_kwargs") or {})
        connect_args = {"timeout": _LOCK_TIMEOUT, **engine_kwargs.get("connect_args", {})}
        options["engine_kwargs"] = {**engine_kwargs, "connect_args": connect_args}
    seconds = check_float("patience", patience, 0)
    opened = _open(url, options)
    opened.patience = seconds
    if is_sqlite and parsed.database not in (None, "", ":memory:"):
        _use_write_ahead_log(opened)
    return opened


def open_url(given: str | BaseStorage | None) -> BaseStorage | None:
    """Return a storage: that of a URL as :func:`storage` opens it.

    Example:
        >>> open_url("sqlite://").get_all_studies()
        []
    """
    if not isinstance(given, str):
        return given
    # Optuna knows other storages, such as those of redis.
    is_database = "://" not in given or not given.startswith("redis")
    return storage(given) if is_database else optuna.storages.get_storage(given)


def journal(file: str | PathLike[str]) -> JournalStorage:
    """Open a journal file for studies, which also works on network drives.

    If the disk is full, or a computer stops while it writes, a journal ends with half a line.
    With Optuna's own backend, the next line is appended to it, and no study of the file can be
    read again. Here, half a line is removed before the next one is written.

    Args:
        file: Path of the file, which is created if it does not exist.

    Example:
        >>> import tempfile, optuna
        >>> from pathlib import Path
        >>> import optuna_mofs
        >>> file = Path(tempfile.mkdtemp()) / "mofs.log"
        >>> study = optuna.create_study(storage=optuna_mofs.journal(file), study_name="wine")
        >>> optuna.load_study(study_name="wine", storage=optuna_mofs.journal(file)).study_name
        'wine'
    """
    name = _file_name(file)
    if "://" in name:
        raise ValueError(
            "A journal is a file, not a URL. Pass a path, or use optuna_mofs.storage."
        )
    try:
        _check_journal(name)
        return JournalStorage(JournalFile(name))
    except (AssertionError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ValueError(
            f"File {name!r} is not a journal, or it was altered. Pass another file; SQLite files "
            "are opened by optuna_mofs.storage."
        ) from error


def _check_journal(name: str) -> None:
    """Raise if a file is none: the part of it after the last end of a line would be removed."""
    if os.path.exists(name):
        with open(name, "rb") as file:
            if file.read(1) not in (b"", b"{"):
                raise ValueError("A journal begins with {.")


class JournalFile(JournalFileBackend):
    """A journal file whose last line is always whole.

    Args:
        path: Path of the file.
        grace_period: Seconds after which the lock of another process is taken as that of a
            process that was killed.
    """

    def __init__(self, path: str, grace_period: int = 30) -> None:
        self._mutex = JournalFileSymlinkLock(path, grace_period)
        self._journal = path
        super().__init__(path, self._mutex)

    def append_logs(self, logs: list[dict[str, Any]]) -> None:
        """Append lines, or none of them."""
        lines = "".join(json.dumps(log, separators=(",", ":")) + "\n" for log in logs).encode()
        try:
            self._mutex.acquire()
            try:
                _append(self._journal, lines)
            finally:
                self._mutex.release()
        except OSError as error:
            text = f"Journal {self._journal} failed: {error.strerror}."
            if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                text += " Free disk space, then run again; completed trials are kept."
            _logger.error(text)
            raise StorageInternalError(text) from error


def _append(path: str, lines: bytes) -> None:
    with open(path, "r+b", buffering=0) as file:
        size = _whole_lines(file)
        file.truncate(size)
        file.seek(size)
        try:
            while lines:
                lines = lines[file.write(lines) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise


def _whole_lines(file: Any) -> int:
    """Return the size of a file without half a line at its end."""
    size: int = file.seek(0, os.SEEK_END)
    end = size
    while end > 0:
        begin = max(0, end - _BLOCK)
        file.seek(begin)
        found = file.read(end - begin).rfind(b"\n")
        if found >= 0:
            return begin + int(found) + 1
        end = begin
    return 0


def _file_name(given: str | PathLike[str]) -> str:
    name = os.fsdecode(given) if isinstance(given, str | bytes | PathLike) else None
    if not name or "\0" in name:
        raise ValueError(f"Expected the name of a file or a URL, got {given!r}.")
    return name


def _open(url: str, options: dict[str, Any]) -> PatientStorage:
    """Open a database; an error is one line without the password."""
    from sqlalchemy.exc import ArgumentError, SQLAlchemyError

    try:
        return _open_with_retries(url, options)
    except (ArgumentError, LookupError, ValueError):  # braces: Optuna formats the URL
        raise ValueError(UNREADABLE_URL) from None
    except ImportError as error:
        raise ImportError(
            f"The driver of {parse_url(url).drivername} is not installed. Run pip install "
            "'optuna-mofs[databases]'. URLs of MySQL then begin with mysql+pymysql://."
        ) from error
    except SQLAlchemyError as error:
        text = f"Database {hide_password(url)} failed: {database_reason(error)}"
        raise StorageInternalError(text) from error


def _open_with_retries(url: str, options: dict[str, Any]) -> PatientStorage:
    """Open a database; retry if another process is creating the same tables."""
    from sqlalchemy import exc

    for attempt in range(1, _MAX_ATTEMPTS):
        try:
            return PatientStorage(url, **options)
        except exc.DBAPIError as error:
            if not any(message in str(error.orig) for message in _RACE_MESSAGES):
                raise
            time.sleep(0.1 * attempt)
    return PatientStorage(url, **options)


def _use_write_ahead_log(opened: RDBStorage) -> None:
    from sqlalchemy import event

    def set_pragmas(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    event.listen(opened.engine, "connect", set_pragmas)
    # Connections that were opened to create the tables are reopened with the pragmas.
    opened.engine.dispose()
