"""When Ctrl-C may interrupt: in the middle of a trial, not while the study is being written."""

from __future__ import annotations

import logging
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from optuna_mofs.cli.errors import Terminated


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
