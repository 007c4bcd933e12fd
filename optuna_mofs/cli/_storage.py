"""Opening a storage for a command: clear errors, and an SQLite that does not wait for the disk."""

from __future__ import annotations

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

from optuna_mofs.cli._errors import CommandError

_ATTEMPTS = 6
#: What databases say to the slower of two processes that make the same tables.
_RACE = ("already exists", "is locked", "UNIQUE constraint", "duplicate key")
#: Seconds. A worker says this often that it lives; one that was silent for long was cut off.
_HEARTBEAT = 10
_DEAD_AFTER = 60
_PATIENCE = 60  # seconds to wait for other writers of an SQLite file


def is_missing_file(url: str) -> bool:
    """Whether the storage is an SQLite file that is not there yet.

    Raises:
        CommandError: If the URL cannot be read.
    """
    with storage_errors(url):
        place = make_url(url)
        sqlite = place.get_backend_name() == "sqlite"
        return sqlite and bool(place.database) and not Path(str(place.database)).exists()


def open_storage(url: str, *, create: bool = True, heartbeat: bool = False) -> RDBStorage:
    """Open a database.

    Args:
        url: For example ``sqlite:///study.db``.
        create: Whether to make an SQLite file that is not there.
        heartbeat: Whether running trials say that they live, and those that no longer do are
            queued again.

    Raises:
        CommandError: If it cannot be opened.
    """
    with storage_errors(url):
        place = make_url(url)
        sqlite = place.get_backend_name() == "sqlite"
        if not create and is_missing_file(url):
            raise CommandError(
                f"There is no file {place.database!r} (storage {shown(url)}). "
                "Make a study in it by 'optuna-mofs run', or check --storage."
            )
        options: dict[str, Any] = {}
        if sqlite:
            options["engine_kwargs"] = {"connect_args": {"timeout": _PATIENCE}}
        if heartbeat:
            options |= {"heartbeat_interval": _HEARTBEAT, "grace_period": _DEAD_AFTER}
        try:
            storage = _patiently(url, options, retry=heartbeat)
        except (ImportError, RuntimeError) as error:  # no driver, or made by another version
            raise CommandError(f"Storage {shown(url)} failed: {error}") from error
        if storage.engine.dialect.name == "sqlite":
            _write_ahead(storage)
        return storage


def open_study(storage: RDBStorage, url: str, name: str | None) -> optuna.Study:
    """The study of that name, or the only one that there is.

    Args:
        storage: From :func:`open_storage`.
        url: Where it is, for messages.
        name: Of the study.

    Raises:
        CommandError: If there is no such study; those that are there are named.
    """
    with storage_errors(url):
        names = sorted(optuna.get_all_study_names(storage))
        if name is None and len(names) == 1:
            name = names[0]
        if name not in names:
            wanted = "no study" if name is None and not names else f"no study {name!r}"
            there = ", ".join(map(repr, names[:10])) + (" ..." if len(names) > 10 else "")
            if name is None and names:
                raise CommandError(
                    f"Storage {shown(url)} has {len(names)} studies, choose one by --study: "
                    f"{there}."
                )
            raise CommandError(
                f"Storage {shown(url)} has {wanted}" + (f"; there are {there}." if names else ".")
            )
        return optuna.load_study(study_name=name, storage=storage)


def close_connections(study: optuna.Study) -> None:
    """Close what is open to a study's database; the next query opens it again.

    The cursor of a query that was cut off lives on in the traceback. Its connection then sees the
    file as it was, and SQLite refuses to write by it once another process has written.
    """
    backend = getattr(study._storage, "_backend", study._storage)
    if isinstance(backend, RDBStorage):
        backend.engine.dispose()


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    """The trials that have values, not copied."""
    return study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))


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
    except (StorageInternalError, exc.SQLAlchemyError) as error:
        cause: BaseException = error
        if isinstance(error, StorageInternalError) and error.__cause__ is not None:
            cause = error.__cause__
        reason = cause.orig if isinstance(cause, exc.DBAPIError) and cause.orig else cause
        raise CommandError(f"Storage {shown(url)} failed: {reason}") from error


def _patiently(url: str, options: dict[str, Any], *, retry: bool) -> RDBStorage:
    """Try again when another process makes the same tables at the same moment."""
    for attempt in range(1, _ATTEMPTS):
        try:
            return _opened(url, options, retry)
        except (exc.OperationalError, exc.IntegrityError) as error:
            if not any(sign in str(error.orig) for sign in _RACE):
                raise
            time.sleep(0.1 * attempt)
    return _opened(url, options, retry)


def _opened(url: str, options: dict[str, Any], retry: bool) -> RDBStorage:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ExperimentalWarning)
        again = RetryHeartbeatStaleTrialCallback(max_retry=3) if retry else None
        return RDBStorage(url, heartbeat_stale_trial_callback=again, **options)


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
