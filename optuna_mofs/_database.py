"""Failing databases: wait until a server is back, and describe errors in one line."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, TypeVar

import optuna
from optuna.distributions import BaseDistribution, check_distribution_compatibility
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._database_reads import DIALECTS, SCHEMA, read_study_trials, read_trial
from optuna_mofs._database_writes import STYLES, finish_trial, insert_attrs, insert_param

if TYPE_CHECKING:
    from sqlalchemy import Connection
    from sqlalchemy.engine import URL

T = TypeVar("T")
_logger = optuna.logging.get_logger("optuna.mofs")

#: Seconds to wait for a database server that does not answer.
PATIENCE = 120.0
UNREADABLE_URL = (
    "The storage URL cannot be read. Expected DIALECT://USER:PASSWORD@HOST:PORT/NAME, with "
    "special characters of the password as %-codes (@ is %40), or sqlite:///FILE."
)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
#: Names of query parameters of a URL that can hold a secret.
_SECRETS = ("password", "passwd", "pwd", "secret", "token", "sslpassword", "passfile")
#: Parts of messages of databases, and the remedy.
_REMEDIES = (
    (("disk is full", "No space left", "disk quota"), "Free disk space"),
    (("readonly", "read-only"), "Make the file and its folder writable"),
    (("is locked",), "End the process that has locked the file"),
    (("unable to open",), "Check that the folder exists and is writable"),
    (("malformed", "not a database"), "Restore the file from a copy: it is damaged"),
)
#: Methods that run a transaction, including those that Optuna's cache calls.
_METHODS = (
    "create_new_study",
    "delete_study",
    "set_study_user_attr",
    "set_study_system_attr",
    "get_study_id_from_name",
    "get_study_name_from_id",
    "get_study_directions",
    "get_study_user_attrs",
    "get_study_system_attrs",
    "get_all_studies",
    "create_new_trial",
    "_create_new_trial",
    "set_trial_param",
    "_set_trial_param",
    "set_trial_intermediate_value",
    "set_trial_user_attr",
    "set_trial_system_attr",
    "get_trial_id_from_study_id_trial_number",
    "get_trial",
    "get_all_trials",
    "_get_trials",
    "_get_best_trial_id",
    "record_heartbeat",
    "_get_stale_trial_ids",
)


class PatientStorage(RDBStorage):
    """A database whose server may be away for a while.

    Every transaction is tried again, with growing pauses, for up to two minutes. A transaction
    whose end is not known is repeated too. That loses nothing: attributes and parameters are
    written again, a trial that was told twice keeps its values, and a trial that was created twice
    stays running without a process, as after a crash.
    """

    #: Seconds to wait for the server.
    patience = PATIENCE

    def patiently(self, run: Callable[[], T]) -> T:
        """Run a transaction, and repeat it while the server does not answer."""
        busy = self.__dict__.setdefault("_busy", threading.local())
        if getattr(busy, "inside", False):
            return run()  # a method that is part of another one
        busy.inside = True
        try:
            return self._repeat(run)
        finally:
            busy.inside = False

    def _repeat(self, run: Callable[[], T]) -> T:
        begin, pause, has_failed = time.monotonic(), _FIRST_PAUSE, False
        is_server = self.engine.dialect.name != "sqlite"
        while True:
            try:
                found = run()
            except Exception as error:
                reason = database_reason(error)
                if reason is None:
                    raise
                left = begin + self.patience - time.monotonic()
                where = f"Database {hide_password(self.url)}"
                if not self._may_pass(error) or left <= 0:
                    text = f"{where} failed: {reason}"
                    _logger.error(text)
                    raise StorageInternalError(text) from error
                # Locks of SQLite are released within moments.
                if not has_failed and (is_server or pause > 1):
                    has_failed = True
                    _logger.error(f"{where} does not answer; waiting up to {left:.0f} seconds.")
                time.sleep(min(pause, left))
                pause = min(2 * pause, _LONGEST_PAUSE)
            else:
                if has_failed:
                    seconds = time.monotonic() - begin
                    _logger.warning(f"{where} answers again after {seconds:.0f} seconds.")
                return found

    def _may_pass(self, error: BaseException) -> bool:
        """Return whether an error can go away by itself."""
        from sqlalchemy.exc import InterfaceError, OperationalError

        found = _database_error(error)
        if self.engine.dialect.name == "sqlite":
            # It waits for locks itself, unless another process wrote after this one had read.
            return "is locked" in str(found)
        return isinstance(found, OperationalError | InterfaceError) or bool(
            getattr(found, "connection_invalidated", False)
        )

    def set_trial_state_values(
        self, trial_id: int, state: TrialState, values: Sequence[float] | None = None
    ) -> bool:
        """Set state and values; the same ones a second time if the first end is not known."""
        n_attempts = 0

        def tell() -> bool:
            nonlocal n_attempts
            n_attempts += 1
            try:
                if self._finish(trial_id, state, values):
                    return True
                return super(PatientStorage, self).set_trial_state_values(trial_id, state, values)
            except UpdateFinishedTrialError:
                trial = self.get_trial(trial_id)
                given = None if values is None else list(values)
                if n_attempts == 1 or trial.state != state or trial.values != given:
                    raise
                return True

        return self.patiently(tell)

    def _finish(self, trial_id: int, state: TrialState, values: Sequence[float] | None) -> bool:
        """Set the state of a finished trial, and return whether Optuna need not do so."""
        from sqlalchemy.exc import IntegrityError

        if state.is_finished() and self._is_known:
            with suppress(IntegrityError), self.engine.connect() as connection:
                if finish_trial(connection, trial_id, state, values):
                    connection.commit()
                    return True
        return False

    def _set_trial_param(
        self,
        trial_id: int,
        param_name: str,
        param_value_internal: float,
        distribution: BaseDistribution,
        previous_distribution: BaseDistribution | None,
    ) -> None:
        """Set a parameter, of which this process knows the distribution in earlier trials."""
        from sqlalchemy.exc import IntegrityError

        if previous_distribution is not None and self._is_known:
            check_distribution_compatibility(previous_distribution, distribution)
            with suppress(IntegrityError), self._single_statements() as connection:
                part = (param_name, param_value_internal, distribution)
                if insert_param(connection, trial_id, *part):
                    return
        # Optuna's own method also raises the error if there is one.
        super()._set_trial_param(
            trial_id, param_name, param_value_internal, distribution, previous_distribution
        )

    def add_trial_attrs(
        self, trial_id: int, system: Mapping[str, Any], user: Mapping[str, Any]
    ) -> bool:
        """Add attributes in one transaction, and return whether the trial had none of them."""
        from sqlalchemy.exc import IntegrityError

        if not self._is_known:
            return False

        def add() -> bool:
            with suppress(IntegrityError), self.engine.connect() as connection:
                if insert_attrs(connection, trial_id, system, user):
                    connection.commit()
                    return True
            return False

        return self.patiently(add)

    def get_trial(self, trial_id: int) -> FrozenTrial:
        """Return a trial."""
        found = None
        if self._is_known:
            with self._single_statements() as connection:
                found = read_trial(connection, trial_id)
        # Optuna's own method raises the error for a trial that does not exist.
        return super().get_trial(trial_id) if found is None else found

    def _get_trials(
        self,
        study_id: int,
        states: Container[TrialState] | None,
        included_trial_ids: set[int],
        trial_id_greater_than: int,
    ) -> list[FrozenTrial]:
        """Return all trials, or those with greater identifiers and the included ones."""
        found = []
        if self._is_known:
            chosen = None if states is None else [s for s in TrialState if s in states]
            with self._single_statements() as connection:
                found = read_study_trials(
                    connection, study_id, chosen, included_trial_ids, trial_id_greater_than
                )
        if found:
            return found
        return super()._get_trials(study_id, states, included_trial_ids, trial_id_greater_than)

    @functools.cached_property
    def _is_known(self) -> bool:
        """Whether the statements fit this kind of database and this version of Optuna's tables."""
        dialect = self.engine.dialect
        is_known = dialect.name in DIALECTS and dialect.paramstyle in STYLES
        return is_known and self.get_head_version() == SCHEMA

    @contextmanager
    def _single_statements(self) -> Iterator[Connection]:
        """Connect without transactions: with some drivers, their begin and end wait for a server.

        Servers show each statement what has been committed before it, also within a transaction.
        """
        with self.engine.connect() as connection:
            yield connection.execution_options(isolation_level="AUTOCOMMIT")

    def __getstate__(self) -> dict[Any, Any]:
        return {key: value for key, value in super().__getstate__().items() if key != "_busy"}


