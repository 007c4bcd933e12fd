from __future__ import annotations

from collections.abc import Iterator

import optuna
import pytest


@pytest.fixture(autouse=True)
def _verbosity_restored() -> Iterator[None]:
    before = optuna.logging.get_verbosity()
    yield
    optuna.logging.set_verbosity(before)
