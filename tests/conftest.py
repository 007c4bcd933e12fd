"""What all tests share."""

from __future__ import annotations

from collections.abc import Iterator

import optuna
import pytest


@pytest.fixture(autouse=True)
def quiet_optuna() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)
