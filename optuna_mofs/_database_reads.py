"""Read trials from a database with two plain statements.

Optuna loads trials as objects of SQLAlchemy, with seven statements. That takes much of a worker's
time, which reads the running trials of all others several times per trial. What is returned is the
same.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from optuna.distributions import BaseDistribution, json_to_distribution
from optuna.trial import FrozenTrial, TrialState

if TYPE_CHECKING:
    from sqlalchemy import Connection

#: Version of Optuna's tables that the statements are for; those of another one are read by Optuna.
SCHEMA = "v3.2.0.a"
#: Databases whose statements are known.
DIALECTS = ("sqlite", "postgresql", "mysql", "mariadb")
_MYSQL = ("mysql", "mariadb")
#: Trials whose parts are read by one statement.
_BLOCK = 2_000
_NUMBERS = {"INF_POS": float("inf"), "INF_NEG": float("-inf"), "NAN": float("nan")}
#: Kinds of parts: table, and its columns of identifier, key, number and text.
_PARTS = (
    ("trial_params", "param_id", "param_name", "param_value", "distribution_json"),
    ("trial_values", "trial_value_id", "objective", "value", "value_type"),
    ("trial_user_attributes", "trial_user_attribute_id", "key", None, "value_json"),
    ("trial_system_attributes", "trial_system_attribute_id", "key", None, "value_json"),
    (
        "trial_intermediate_values",
        "trial_intermediate_value_id",
        "step",
        "intermediate_value",
        "intermediate_value_type",
    ),
)


def read_study_trials(
    connection: Connection,
    study_id: int,
    states: Iterable[TrialState] | None = None,
    included_ids: Collection[int] = (),
    after_id: int = -1,
) -> list[FrozenTrial]:
    """Return trials of a study by their identifiers.

    Args:
        connection: Connection to the database.
        study_id: The study.
        states: States of the trials; None for all.
        included_ids: Identifiers of trials up to ``after_id`` that are read too.
        after_id: Trials with greater identifiers are read.
    """
    conditions = [f"study_id = {int(study_id)}"]
    if after_id > -1:
        which = f"trial_id > {int(after_id)}"
        listed = [trial_id for trial_id in included_ids if trial_id <= after_id]
        if listed:
            which = f"({which} OR trial_id IN ({_listed(listed)}))"
        conditions.append(which)
    if states is not None:
        names = ", ".join(f"'{state.name}'" for state in states)
        conditions.append(f"state IN ({names})" if names else "1 = 0")
    return list(_read(connection, " AND ".join(conditions)))


def read_trial(connection: Connection, trial_id: int) -> FrozenTrial | None:
    """Return a trial, or None if it does not exist."""
    return next(_read(connection, f"trial_id = {int(trial_id)}"), None)


def _read(connection: Connection, condition: str) -> Iterator[FrozenTrial]:
    # Conditions have whole numbers and names of states only.
    columns = "trial_id, number, state, datetime_start, datetime_complete"
    statement = f"SELECT {columns} FROM trials WHERE {condition} ORDER BY trial_id"  # nosec B608
    trials = connection.exec_driver_sql(statement).all()
    for begin in range(0, len(trials), _BLOCK):
        block = trials[begin : begin + _BLOCK]
        parts: dict[int, list[list[Any]]] = {
            trial_id: [[] for _ in _PARTS] for trial_id, *_ in block
        }
        # By kind and identifier: parameters are in the order in which they were suggested.
        rows = connection.exec_driver_sql(_statement(connection, list(parts)))
        for kind, trial_id, _, *part in sorted(rows, key=lambda row: (row[0], row[2])):
            parts[trial_id][kind].append(part)
        for trial_id, number, state, start, complete in block:
            yield _trial(trial_id, number, state, start, complete, *parts[trial_id])


def _statement(connection: Connection, ids: list[int]) -> str:
    return _template(connection.dialect.name).replace("IDS", _listed(ids))


def quoted(dialect: str, name: str) -> str:
    """Return the name of a column that may be a word of SQL.

    Example:
        >>> quoted("mysql", "key"), quoted("sqlite", "key")
        ('`key`', '"key"')
    """
    return f"`{name}`" if dialect in _MYSQL else f'"{name}"'


@lru_cache
def _template(dialect: str) -> str:
    """Return one statement for all parts of the trials ``IDS``."""
    text = "CHAR" if dialect in _MYSQL else "VARCHAR"
    selects = []
    for kind, (table, identifier, key, number, value) in enumerate(_PARTS):
        columns = [str(kind), "trial_id", identifier]
        is_name = key in ("param_name", "key")
        columns.append(quoted(dialect, key) if is_name else f"CAST({key} AS {text}(512))")
        # A value that is missing everywhere must have the type of the others.
        columns.append("NULL + 0.0e0" if number is None else number)
        columns.append(value if value.endswith("json") else f"CAST({value} AS {text}(512))")
        listed = ", ".join(columns)  # constants of this module
        selects.append(f"SELECT {listed} FROM {table} WHERE trial_id IN (IDS)")  # nosec B608
    return " UNION ALL ".join(selects)


def _listed(ids: Iterable[int]) -> str:
    return ",".join([str(int(trial_id)) for trial_id in ids])


def _trial(
    trial_id: int,
    number: int,
    state: str,
    start: Any,
    complete: Any,
    params: list[list[Any]],
    values: list[list[Any]],
    user: list[list[Any]],
    system: list[list[Any]],
    steps: list[list[Any]],
) -> FrozenTrial:
    distributions = {name: _distribution(text) for name, _, text in params}
    ordered = sorted(values, key=lambda part: int(part[0]))
    return FrozenTrial(
        number=number,
        state=TrialState[state],
        value=None,
        values=[_number(*part) for _, *part in ordered] or None,
        datetime_start=_local(start),
        datetime_complete=_local(complete),
        params={name: distributions[name].to_external_repr(value) for name, value, _ in params},
        distributions=distributions,
        user_attrs={key: json.loads(text) for key, _, text in user},
        system_attrs={key: json.loads(text) for key, _, text in system},
        intermediate_values={int(step): _number(*part) for step, *part in steps},
        trial_id=trial_id,
    )


@lru_cache(maxsize=4096)
def _distribution(text: str) -> BaseDistribution:
    return json_to_distribution(text)


def _number(value: float | None, kind: str) -> float:
    if kind in _NUMBERS:
        return _NUMBERS[kind]
    assert value is not None
    return value


def _local(stored: Any) -> datetime | None:
    """Return the local time of a time in UTC, which SQLite stores as text."""
    if stored is None:
        return None
    found = datetime.fromisoformat(stored) if isinstance(stored, str) else stored
    return found.replace(tzinfo=UTC).astimezone().replace(tzinfo=None)
