"""Storages of commands: clear errors, retries, heartbeats, write-ahead log of SQLite."""

from __future__ import annotations

import shlex
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy import event, exc
from sqlalchemy.engine import make_url

from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._options import STORAGE

_MAX_ATTEMPTS = 6
#: Parts of the error messages in the slower of two processes that both create the tables.
_RACE_MESSAGES = ("already exists", "is locked", "UNIQUE constraint", "duplicate key")
_HEARTBEAT_INTERVAL = 10  # seconds
_GRACE_PERIOD = 60  # seconds without a heartbeat after which a trial counts as interrupted
_LOCK_TIMEOUT = 60  # seconds to wait for other writers of an SQLite file


def is_missing_file(url: str) -> bool:
    """Return whether the storage is an SQLite file that does not exist."""
    with storage_errors(url):
        parsed = make_url(url)
        is_sqlite = parsed.get_backend_name() == "sqlite"
        return is_sqlite and bool(parsed.database) and not Path(str(parsed.database)).exists()


def open_storage(url: str, *, create: bool = True, heartbeat: bool = False) -> RDBStorage:
    """Open a database, or raise a :exc:`CommandError`.

    Args:
        url: For example ``sqlite:///study.db``.
        create: Whether to create an SQLite file that does not exist.
        heartbeat: Whether running trials record heartbeats, and trials without a recent heartbeat
            are enqueued again.
    """
    with storage_errors(url):
        parsed = make_url(url)
        if not create and is_missing_file(url):
            raise CommandError(
                f"File {parsed.database!r} does not exist (storage {display_url(url)}). "
                "Create a study by 'optuna-mofs run', or check --storage."
            )
        options: dict[str, Any] = {}
        if parsed.get_backend_name() == "sqlite":
            options["engine_kwargs"] = {"connect_args": {"timeout": _LOCK_TIMEOUT}}
        try:
            with warnings.catch_warnings():
                # Heartbeats are experimental in Optuna. A user of the command cannot act on that.
                warnings.simplefilter("ignore", ExperimentalWarning)
                if heartbeat:
                    retry = RetryHeartbeatStaleTrialCallback(max_retry=3)
                    options |= {
                        "heartbeat_interval": _HEARTBEAT_INTERVAL,
                        "grace_period": _GRACE_PERIOD,
                        "heartbeat_stale_trial_callback": retry,
                    }
                storage = _open_with_retries(url, options)
        except (ImportError, RuntimeError) as error:  # no driver, or created by another version
            raise CommandError(f"Storage {display_url(url)} failed: {error}") from error
        if storage.engine.dialect.name == "sqlite":
            _use_write_ahead_log(storage)
        return storage


@contextmanager
def existing_study(url: str, name: str | None) -> Iterator[optuna.Study]:
    """Open a study to read it, with clear errors and without Optuna's logs."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with storage_errors(url):
        yield open_study(open_storage(url, create=False), url, name)


def open_study(storage: RDBStorage, url: str, name: str | None) -> optuna.Study:
    """Return a study; without a name, the only one. An error lists the studies that exist."""
    with storage_errors(url):
        names = sorted(optuna.get_all_study_names(storage))
        if name is None and len(names) == 1:
            name = names[0]
        if name is None and names:
            raise CommandError(
                f"Storage {display_url(url)} has {len(names)} studies. Choose one by --study: "
                + ", ".join(map(repr, names[:10]))
                + (" ..." if len(names) > 10 else ".")
            )
        if name not in names:
            wanted = "no study" if name is None else f"no study {name!r}"
            hint = "" if name is None else name_hint(name, names)
            raise CommandError(f"Storage {display_url(url)} has {wanted}.{hint}")
        return optuna.load_study(study_name=name, storage=storage)


def display_url(url: str) -> str:
    """Return a URL without its password.

    Example:
        >>> display_url("postgresql://me:secret@host/db")
        'postgresql://me:***@host/db'
    """
    return make_url(url).render_as_string(hide_password=True)


def study_options(study: optuna.Study, url: str) -> str:
    """Return the options that name a study, as typed in a shell."""
    storage = "" if url == STORAGE else f"--storage {shlex.quote(display_url(url))} "
    return f"{storage}--study {shlex.quote(study.study_name)}"


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn errors of a database into a :exc:`CommandError` that names the database."""
    try:
        yield
    except exc.ArgumentError as error:
        # The URL is not shown: if it cannot be parsed, it may still contain a password.
        raise CommandError(f"The storage URL cannot be read: {error}") from error
    except (StorageInternalError, exc.SQLAlchemyError) as error:
        cause: BaseException = error
        if isinstance(error, StorageInternalError) and error.__cause__ is not None:
            cause = error.__cause__
        reason = cause.orig if isinstance(cause, exc.DBAPIError) and cause.orig else cause
        raise CommandError(f"Storage {display_url(url)} failed: {reason}") from error


def _open_with_retries(url: str, options: dict[str, Any]) -> RDBStorage:
    """Open a database; retry if another process is creating the same tables."""
    for attempt in range(1, _MAX_ATTEMPTS):
        try:
            return RDBStorage(url, **options)
        except (exc.OperationalError, exc.IntegrityError) as error:
            if not any(message in str(error.orig) for message in _RACE_MESSAGES):
                raise
            time.sleep(0.1 * attempt)
    return RDBStorage(url, **options)


def _use_write_ahead_log(storage: RDBStorage) -> None:
    """Append to a log instead of syncing the file several times per suggestion.

    Committed data survives a killed process. After a power failure the last trials may be lost,
    but the file is not corrupted.
    """

    def set_pragmas(connection: Any, record: Any) -> None:
        cursor = connection.cursor()
        cursor.execute("PRAGMA journal_mode=WAL")
        cursor.execute("PRAGMA synchronous=NORMAL")
        cursor.close()

    event.listen(storage.engine, "connect", set_pragmas)
    # Connections that were opened to create the tables are reopened with the pragmas.
    storage.engine.dispose()
