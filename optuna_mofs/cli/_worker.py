"""The search in one or several processes: signals, progress."""

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
from types import TracebackType
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
from optuna_mofs.cli._errors import CommandError, Terminated
from optuna_mofs.cli._output import counted
from optuna_mofs.cli._settings import Settings, load_table, make_objective, make_sampler
from optuna_mofs.cli._storage import close_connections, open_storage, storage_errors

_LAST_WORDS = 30.0  # seconds that a worker has to put its trial back


@dataclass(frozen=True)
class Job:
    """What a worker process is told.

    Attributes:
        settings: Of the search.
        url: Of the storage.
        study: Name of the study.
        started: Trials that the study had at the beginning.
        deadline: When to stop, by :func:`time.time`; None for never.
    """

    settings: Settings
    url: str
    study: str
    started: int
    deadline: float | None


def work(
    study: Study,
    objective: FeatureSelectionObjective,
    *,
    take: Callable[[], bool],
    ended: Callable[[TrialState], None],
) -> None:
    """Evaluate trials while there is something to take; what is cut off goes back in the queue.

    Args:
        study: The study.
        objective: Its objective.
        take: Whether one more trial may begin.
        ended: Told of the state of each trial.
    """
    current: list[int] = []
    with Interrupts() as interrupts:

        def watched(trial: Trial) -> tuple[float, ...]:
            current[:] = [trial.number]
            try:
                with interrupts.allowed():
                    return objective(trial)
            except KeyboardInterrupt:
                close_connections(study)
                raise

        def tell(study: Study, trial: FrozenTrial) -> None:
            current.clear()
            ended(trial.state)

        try:
            while take():
                study.optimize(watched, n_trials=1, callbacks=[tell])
                interrupts.check()
        except KeyboardInterrupt:
            retry_interrupted(study, numbers=current)
            raise
        except AllTrialsFailedError as error:
            raise CommandError(str(error)) from error


def work_alone(
    study: Study,
    objective: FeatureSelectionObjective,
    progress: Progress,
    *,
    trials: int | None,
    deadline: float | None,
) -> None:
    """Search in this process."""

    def take() -> bool:
        return (trials is None or progress.done < trials) and _in_time(deadline)

    work(study, objective, take=take, ended=progress.tick)


