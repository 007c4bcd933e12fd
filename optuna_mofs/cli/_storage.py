"""Storages of commands: clear errors and heartbeats."""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import optuna
from optuna.exceptions import ExperimentalWarning, StorageInternalError
from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
from sqlalchemy import exc
from sqlalchemy.engine import make_url

from optuna_mofs._storage import storage
from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._options import STORAGE

_HEARTBEAT_INTERVAL = 10  # seconds
_GRACE_PERIOD = 60  # seconds without a heartbeat after which a trial counts as interrupted


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
        except (ImportError, RuntimeError) as error:  # no driver, or created by another version
            raise CommandError(f"Storage {display_url(url)} failed: {error}") from error


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
                f"Storage {display_url(url)} has {len(names)} studies. Choose one by --study: "
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
    return make_url(url).render_as_string(hide_password=True)


def study_options(study: optuna.Study, url: str) -> str:
    """Return the options that name a study, as typed in a shell."""
    where = "" if url == STORAGE else f"--storage {shlex.quote(display_url(url))} "
    return f"{where}--study {shlex.quote(study.study_name)}"


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
