"""Opening a storage for a command: clear errors, and an SQLite that does not wait for the disk."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from sqlalchemy import event, exc
from sqlalchemy.engine import make_url

from optuna_mofs.cli.errors import CommandError

_ATTEMPTS = 6
#: What databases say to the slower of two processes that make the same tables.
_RACE = ("already exists", "is locked", "UNIQUE constraint", "duplicate key")


def open_storage(url: str) -> RDBStorage:
    """Open a database, making the SQLite file if there is none.

    Args:
        url: For example ``sqlite:///study.db``.

    Raises:
        CommandError: If it cannot be opened.
    """
    with storage_errors(url):
        storage = _patiently(url)
        if storage.engine.dialect.name == "sqlite":
            _write_ahead(storage)
        return storage


def shown(url: str) -> str:
    """The URL as it may be printed: without its password.

    Example:
        >>> shown("postgresql://me:secret@host/db")
        'postgresql://me:***@host/db'
    """
    return make_url(url).render_as_string(hide_password=True)


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn what a database can fail with into one line that names the database."""
    try:
        yield
    except exc.ArgumentError as error:
        # Not printed back: what cannot be parsed may still hold a password.
        raise CommandError(f"The storage URL cannot be read: {error}") from error
    except (StorageInternalError, exc.SQLAlchemyError, ImportError, RuntimeError) as error:
        cause: BaseException = error
        if isinstance(error, StorageInternalError) and error.__cause__ is not None:
            cause = error.__cause__
        reason = cause.orig if isinstance(cause, exc.DBAPIError) and cause.orig else cause
        raise CommandError(f"Storage {shown(url)} failed: {reason}") from error


def _patiently(url: str) -> RDBStorage:
    """Try again when another process makes the same tables at the same moment."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return RDBStorage(url)
        except (exc.OperationalError, exc.IntegrityError) as error:
            if not any(sign in str(error.orig) for sign in _RACE):
                raise
            time.sleep(0.1 * attempt)
    return RDBStorage(url)


def _write_ahead(storage: RDBStorage) -> None:
    """Append to a log instead of syncing the file several times a suggestion.

    What was committed survives a killed process; after a power cut the last trials may be gone,
    but the file is whole.
    """

    def set_pragmas(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    event.listen(storage.engine, "connect", set_pragmas)
    # Connections that were opened to make the tables come back with the pragmas set.
    storage.engine.dispose()
