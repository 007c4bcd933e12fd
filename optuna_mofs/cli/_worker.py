"""The search in one or several processes: signals and progress."""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Self, TextIO

import optuna
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from optuna_mofs import (
    AllTrialsFailedError,
    FeatureSelectionObjective,
    pareto_front,
    retry_interrupted,
)
from optuna_mofs._format import format_number
from optuna_mofs._optuna import close_connections
from optuna_mofs.callbacks import StoppingCallback, trial_seconds
from optuna_mofs.cli._errors import CommandError, Terminated
from optuna_mofs.cli._output import format_count, format_duration
from optuna_mofs.cli._settings import Settings, load_table, make_objective, make_sampler
from optuna_mofs.cli._storage import open_storage, storage_errors

_SHUTDOWN_TIMEOUT = 30.0  # seconds for a worker to enqueue its trial again
_REFRESH_INTERVAL = 0.5  # seconds between two reads of the front for the progress bar
_N_LINES = 10  # lines of a log if the number of trials is known
_LINE_INTERVAL = 60.0  # seconds between two lines if it is not


@dataclass(frozen=True)
class Job:
    """The task of a worker process."""

    settings: Settings
    url: str
    study: str
    n_existing: int  # number of trials before the run
    limits: Limits


@dataclass(frozen=True)
class Limits:
    """What ends a search before all of its trials are done."""

    deadline: float | None = None  # as time.time()
    stop: StoppingCallback | None = None

    def allow(self, study: Study) -> bool:
        """Return whether another trial may start: it would end in time, and is worth it."""
        if self.deadline is not None:
            left = self.deadline - time.time()
            if left <= 0 or trial_seconds(study) > left:
                return False
        return self.stop is None or not self.stop.should_stop(study)


def run_trials(
    study: Study,
    objective: FeatureSelectionObjective,
    *,
    may_start: Callable[[], bool],
    on_end: Callable[[TrialState], None],
) -> None:
    """Run trials one by one while ``may_start()``; enqueue an interrupted trial again."""
    current: list[int] = []
    with DeferredSignals() as signals:

        def interruptible(trial: Trial) -> tuple[float, ...]:
            current[:] = [trial.number]
            try:
                with signals.immediate():
                    return objective(trial)
            except KeyboardInterrupt:
                close_connections(study)
                raise

        def callback(study: Study, trial: FrozenTrial) -> None:
            current.clear()
            on_end(trial.state)

        try:
            while may_start():
                study.optimize(interruptible, n_trials=1, callbacks=[callback])
                signals.raise_pending()
        except KeyboardInterrupt:
            retry_interrupted(study, numbers=current)
            raise
        except AllTrialsFailedError as error:
            raise CommandError(str(error)) from error


def search_in_workers(
    job: Job, progress: Progress, *, n_trials: int | None, n_workers: int
) -> None:
    """Search in several processes; this one only shows the progress.

    If a worker fails, the others use up the budget before the error is raised.
    """
    context = multiprocessing.get_context("spawn")
    remaining = context.Value("q", -1 if n_trials is None else n_trials)
    messages = context.Queue()
    # The processes share the cores, so thread pools within them would only slow them down.
    with _environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1"):
        workers = [
            context.Process(
                target=_worker, args=(job, i, remaining, messages, os.getpid()), daemon=True
            )
            for i in range(n_workers)
        ]
        for worker in workers:
            worker.start()
    failures: list[str] = []
    try:
        # SIGTERM, which 'kill' and cluster managers send, stops a search like Ctrl-C.
        with _signal_handler(_terminate, signal.SIGTERM):
            while any(worker.is_alive() for worker in workers) or not messages.empty():
                try:
                    kind, content = messages.get(timeout=0.2)
                except queue.Empty:
                    continue
                if kind == "ended":
                    progress.update(content)
                else:
                    failures.append(content)
    finally:
        # A second Ctrl-C must not interrupt the shutdown.
        with _signal_handler(signal.SIG_IGN, signal.SIGINT, signal.SIGTERM):
            _stop(workers)
    for i, worker in enumerate(workers):
        if worker.exitcode and not failures:
            failures.append(f"Worker {i} ended with exit code {worker.exitcode}.")
    if failures:
        raise CommandError(f"{failures[0]} Completed trials are kept; run the command again.")


def _worker(job: Job, number: int, remaining: Any, messages: Any, parent: int) -> None:
    """Run trials in a worker process."""
    # Ctrl-C reaches all processes of a terminal. The parent handles it and stops the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def may_start() -> bool:
        if os.getppid() != parent or not job.limits.allow(study):
            return False
        with remaining.get_lock():
            if remaining.value == 0:
                return False
            remaining.value -= remaining.value > 0
            return True

    try:
        with storage_errors(job.url):
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            study = optuna.load_study(
                study_name=job.study,
                storage=open_storage(job.url, heartbeat=True),
                sampler=make_sampler(job.settings, n_existing=job.n_existing, worker=number),
            )
            objective = make_objective(job.settings, load_table(job.settings))
            objective.attach(study)
            run_trials(
                study,
                objective,
                may_start=may_start,
                on_end=lambda state: messages.put(("ended", state)),
            )
    except KeyboardInterrupt:
        pass
    except CommandError as error:
        messages.put(("failed", str(error)))


