"""What happens to a worker's trial when it is stopped."""

from __future__ import annotations

import io
import logging
import os
import signal
from pathlib import Path
from typing import Any

import optuna
import pytest
import sqlalchemy
from optuna.trial import Trial, TrialState

from optuna_mofs.cli._errors import Terminated
from optuna_mofs.cli._storage import open_storage
from optuna_mofs.cli._worker import Interrupts, Progress, work


def test_a_query_that_was_cut_off_does_not_lock_its_own_process_out(tmp_path: Path) -> None:
    storage, another = (open_storage(f"sqlite:///{tmp_path}/a.db") for _ in range(2))
    study = optuna.create_study(storage=storage, study_name="a")
    for _ in range(3):
        study.ask()
    half_read: list[Any] = []

    def stopped(trial: Trial) -> float:
        # Ctrl-C in the middle of a query: the traceback keeps its cursor, half read, and the
        # connection, with a view of the file that is old as soon as another process writes.
        pooled = storage.engine.raw_connection()
        assert pooled.driver_connection is not None
        half_read.append(pooled.driver_connection.execute("SELECT trial_id FROM trials"))
        half_read[0].fetchone()
        pooled.close()
        another.set_study_user_attr(study._study_id, "somebody", "else")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work(study, stopped, take=lambda: True, ended=lambda state: None)  # type: ignore[arg-type]
    states = [trial.state for trial in study.trials[3:]]
    assert states == [TrialState.FAIL, TrialState.WAITING]


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


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def study() -> optuna.Study:
    study = optuna.create_study(directions=["minimize"] * 2)
    study.set_metric_names(["error", "fraction"])
    for values in [(0.5, 0.5), (0.25, 1.0)]:
        study.add_trial(optuna.trial.create_trial(values=values))
    return study


def test_a_bar_in_a_terminal(study: optuna.Study) -> None:
    stream = _Terminal()
    progress = Progress(study, 4, stream=stream)
    progress.tick(TrialState.COMPLETE)
    progress.tick(TrialState.FAIL)
    progress.close()
    text = stream.getvalue()
    assert "2/4" in text
    assert "hypervolume" in text
    assert "front 2" in text
    assert "error 0.25" in text
    assert progress.failed == 1


@pytest.mark.parametrize(("total", "lines"), [(200, 10), (3, 3)])
def test_a_few_lines_in_a_log(study: optuna.Study, total: int, lines: int) -> None:
    stream = io.StringIO()
    progress = Progress(study, total, stream=stream)
    for _ in range(total):
        progress.tick(TrialState.COMPLETE)
    said = stream.getvalue().splitlines()
    assert len(said) == lines
    assert said[-1].startswith(f"  {total}/{total} trials, hypervolume ")


def test_nothing_at_all(study: optuna.Study) -> None:
    stream = _Terminal()
    progress = Progress(study, 1, quiet=True, stream=stream)
    progress.tick(TrialState.FAIL)
    progress.close()
    assert stream.getvalue() == ""
    assert (progress.done, progress.failed) == (1, 1)
