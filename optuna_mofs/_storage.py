"""Databases for studies, opened so that trials do not wait for the disk or for each other."""

from __future__ import annotations

import time
from os import PathLike, fspath
from typing import Any

from optuna.storages import RDBStorage

_MAX_ATTEMPTS = 6
#: Parts of the error messages in the slower of two processes that both create the tables.
_RACE_MESSAGES = ("already exists", "is locked", "UNIQUE constraint", "duplicate key")
_LOCK_TIMEOUT = 60  # seconds to wait for other writers of an SQLite file


def storage(database: str | PathLike[str], **options: Any) -> RDBStorage:
    """Open a database for studies, SQLite with a write-ahead log.

    By default, SQLite waits for the disk several times per suggestion, and workers for each other.
    With the log it appends, and reading does not wait for writing. What a trial has stored
    survives a killed process; after a power failure the last trials may be lost, but the file is
    intact. The log needs a local disk: on a network drive, use a database server.

    Args:
        database: Path of an SQLite file, which is created if it does not exist, or the URL of any
            database.
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
    from sqlalchemy.engine import make_url

    url = fspath(database)
    if "://" not in url:
        url = f"sqlite:///{url}"
    is_sqlite = make_url(url).get_backend_name() == "sqlite"
    if is_sqlite:
        engine_kwargs = dict(options.get("engine_kwargs") or {})
        connect_args = {"timeout": _LOCK_TIMEOUT, **engine_kwargs.get("connect_args", {})}
        options["engine_kwargs"] = {**engine_kwargs, "connect_args": connect_args}
    opened = _open_with_retries(url, options)
    if is_sqlite:
        _use_write_ahead_log(opened)
    return opened


def _open_with_retries(url: str, options: dict[str, Any]) -> RDBStorage:
    """Open a database; retry if another process is creating the same tables."""
    from sqlalchemy import exc

    for attempt in range(1, _MAX_ATTEMPTS):
        try:
            return RDBStorage(url, **options)
        except (exc.OperationalError, exc.IntegrityError) as error:
            if not any(message in str(error.orig) for message in _RACE_MESSAGES):
                raise
            time.sleep(0.1 * attempt)
    return RDBStorage(url, **options)


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
