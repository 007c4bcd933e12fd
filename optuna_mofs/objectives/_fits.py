"""The fits of a trial: in this process, or in a separate one that can be ended after a timeout."""

from __future__ import annotations

import os
import pickle
import re
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor
from joblib.externals.loky.backend import reduction
from joblib.externals.loky.process_executor import BrokenProcessPool

from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split
from optuna_mofs.objectives._evaluator import CrossValidation, Evaluator, FoldResult

#: A process that has grown by this many bytes is replaced, because estimators may leak memory.
MAX_GROWTH = 2 * 1024**3


class TrialTimeoutError(RuntimeError):
    """Raised if the fits of a trial take longer than allowed."""


class FitProcessError(RuntimeError):
    """Raised if the process of the fits of a trial ends, or is ended by an estimator."""


class Fits:
    """Runs the fits of trials.

    With a time limit they run in a process that holds the data and is reused for the next trials.
    A fit that hangs cannot be ended in any other way, because a thread cannot be stopped.

    Args:
        evaluator: The cross-validation.
        all_data: All rows, including held-out ones.
        timeout: Seconds that a call may take, or None for no limit.
    """

    def __init__(self, evaluator: Evaluator, all_data: Dataset, timeout: float | None) -> None:
        self.evaluator = evaluator
        self.all_data = all_data
        self.timeout = timeout
        self.__setstate__({})

    def evaluate(
        self,
        estimator: Any,
        mask: Array,
        fold_masks: Sequence[Array],
        splits: Sequence[Split] | None = None,
    ) -> CrossValidation:
        """Cross-validate a configuration, as :class:`Evaluator` does."""
        return self._run("evaluate", estimator, mask, fold_masks, splits)

    def start(self) -> SharedLimit:
        """Return the calls of one trial, which share the time limit."""
        if self.timeout is None:
            return SharedLimit(self, None)
        self._idle.append(self._take())  # so that its start does not count
        return SharedLimit(self, time.monotonic() + self.timeout)

    def losses(self, estimator: Any, mask: Array, train: Array, test: Array) -> Array:
        """Return the losses of some of all rows of a model that is fitted on others."""
        return self._run("losses", estimator, mask, train, test)

    def _run(self, name: str, *args: Any, seconds: float | None = None) -> Any:
        if self.timeout is None:
            return _call(self.evaluator, self.all_data, name, args)
        process = self._take()
        future = process.submit(_call_in_process, name, args)
        try:
            result, growth = future.result(self.timeout if seconds is None else seconds)
        except TimeoutError as error:
            if future.done():  # the estimator's own
                self._idle.append(process)
                raise
            process.shutdown(kill_workers=True)
            raise TrialTimeoutError(
                f"the fits took longer than trial_timeout={self.timeout:g} seconds"
            ) from error
        except BrokenProcessPool as error:
            process.shutdown(kill_workers=True)
            raise _ended(error) from error
        except BaseException:
            # A process that crashed cannot be used again. After any other error a new process is
            # cheap compared to doubts about the old one.
            process.shutdown(kill_workers=True)
            raise
        if growth > MAX_GROWTH:
            process.shutdown(kill_workers=True)
        else:
            self._idle.append(process)
        return result

    def _take(self) -> ProcessPoolExecutor:
        """Return a process that is ready, so that its start does not count."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        # In a file, not as arguments: if a process dies while it starts, writing more than a pipe
        # holds would wait for it forever.
        with tempfile.NamedTemporaryFile(prefix="optuna_mofs", delete=False) as file:
            reduction.dump((self.evaluator, self.all_data), file)
        process = ProcessPoolExecutor(max_workers=1, initializer=_keep, initargs=(file.name,))
        weakref.finalize(process, os.remove, file.name)
        try:
            process.submit(_is_ready).result()
        except BrokenProcessPool as error:
            raise _ended(error) from error
        return process

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_idle", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._idle: list[ProcessPoolExecutor] = []
        self._lock = threading.Lock()


class SharedLimit:
    """Calls of one trial that end at the same time.

    Args:
        fits: Runs them.
        end: When they must end, on the monotonic clock, or None for no limit.
    """

    def __init__(self, fits: Fits, end: float | None) -> None:
        self._fits = fits
        self._end = end

    def folds(
        self, estimator: Any, fold_masks: Sequence[Array], splits: Sequence[Split]
    ) -> list[FoldResult]:
        """Return the results of some folds."""
        return self._run("fit_folds", estimator, fold_masks, splits)

    def whole_values(
        self, estimator: Any, mask: Array, fold_masks: Sequence[Array]
    ) -> list[float]:
        """Return the values of the measures that need no fold, NaN for the others."""
        return self._run("whole_values", estimator, mask, fold_masks)

    def _run(self, name: str, *args: Any) -> Any:
        seconds = None if self._end is None else max(0.0, self._end - time.monotonic())
        return self._fits._run(name, *args, seconds=seconds)


def _ended(error: BrokenProcessPool) -> FitProcessError:
    code = re.search(r"exit codes of the workers are \{(.*)\}", str(error))
    return FitProcessError(
        f"the process of the fits ended ({code[1] if code else error}): the estimator crashed or "
        "ended it, or there was not enough memory"
    )


def _call(evaluator: Evaluator, all_data: Dataset, name: str, args: Sequence[Any]) -> Any:
    if name == "evaluate":
        return evaluator(*args)
    if name in ("fit_folds", "whole_values"):
        return getattr(evaluator, name)(*args)
    estimator, mask, train, test = args
    return evaluator.losses_on(estimator, mask, all_data, train, test)


#: The evaluator and the rows of a process that fits.
_KEPT: list[Any] = []


def _keep(file: str) -> None:
    # The process that started this one has just written the file.
    _KEPT[:] = [*pickle.loads(Path(file).read_bytes()), _peak_memory()]  # nosec B301


def _is_ready() -> bool:
    return bool(_KEPT)


def _call_in_process(name: str, args: Sequence[Any]) -> tuple[Any, int]:
    """Return the result of a call, and the growth of this process in bytes."""
    evaluator, all_data, at_start = _KEPT
    try:
        return _call(evaluator, all_data, name, args), _peak_memory() - at_start
    except SystemExit as error:
        # Here it can only be the estimator's; in the process of the study it may be the user's.
        raise FitProcessError(f"the estimator called sys.exit({error.code!r})") from error


def _peak_memory() -> int:
    """Return the largest size that this process had, in bytes, 0 where it is unknown."""
    try:
        import resource
    except ImportError:  # Windows
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