def _patient(name: str) -> Callable[..., Any]:
    method = getattr(PatientStorage, name)

    @functools.wraps(method)
    def call(self: PatientStorage, *args: Any, **options: Any) -> Any:
        return self.patiently(lambda: method(self, *args, **options))

    return call


for _name in _METHODS:
    setattr(PatientStorage, _name, _patient(_name))


def _database_error(error: BaseException) -> Any:
    """Return the error of SQLAlchemy behind an error, or None."""
    from sqlalchemy.exc import SQLAlchemyError

    seen: BaseException | None = error
    for _ in range(10):
        if seen is None or isinstance(seen, SQLAlchemyError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def database_reason(error: BaseException) -> str | None:
    """Return in one line why a database failed, with the remedy; None for any other error.

    Optuna raises an :exc:`AssertionError` if a trial can neither be completed nor marked as
    failed; the reason is then the error before it.
    """
    if isinstance(error, StorageInternalError) and str(error).startswith("Database "):
        return str(error).partition(" failed: ")[2]
    if isinstance(error, AssertionError) and error.__context__ is not None:
        return database_reason(error.__context__)
    found = _database_error(error)
    is_storage = isinstance(error, StorageInternalError)
    if found is None or not (is_storage or found is error):
        return str(error.__cause__ or error) if is_storage else None
    reason = " ".join(str(getattr(found, "orig", None) or found).split())
    for parts, remedy in _REMEDIES:
        if any(part in reason for part in parts):
            return f"{reason}. {remedy}, then run again; completed trials are kept."
    return reason


class HiddenURL(str):
    """The URL of a database that shows no password where it is printed as an argument."""

    def __repr__(self) -> str:
        return repr(hide_password(str(self)))


def hide_url(given: T) -> T | HiddenURL:
    """Return a URL as :class:`HiddenURL`, and everything else as it is.

    Example:
        >>> [hide_url("postgresql://me:secret@host/db")], hide_url(None)
        (['postgresql://me:***@host/db'], None)
    """
    is_url = isinstance(given, str) and not isinstance(given, HiddenURL) and "://" in given
    return HiddenURL(given) if is_url else given


def parse_url(url: str) -> URL:
    """Return the parts of a URL; the error neither shows the URL nor the reason.

    Parts of it may be a password, with a slash for example, and are in the reason too.
    """
    from sqlalchemy.engine import make_url

    with suppress(Exception):
        return make_url(url)
    raise ValueError(UNREADABLE_URL)


def hide_password(url: str) -> str:
    """Return a URL without its passwords.

    Example:
        >>> hide_password("postgresql://me:secret@host/db?sslpassword=other")
        'postgresql://me:***@host/db?sslpassword=***'
    """
    try:
        parsed = parse_url(url)
    except ValueError:  # what cannot be parsed may still contain a password
        return f"{url.partition('://')[0]}://***" if "://" in url else "***"
    hidden = dict.fromkeys(_SECRETS, "***")
    query = {name: hidden.get(name.lower(), value) for name, value in parsed.query.items()}
    shown = parsed.set(query=query).render_as_string(hide_password=True)
    return shown.replace("%2A%2A%2A", "***")
