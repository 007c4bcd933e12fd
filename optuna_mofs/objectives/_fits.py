"""The fits of a trial: in this process, or in one of their own that a time limit can end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

from optuna_mofs._typing import Array
from optuna_mofs.data._dataset import Dataset, Split
from optuna_mofs.objectives._evaluator import CrossValidation, Evaluator


class TrialTimeoutError(RuntimeError):
    """Raised if the fits of a trial take longer than allowed."""


class Fits:
    """Runs the fits of trials.

    With a time limit they run in a process that holds the data and is used for one trial after the
    other. A fit that hangs cannot be ended in any other way: a thread cannot be stopped.

    Args:
        evaluator: The cross-validation.
        all_data: All rows, also those that are held out.
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
        found: CrossValidation = self._run("evaluate", estimator, mask, fold_masks, splits)
        return found

    def losses(self, estimator: Any, mask: Array, train: Array, test: Array) -> Array:
        """Return the losses of some of all rows of a model that is fitted on others."""
        found: Array = self._run("losses", estimator, mask, train, test)
        return found

    def _run(self, name: str, *args: Any) -> Any:
        if self.timeout is None:
            return _call(self.evaluator, self.all_data, name, args)
        process = self._take()
        future = process.submit(_call_in_process, name, args)
        try:
            result = future.result(self.timeout)
        except TimeoutError as error:
            if future.done():  # the estimator's own
                self._idle.append(process)
                raise
            process.shutdown(kill_workers=True)
            raise TrialTimeoutError(
                f"the fits took longer than trial_timeout={self.timeout:g} seconds"
            ) from error
        except BaseException:
            # A process that crashed cannot be used again; after any other error a new one is
            # cheap compared to the doubt.
            process.shutdown(kill_workers=True)
            raise
        self._idle.append(process)
        return result

    def _take(self) -> ProcessPoolExecutor:
        """Return a process that is ready, so that its start does not count."""
        with self._lock:
            if self._idle:
                return self._idle.pop()
        process = ProcessPoolExecutor(
            max_workers=1,
            initializer=_keep,
            initargs=(self.evaluator, self.all_data),
        )
        process.submit(_is_ready).result()
        return process

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k not in ("_idle", "_lock")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._idle: list[ProcessPoolExecutor] = []
        self._lock = threading.Lock()


def _call(evaluator: Evaluator, all_data: Dataset, name: str, args: Sequence[Any]) -> Any:
    if name == "evaluate":
        return evaluator(*args)
    estimator, mask, train, test = args
    return evaluator.losses_on(estimator, mask, all_data, train, test)


#: The evaluator and the rows of a process that fits.
_KEPT: list[Any] = []


def _keep(*kept: Any) -> None:
    _KEPT[:] = kept


def _is_ready() -> bool:
    return bool(_KEPT)


def _call_in_process(name: str, args: Sequence[Any]) -> Any:
    evaluator, all_data = _KEPT
    return _call(evaluator, all_data, name, args)
