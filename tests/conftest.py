"""What all tests share: seeded randomness, quiet logs, quick databases."""

from __future__ import annotations

import random
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import optuna
import pytest
import sqlalchemy
from numpy.random import bit_generator
from optuna.samplers._lazy_random_state import LazyRandomState
from optuna.storages import RDBStorage

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")


class Entropy:
    """Replaces the operating system as the source of random bits.

    Every generator of NumPy that is created without a seed asks it for one, and so does every
    sampler of this package. The first draw of an unseeded Optuna sampler does too. A test that is
    marked ``unseeded`` gets bits that depend only on its name; any other test fails.
    """

    def __init__(self) -> None:
        #: Where bits come from; None in a test that must not ask for any.
        self.stream: random.Random | None = random.Random("imports")
        self.refused = False

    def randbits(self, k: int) -> int:
        """Return ``k`` bits, or raise in a test that is not marked."""
        if self.stream is None:
            self.refused = True
            raise UnseededError
        return self.stream.getrandbits(k)


class UnseededError(AssertionError):
    """A test draws random numbers that nobody can repeat."""

    def __init__(self) -> None:
        super().__init__(
            "This test draws random numbers without a seed. Give a seed to the sampler, study or "
            "generator, or mark the test with @pytest.mark.unseeded if it is about missing seeds."
        )


def _seeded(self: LazyRandomState, seed: int | None = None) -> None:
    # Optuna's own creates an unseeded generator first and seeds it afterwards.
    self._rng = None if seed is None else np.random.RandomState(seed)


entropy = Entropy()
secrets.randbits = entropy.randbits
bit_generator.randbits = entropy.randbits  # type: ignore[attr-defined]
LazyRandomState.__init__ = _seeded  # type: ignore[method-assign]


def _seed_global_generators() -> None:
    # Estimators of scikit-learn whose random_state is None draw from them.
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Provide random bits to a test that is marked ``unseeded``."""
    marked = item.get_closest_marker("unseeded") is not None
    entropy.stream = random.Random(item.nodeid) if marked else None
    try:
        return (yield)
    finally:
        entropy.stream = random.Random("imports")


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[None]:
    """Make a fixture independent of the tests and fixtures that ran before."""
    _seed_global_generators()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Make a test independent of those before; fail it for unseeded draws that it caught."""
    _seed_global_generators()
    entropy.refused = False
    yield
    if entropy.refused:
        raise UnseededError


@pytest.fixture(autouse=True)
def quiet_optuna() -> Iterator[None]:
    """Let Optuna log errors only."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture(scope="session")
def open_sqlite() -> Callable[[Path], RDBStorage]:
    """Return a function that opens SQLite files without waiting for the disk.

    Waiting for the disk takes most of the time of a trial.
    """

    def set_pragmas(connection: Any, _: Any) -> None:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA journal_mode=MEMORY")

    def opened(path: Path) -> RDBStorage:
        storage = RDBStorage(f"sqlite:///{path}")
        sqlalchemy.event.listen(storage.engine, "connect", set_pragmas)
        storage.engine.dispose()
        return storage

    return opened
