"""Write parts of trials to a database with one plain statement each.

Optuna writes objects of SQLAlchemy: it reads the trial first, and compares each part with the
database. Here, the statement itself has the condition that the trial is not finished. What is
stored is the same. A function that returns False has changed nothing: Optuna's own method then
finds out why, and raises the error.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, distribution_to_json
from optuna.trial import TrialState

from optuna_mofs._database_reads import quoted

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: How drivers write parameters of a statement; others write names or numbers.
STYLES = ("qmark", "format", "pyformat")
_IS_OPEN = "state IN ('RUNNING', 'WAITING')"


def insert_param(
    connection: Connection, trial_id: int, name: str, value: float, distribution: BaseDistribution
) -> bool:
    """Insert a parameter, in internal representation, of a trial that is not finished."""
    columns = ("param_name", "param_value", "distribution_json")
    part = (name, value, distribution_to_json(distribution))
    return _insert(connection, "trial_params", columns, trial_id, [part])


def insert_attrs(
    connection: Connection, trial_id: int, system: Mapping[str, Any], user: Mapping[str, Any]
) -> bool:
    """Insert attributes of a trial that is not finished."""
    columns = (quoted(connection.dialect.name, "key"), "value_json")
    written = True
    for table, attrs in (("trial_system_attributes", system), ("trial_user_attributes", user)):
        parts = [(key, json.dumps(value)) for key, value in attrs.items()]
        if parts and written:
            written = _insert(connection, table, columns, trial_id, parts)
    return written


def finish_trial(
    connection: Connection, trial_id: int, state: TrialState, values: Sequence[float] | None
) -> bool:
    """Set the state of a trial that is not finished, with its values."""
    from optuna.storages._rdb.models import TrialValueModel

    mark = _mark(connection)
    # Names of Optuna's states, whole numbers, and marks for all else.
    change = f"state = '{state.name}', datetime_complete = {mark}"
    statement = f"UPDATE trials SET {change} WHERE trial_id = {int(trial_id)} AND {_IS_OPEN}"  # nosec B608
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    if connection.exec_driver_sql(statement, (now,)).rowcount != 1:
        return False
    if values:
        rows = ", ".join([f"({int(trial_id)}, {mark}, {mark}, {mark})"] * len(values))
        stored: list[Any] = []
        for objective, value in enumerate(values):
            number, kind = TrialValueModel.value_to_stored_repr(value)
            stored += [objective, number, kind.name]
        columns = "(trial_id, objective, value, value_type)"
        insert = f"INSERT INTO trial_values {columns} VALUES {rows}"  # nosec B608
        connection.exec_driver_sql(insert, tuple(stored))
    return True


def _insert(
    connection: Connection,
    table: str,
    columns: tuple[str, ...],
    trial_id: int,
    parts: Sequence[tuple[Any, ...]],
) -> bool:
    """Insert rows of a table with parts of trials, whose first column is the trial."""
    marks = ", ".join([_mark(connection)] * len(columns))
    # Names of this package, whole numbers, and marks for all else.
    row = f"SELECT trial_id, {marks} FROM trials WHERE trial_id = {int(trial_id)} AND {_IS_OPEN}"  # nosec B608
    rows = " UNION ALL ".join([row] * len(parts))
    statement = f"INSERT INTO {table} (trial_id, {', '.join(columns)}) {rows}"
    given = tuple(value for part in parts for value in part)
    return connection.exec_driver_sql(statement, given).rowcount == len(parts)


def _mark(connection: Connection) -> str:
    return "?" if connection.dialect.paramstyle == "qmark" else "%s"
