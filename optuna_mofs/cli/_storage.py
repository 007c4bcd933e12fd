"""Storages of commands: clear errors and heartbeats."""

from __future__ import annotations

import logging
import os
import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy import exc
from sqlalchemy.engine import URL

from optuna_mofs._database import UNREADABLE_URL, database_reason, hide_password, parse_url
from optuna_mofs._storage import storage
from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._options import STORAGE

_HEARTBEAT_INTERVAL = 10  # seconds
_GRACE_PERIOD = 60  # seconds without a heartbeat after which a trial counts as interrupted


def is_missing_file(url: str) -> bool:
    """Return whether the storage is an SQLite file that does not exist."""
    with storage_errors(url):
        parsed = _parsed(url)
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
        parsed = _parsed(url)
        if not create and is_missing_file(url):
            raise CommandError(
                f"File {parsed.database!r} does not exist (storage {display_url(url)}). "
                "Create a study by 'optuna-mofs run', or check --storage."
            )
        options: dict[str, Any] = {}
        if not create and _is_read_only(parsed):
            return _open_read_only(parsed)
        try:
            with warnings.catch_warnings():
                # Heartbeats are experimental in Optuna. A user of the command cannot act on that.
                warnings.simplefilter("ignore", ExperimentalWarning)
                if heartbeat:
                    retry = RetryHeartbeatStaleTrialCallback(max_retry=3)
                    options = {
                        "heartbeat_interval": _HEARTBEAT_INTERVAL,
                        "grace_period": _GRACE_PERIOD,
                        "heartbeat_stale_trial_callback": retry,
                    }
                return storage(url, **options)
        except ValueError as error:
            raise CommandError(str(error)) from None
        except (ImportError, RuntimeError) as error:  # no driver, or created by another version
            raise CommandError(f"Storage {display_url(url)} failed: {error}") from error


def _is_read_only(url: URL) -> bool:
    """Return whether the storage is an SQLite file that this user may only read."""
    is_file = url.get_backend_name() == "sqlite" and bool(url.database)
    return is_file and not os.access(str(url.database), os.W_OK)


def _open_read_only(url: URL) -> RDBStorage:
    # Immutable: the log of a database cannot be created in a folder that is read-only too.
    file = quote(str(Path(str(url.database)).absolute()))
    return RDBStorage(
        f"sqlite:///file:{file}?mode=ro&immutable=1&uri=true", skip_table_creation=True
    )


@contextmanager
def existing_study(url: str, name: str | None) -> Iterator[optuna.Study]:
    """Open a study to read it, with clear errors and without Optuna's logs."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with storage_errors(url):
        yield open_study(open_storage(url, create=False), url, name)


def open_study(opened: RDBStorage, url: str, name: str | None) -> optuna.Study:
    """Return a study; without a name, the only one. An error lists the studies that exist."""
    with storage_errors(url):
        names = sorted(optuna.get_all_study_names(opened))
        if name is None and len(names) == 1:
            name = names[0]
        if name is None and names:
            raise CommandError(
                f"Storage {display_url(url)} has {len(names)} studies. Choose one with --study: "
                + ", ".join(map(repr, names[:10]))
                + (" ..." if len(names) > 10 else ".")
            )
        if name not in names:
            wanted = "no study" if name is None else f"no study {name!r}"
            hint = "" if name is None else name_hint(name, names)
            raise CommandError(f"Storage {display_url(url)} has {wanted}.{hint}")
        return optuna.load_study(study_name=name, storage=opened)


def display_url(url: str) -> str:
    """Return a URL without its password.

    Example:
        >>> display_url("postgresql://me:secret@host/db")
        'postgresql://me:***@host/db'
    """
    return hide_password(url)


def study_options(study: optuna.Study, url: str) -> str:
    """Return the options that name a study, as typed in a shell."""
    where = "" if url == STORAGE else f"--storage {shlex.quote(display_url(url))} "
    return f"{where}--study {shlex.quote(study.study_name)}"


@contextmanager
def storage_errors(url: str) -> Iterator[None]:
    """Turn errors of a database into a :exc:`CommandError` that names the database."""
    logger = optuna.logging.get_logger("optuna.mofs")
    repeated = partial(_is_not_repeated)  # one of its own, since these contexts are nested
    logger.addFilter(repeated)
    try:
        yield
    except exc.ArgumentError:
        raise CommandError(UNREADABLE_URL) from None
    except (StorageInternalError, exc.SQLAlchemyError, AssertionError) as error:
        reason = database_reason(error)
        if reason is None:
            raise
        raise CommandError(f"Storage {hide_password(url)} failed: {reason}") from error
    finally:
        logger.removeFilter(repeated)


def _parsed(url: str) -> URL:
    try:
        return parse_url(url)
    except ValueError:
        raise CommandError(UNREADABLE_URL) from None


def _is_not_repeated(record: logging.LogRecord) -> bool:
    # The command itself prints this line.
    text = record.getMessage()
    return not (text.startswith("Database ") and " failed: " in text)
