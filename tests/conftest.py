"""Shared by all tests: seeded randomness, quiet logs, quick databases, short studies."""

from __future__ import annotations

import os
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

import optuna_mofs._api  # noqa: F401  (imports may draw random numbers, tests may not)

os.environ["OPTUNA_MOFS_CACHE"] = "0"  # tests must not write into the cache of the user
hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True)
hypothesis.settings.load_profile("repeatable")


class UnseededError(AssertionError):
    """A test draws random numbers without a seed."""

    def __init__(self) -> None:
        super().__init__(
            "This test draws random numbers without a seed. Give a seed to the sampler, study or "
            "generator, or mark the test with @pytest.mark.unseeded if it is about missing seeds."
        )


class Entropy:
    """Replaces the operating system as the source of random bits.

    NumPy's generators, Optuna's samplers (at their first draw) and ours get their bits here if
    they have no seed. In a test this is an error unless the test is marked ``unseeded``; its bits
    then depend only on its name.
    """

    def __init__(self) -> None:
        self.begin("imports", allowed=True)

    def begin(self, name: str, *, allowed: bool) -> None:
        """Begin a test."""
        self._stream = random.Random(name)
        self._allowed = allowed
        self.has_failed = False

    def check(self) -> None:
        """Raise if the current test must not draw without a seed."""
        if not self._allowed:
            self.has_failed = True
            raise UnseededError

    def checked_bits(self, k: int) -> int:
        """Return ``k`` bits if the current test may draw without a seed."""
        self.check()
        return self._stream.getrandbits(k)

    def bits(self, k: int) -> int:
        """Return ``k`` bits. NumPy also draws them where a seed or a state is set later."""
        return self._stream.getrandbits(k)


entropy = Entropy()
secrets.randbits = entropy.checked_bits
bit_generator.randbits = entropy.bits  # type: ignore[attr-defined]

_default_rng = np.random.default_rng
_RandomState = np.random.RandomState


def default_rng(seed: Any = None) -> np.random.Generator:
    """Replace ``np.random.default_rng``."""
    if seed is None:
        entropy.check()
    return _default_rng(seed)


class _AnyRandomState(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, _RandomState)


class RandomState(_RandomState, metaclass=_AnyRandomState):  # type: ignore[misc]
    """Replace ``np.random.RandomState``."""

    def __init__(self, seed: Any = None) -> None:
        if seed is None:
            entropy.check()
        super().__init__(seed)


def _seed_lazily(self: LazyRandomState, seed: int | None = None) -> None:
    # Optuna creates an unseeded generator first and seeds it afterwards.
    self._rng = None if seed is None else np.random.RandomState(seed)


np.random.default_rng = default_rng
np.random.RandomState = RandomState  # type: ignore[misc]
LazyRandomState.__init__ = _seed_lazily  # type: ignore[method-assign]

#: Tests of the conformance suite about missing seeds. The suite cannot rely on our marker.
_UNSEEDED = ("test_a_drawn_seed_is_kept_in_the_study", "test_one_sampler_serves_two_studies")


def _seed_global_generators() -> None:
    # Estimators of scikit-learn draw from them if their random_state is None.
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Raise on unseeded draws, unless the test is marked."""
    is_marked = item.get_closest_marker("unseeded") is not None
    allowed = is_marked or getattr(item, "originalname", None) in _UNSEEDED
    entropy.begin(item.nodeid, allowed=allowed)
    try:
        return (yield)
    finally:
        entropy.begin("imports", allowed=True)


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup() -> Iterator[None]:
    """Make a fixture independent of the tests and fixtures that ran before."""
    _seed_global_generators()
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Iterator[None]:
    """Make a test independent of those before it; fail it even if it caught the error."""
    _seed_global_generators()
    yield
    if entropy.has_failed:
        raise UnseededError


@pytest.fixture(autouse=True)
def quiet_optuna() -> Iterator[None]:
    """Let Optuna log errors only."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


@pytest.fixture
def few_trials(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run code of the documentation in an empty folder, with at most eight trials per call."""
    optimize = optuna.Study.optimize

    def optimize_less(self: optuna.Study, func: Any, n_trials: int, **options: Any) -> None:
        optimize(self, func, n_trials=min(n_trials, 8), **options)

    monkeypatch.setattr(optuna.Study, "optimize", optimize_less)
    monkeypatch.chdir(tmp_path)


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
