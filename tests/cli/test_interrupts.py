from __future__ import annotations

import logging
import os
import signal

import pytest
import sqlalchemy

from optuna_mofs.cli.errors import Terminated
from optuna_mofs.cli.interrupts import Interrupts


@pytest.fixture(autouse=True)
def _hearing() -> None:
    # Whoever runs the tests in the background lets them ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_held_back_until_it_is_allowed() -> None:
    reached = []
    with Interrupts() as interrupts:
        _send(signal.SIGINT)
        reached.append("after the signal")
        with pytest.raises(KeyboardInterrupt), interrupts.allowed():
            reached.append("never")
        interrupts.check()
    assert reached == ["after the signal"]


def test_at_once_where_allowed() -> None:
    with Interrupts() as interrupts, interrupts.allowed(), pytest.raises(Terminated):
        _send(signal.SIGTERM)


def test_the_second_is_not_held_back() -> None:
    with Interrupts():
        _send(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            _send(signal.SIGINT)


def test_everything_is_as_before() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with Interrupts():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with Interrupts() as interrupts, interrupts.allowed():
            _send(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_query_that_is_cut_off_says_nothing(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("sqlalchemy.pool")
    before = logger.level
    engine = sqlalchemy.create_engine("sqlite://")
    try:
        with Interrupts() as interrupts, interrupts.allowed():
            with pytest.raises(KeyboardInterrupt):
                _send(signal.SIGINT)
            engine.pool.logger.error("Error closing cursor")
        assert not caplog.records
    finally:
        logger.setLevel(before)
