"""What all tests share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.storages import RDBStorage


@pytest.fixture(autouse=True)
def quiet_optuna() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="session")
def open_sqlite() -> Callable[[Path], RDBStorage]:
    """Opens SQLite files without waiting for the disk, which is most of the time of a trial."""

    def hurry(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    def opened(path: Path) -> RDBStorage:
        storage = RDBStorage(f"sqlite:///{path}")
        sqlalchemy.event.listen(storage.engine, "connect", hurry)
        storage.engine.dispose()
        return storage

    return opened
