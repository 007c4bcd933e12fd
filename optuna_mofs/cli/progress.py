"""How a search is getting on, on stderr: a bar in a terminal, a few lines in a log."""

from __future__ import annotations

import sys
import time
from typing import Any, TextIO

from optuna.study import Study
from optuna.trial import TrialState

from optuna_mofs import pareto_front
from optuna_mofs.cli.text import counted

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
            parts.append(f"{front.metric_names[0]} {front.values[0, 0]:.4g}")
        if self.failed:
            parts.append(f"{counted(self.failed, 'trial')} failed")
        return ", ".join(parts)
