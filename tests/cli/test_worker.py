"""Interrupted trials, signals and progress."""

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
from optuna_mofs.cli._worker import DeferredSignals, Progress, run_trials


def test_an_interrupted_query_does_not_lock_the_file(tmp_path: Path) -> None:
    storage, another = (open_storage(f"sqlite:///{tmp_path}/a.db") for _ in range(2))
    study = optuna.create_study(storage=storage, study_name="a")
    for _ in range(3):
        study.ask()
    half_read: list[Any] = []

    def interrupted(trial: Trial) -> float:
        # Ctrl-C in the middle of a query: the traceback keeps the cursor alive, so the connection
        # has an old view of the file as soon as another process writes.
        pooled = storage.engine.raw_connection()
        assert pooled.driver_connection is not None
        half_read.append(pooled.driver_connection.execute("SELECT trial_id FROM trials"))
        half_read[0].fetchone()
        pooled.close()
        optuna.load_study(study_name="a", storage=another).set_user_attr("somebody", "else")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_trials(study, interrupted, may_start=lambda: True, on_end=lambda state: None)  # type: ignore[arg-type]
    states = [trial.state for trial in study.trials[3:]]
    assert states == [TrialState.FAIL, TrialState.WAITING]


@pytest.fixture(autouse=True)
def _default_handler() -> None:
    # Background processes ignore Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _send(number: int) -> None:
    os.kill(os.getpid(), number)


def test_signals_are_deferred() -> None:
    reached = []
    with DeferredSignals() as signals:
        _send(signal.SIGINT)
        reached.append("after the signal")
        with pytest.raises(KeyboardInterrupt), signals.immediate():
            reached.append("never")
        signals.raise_pending()
    assert reached == ["after the signal"]


def test_signals_are_immediate_in_the_context() -> None:
    with DeferredSignals() as signals, signals.immediate(), pytest.raises(Terminated):
        _send(signal.SIGTERM)


def test_a_second_signal_is_not_deferred() -> None:
    with DeferredSignals():
        _send(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            _send(signal.SIGINT)


def test_handlers_are_restored() -> None:
    before = [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)]
    with DeferredSignals():
        pass
    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before


def test_ignored_signals_stay_ignored() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with DeferredSignals() as signals, signals.immediate():
            _send(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_interrupted_query_logs_nothing(caplog: pytest.LogCaptureFixture) -> None:
    logger = logging.getLogger("sqlalchemy.pool")
    before = logger.level
    engine = sqlalchemy.create_engine("sqlite://")
    try:
        with DeferredSignals() as signals, signals.immediate():
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
    progress.update(TrialState.COMPLETE)
    progress.update(TrialState.FAIL)
    progress.close()
    text = stream.getvalue()
    assert "2/4" in text
    assert "hypervolume" in text
    assert "front 2" in text
    assert "error 0.25" in text
    assert progress.n_failed == 1


@pytest.mark.parametrize(("total", "lines"), [(200, 11), (3, 3)])
def test_a_few_lines_in_a_log(study: optuna.Study, total: int, lines: int) -> None:
    stream = io.StringIO()
    progress = Progress(study, total, stream=stream)
    for _ in range(total):
        progress.update(TrialState.COMPLETE)
    printed = stream.getvalue().splitlines()
    assert len(printed) == lines
    assert printed[-1].startswith(f"  {total}/{total} trials, hypervolume ")


def test_stopped_trials_and_the_time_left(study: optuna.Study) -> None:
    stream = io.StringIO()
    progress = Progress(study, 3, stream=stream)
    for state in (TrialState.COMPLETE, TrialState.PRUNED, TrialState.COMPLETE):
        progress.update(state)
    first, second, third = stream.getvalue().splitlines()
    assert "at most" in first, "the first trial also ranks the features"
    assert "1 trial stopped early" in second
    assert "about" in second
    assert "left" not in third


def test_quiet(study: optuna.Study) -> None:
    stream = _Terminal()
    progress = Progress(study, 1, quiet=True, stream=stream)
    progress.update(TrialState.FAIL)
    progress.close()
    assert stream.getvalue() == ""
    assert (progress.n_trials, progress.n_failed) == (1, 1)