def work_together(job: Job, progress: Progress, *, trials: int | None, workers: int) -> None:
    """Search in several processes; this one only watches.

    Raises:
        CommandError: If a worker failed; the others go on until the budget is spent.
    """
    processes = multiprocessing.get_context("spawn")
    left = processes.Value("q", -1 if trials is None else trials)
    news = processes.Queue()
    # The processes share the cores: a thread pool in each would only get in the way.
    with _environment(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1"):
        team = [
            processes.Process(target=_worker, args=(job, i, left, news, os.getpid()), daemon=True)
            for i in range(workers)
        ]
        for member in team:
            member.start()
    failures: list[str] = []
    try:
        with _terminating():
            while any(member.is_alive() for member in team) or not news.empty():
                try:
                    kind, what = news.get(timeout=0.2)
                except queue.Empty:
                    continue
                if kind == "ended":
                    progress.tick(what)
                else:
                    failures.append(what)
    finally:
        with _undisturbed():
            _dismiss(team)
    for i, member in enumerate(team):
        if member.exitcode and not failures:
            failures.append(f"Worker {i} ended with exit code {member.exitcode}.")
    if failures:
        raise CommandError(f"{failures[0]} Finished trials are kept; run the command again.")


def _worker(job: Job, number: int, left: Any, news: Any, parent: int) -> None:
    """The main function of a worker process."""
    # Ctrl-C reaches all processes of a terminal; the watching one hears it and tells us.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def take() -> bool:
        if not _in_time(job.deadline) or os.getppid() != parent:
            return False
        with left.get_lock():
            if left.value == 0:
                return False
            left.value -= left.value > 0
            return True

    try:
        with storage_errors(job.url):
            optuna.logging.set_verbosity(optuna.logging.ERROR)
            study = optuna.load_study(
                study_name=job.study,
                storage=open_storage(job.url, heartbeat=True),
                sampler=make_sampler(job.settings, started=job.started, worker=number),
            )
            objective = make_objective(job.settings, load_table(job.settings))
            objective.attach(study)
            work(study, objective, take=take, ended=lambda state: news.put(("ended", state)))
    except KeyboardInterrupt:
        pass
    except CommandError as error:
        news.put(("failed", str(error)))


def _dismiss(team: list[Any]) -> None:
    """Ask the workers to stop, and wait until their trials are back in the queue."""
    for member in team:
        if member.is_alive():
            member.terminate()
    latest = time.monotonic() + _LAST_WORDS
    for member in team:
        member.join(max(0.0, latest - time.monotonic()))
        if member.is_alive():
            member.kill()
            member.join()


def failure(trials: list[FrozenTrial]) -> str:
    """Why the last trial that failed did so."""
    reasons = [trial.user_attrs.get("failure_reason") for trial in trials]
    last = [str(reason) for reason in reasons if reason]
    return f"The last one said: {last[-1]}" if last else "None of them said why."


def _in_time(deadline: float | None) -> bool:
    return deadline is None or time.time() < deadline


@contextmanager
def _terminating() -> Iterator[None]:
    """Let SIGTERM, which 'kill' and cluster managers send, stop a search as Ctrl-C does."""

    def stop(number: int, frame: Any) -> None:
        raise Terminated

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Hear no second Ctrl-C while putting things in order."""
    before = {s: signal.signal(s, signal.SIG_IGN) for s in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    """Set environment variables that are not set."""
    mine = {name: value for name, value in values.items() if name not in os.environ}
    os.environ.update(mine)
    try:
        yield
    finally:
        for name in mine:
            del os.environ[name]


class Interrupts:
    """Holds back SIGINT (Ctrl-C) and SIGTERM (``kill``, cluster managers) until they do no harm.

    A trial that has begun but does not know it yet would be lost. An impatient second signal is
    not held back.
    """

    def __init__(self) -> None:
        self._waiting: KeyboardInterrupt | None = None
        self._allowed = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        for number in (signal.SIGINT, signal.SIGTERM):
            # A process that is told to ignore a signal goes on doing so.
            if signal.getsignal(number) is not signal.SIG_IGN:
                self._before[number] = signal.signal(number, self._hear)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Iterator[None]:
        """Within, signals interrupt at once."""
        self._allowed = True
        try:
            self.check()
            yield
        finally:
            self._allowed = False

    def check(self) -> None:
        """Raise what was held back."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            raise waiting

    def _hear(self, number: int, frame: Any) -> None:
        heard = Terminated() if number == signal.SIGTERM else KeyboardInterrupt()
        if self._allowed or self._waiting is not None:
            # It may come in the middle of a query, and then the pool of connections complains at
            # length of the one that was cut off. All that is left to do is to stop.
            logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)
            raise heard
        self._waiting = heard


_PAUSE = 0.5  # seconds between two looks at the front
_LINES = 10  # of a log, when the number of trials is known
_LINE_EVERY = 60.0  # seconds, when it is not


class Progress:
    """Counts trials and shows what the front is worth.

    Args:
        study: The study, read for its front.
        total: Trials of this run, or None if only a time is set.
        quiet: Show nothing.
        stream: Where to write; by default stderr.
    """

    def __init__(
        self, study: Study, total: int | None, *, quiet: bool = False, stream: TextIO | None = None
    ) -> None:
        self._study = study
        self._total = total
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._looked = self._said = time.monotonic()
        self.done = 0
        self.failed = 0
        self._bar: Any = None
        if not quiet and self._stream.isatty():
            from tqdm import tqdm

            self._bar = tqdm(total=total, unit="trial", file=self._stream, dynamic_ncols=True)

    def tick(self, state: TrialState) -> None:
        """One more trial has ended."""
        self.done += 1
        self.failed += state == TrialState.FAIL
        if self._quiet:
            return
        now = time.monotonic()
        last = self.done == self._total
        if self._bar is not None:
            self._bar.update()
            if last or self.done == 1 or now - self._looked >= _PAUSE:
                self._looked = now
                self._bar.set_postfix_str(self._stand())
        elif last or self._line_is_due(now):
            self._said = now
            of = "" if self._total is None else f"/{self._total}"
            print(f"  {self.done}{of} trials, {self._stand()}", file=self._stream, flush=True)

    def close(self) -> None:
        """The end of the bar."""
        if self._bar is not None:
            self._bar.close()

    def _line_is_due(self, now: float) -> bool:
        if self._total is None:
            return now - self._said >= _LINE_EVERY
        return self.done * _LINES // self._total > (self.done - 1) * _LINES // self._total

    def _stand(self) -> str:
        front = pareto_front(self._study, duplicates=False)
        parts = [f"hypervolume {front.hypervolume():.4f}", f"front {len(front)}"]
        if len(front):
            parts.append(f"{front.metric_names[0]} {format_number(front.values[0, 0])}")
        if self.failed:
            parts.append(f"{counted(self.failed, 'trial')} failed")
        return ", ".join(parts)