def _stop(workers: list[Any]) -> None:
    """Terminate the workers, and wait until they have enqueued their trials again."""
    for worker in workers:
        if worker.is_alive():
            worker.terminate()
    deadline = time.monotonic() + _SHUTDOWN_TIMEOUT
    for worker in workers:
        worker.join(max(0.0, deadline - time.monotonic()))
        if worker.is_alive():
            worker.kill()
            worker.join()


def _terminate(number: int, frame: Any) -> None:
    raise Terminated


@contextmanager
def _signal_handler(handler: Any, *numbers: int) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, previous in before.items():
            signal.signal(number, previous)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set those environment variables that are not set."""
    added = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(added)
    try:
        yield
    finally:
        for name in added:
            del os.environ[name]


class DeferredSignals:
    """Defers SIGINT (Ctrl-C) and SIGTERM (``kill``, cluster managers) while Optuna runs.

    A trial that is interrupted before its number is known could not be enqueued again. A second
    signal is not deferred.
    """

    def __init__(self) -> None:
        self._pending: KeyboardInterrupt | None = None
        self._is_immediate = False
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            # An ignored signal stays ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._handlers[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    @contextmanager
    def immediate(self) -> Iterator[None]:
        """Let signals interrupt at once within the context."""
        self._is_immediate = True
        try:
            self.raise_pending()
            yield
        finally:
            self._is_immediate = False

    def raise_pending(self) -> None:
        """Raise the interrupt that was deferred, if any."""
        pending, self._pending = self._pending, None
        if pending is not None:
            raise pending

    def _handle(self, number: int, frame: Any) -> None:
        interrupt = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
        if self._is_immediate or self._pending is not None:
            # In the middle of a query, SQLAlchemy would log a long error about the connection.
            logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
            raise interrupt
        self._pending = interrupt


class Progress:
    """Counts trials and shows the quality of the front, as a bar or as lines of a log.

    Args:
        study: The study whose front is shown, or None to show none.
        total: Number of trials of this run, or None if it is unknown.
        quiet: Whether to show nothing.
        stream: Where to write. Default: stderr.
    """

    def __init__(
        self,
        study: Study | None,
        total: int | None,
        *,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self._study = study
        self._total = total
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._begin = self._last_output = time.monotonic()
        self._first = 0.0  # seconds until the first trial ended
        self.n_trials = 0
        self.n_failed = self.n_stopped = 0
        self._bar: Any = None
        if not quiet and self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="trial", file=self._stream, dynamic_ncols=True)

    def update(self, state: TrialState) -> None:
        """Count a trial that has ended."""
        self.n_trials += 1
        if self.n_trials == 1:
            self._first = time.monotonic() - self._begin
        self.n_failed += state == TrialState.FAIL
        self.n_stopped += state == TrialState.PRUNED
        if self._quiet:
            return
        if self._bar is not None:
            self._bar.update()
        if not self._is_due():
            return
        self._last_output = time.monotonic()
        if self._bar is not None:
            self._bar.set_postfix_str(self._status())
        else:
            of = "" if self._total is None else f"/{self._total}"
            parts = [f"  {self.n_trials}{of} trials", self._status(), self._times()]
            print(", ".join(filter(None, parts)), file=self._stream, flush=True)

    def close(self) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def _is_due(self) -> bool:
        n, total = self.n_trials, self._total
        elapsed = time.monotonic() - self._last_output
        if self._bar is not None:
            return n in (1, total) or elapsed >= _REFRESH_INTERVAL
        if total is None:
            return elapsed >= _LINE_INTERVAL
        # The first trial shows how long the search will take.
        return n == 1 or n * _N_LINES // total > (n - 1) * _N_LINES // total

    def _times(self) -> str:
        elapsed = time.monotonic() - self._begin
        text = f"{format_duration(elapsed)} elapsed"
        if self._total is None or self.n_trials >= self._total:
            return text
        # The first trial also ranks the features and evaluates the baselines.
        is_first = self.n_trials == 1
        seconds = elapsed if is_first else (elapsed - self._first) / (self.n_trials - 1)
        left = format_duration(seconds * (self._total - self.n_trials))
        return f"{text}, {'at most' if is_first else 'about'} {left} left"

    def _status(self) -> str:
        if self._study is None:
            return ""
        front = pareto_front(self._study, duplicates=False)
        parts = [f"hypervolume {front.hypervolume():.4f}", f"front {len(front)}"]
        if len(front):
            parts.append(f"{front.metric_names[0]} {format_number(front.values[0, 0])}")
        if self.n_stopped:
            parts.append(f"{format_count(self.n_stopped, 'trial')} stopped early")
        if self.n_failed:
            parts.append(f"{format_count(self.n_failed, 'trial')} failed")
        return ", ".join(parts)
