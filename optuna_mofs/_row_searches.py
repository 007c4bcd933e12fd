"""The same search on several subsets of the rows: in sequence or in parallel, resumable."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import joblib
import numpy as np
import optuna
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage, InMemoryStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import (
    fresh_sampler,
    original_number,
    read_study_attr,
    trials_of,
    write_study_attr,
)
from optuna_mofs._storage import open_url
from optuna_mofs._typing import Array
from optuna_mofs._validation import check_int, check_n_jobs
from optuna_mofs.data._dataset import take_rows
from optuna_mofs.objectives._objective import StudyObjective
from optuna_mofs.samplers import default_sampler
from optuna_mofs.study._queue import retry_interrupted

#: Study attribute with the values of trials on the rows that the study does not see.
_OUTER_TEST = "outer_test"

_Result = TypeVar("_Result")


def open_shared(storage: str | BaseStorage | None, study_name: str | None) -> BaseStorage | None:
    """Open the storage of several studies, which need a name to be found again.

    It is opened once, so that parallel searches do not create its tables at the same time.
    """
    if storage is None:
        return None
    if study_name is None:
        raise ValueError(
            "study_name is needed with a storage: a second call finds its studies by name."
        )
    return open_url(storage)


@dataclass(frozen=True, eq=False)
class RowSearch:
    """A search that is repeated on subsets of the rows. It can be pickled.

    Attributes:
        objective: The objective of the search, with all its rows.
        sampler: Copied for each repetition, with a seed of its own; None for the default.
        n_trials: Number of trials of each repetition.
        storage: Storage of the studies, or None for memory.
        random_state: Seed of the samplers.
    """

    objective: StudyObjective
    sampler: BaseSampler | None
    n_trials: int
    storage: BaseStorage | None
    random_state: int
    _verbosity: int = optuna.logging.WARNING
    _advance: Callable[[int], Any] | None = field(default=None)

    def __post_init__(self) -> None:
        check_int("n_trials", self.n_trials, 1)

    def repeat(
        self,
        function: Callable[..., _Result],
        jobs: Sequence[tuple[Any, ...]],
        *,
        n_jobs: int | None,
        show_progress_bar: bool,
    ) -> list[_Result]:
        """Return ``function(search, *job)`` of each job; each runs one search.

        Args:
            function: Function of a search that :meth:`__call__` runs.
            jobs: Its other arguments.
            n_jobs: Number of jobs in parallel.
            show_progress_bar: Whether to show the number of finished trials.
        """
        from tqdm.auto import tqdm

        n_jobs = check_n_jobs(n_jobs)
        is_shared = isinstance(self.storage, InMemoryStorage)
        level = max(optuna.logging.get_verbosity(), optuna.logging.WARNING)
        total, found = len(jobs) * self.n_trials, []
        with (
            verbosity(level),
            tqdm(total=total, disable=not show_progress_bar, unit="trial") as bar,
        ):
            # Other processes cannot update the bar, so it advances when they return.
            in_process = is_shared or joblib.effective_n_jobs(n_jobs) == 1
            advance = bar.update if in_process else None
            search = replace(self, _verbosity=level, _advance=advance)
            parallel = joblib.Parallel(
                n_jobs=n_jobs, return_as="generator", require="sharedmem" if is_shared else None
            )
            for result in parallel(joblib.delayed(function)(search, *job) for job in jobs):
                found.append(result)
                if not in_process:
                    bar.update(self.n_trials)
        return found

    def __call__(
        self, k: int, rows: Array, prefix: str | None, *, repeated: bool = False
    ) -> tuple[StudyObjective, Study]:
        """Run the missing trials of repetition ``k``, and return its objective and study.

        Args:
            k: Number of the repetition, for its seed.
            rows: Its rows.
            prefix: Name of its study without the number.
            repeated: Whether rows can occur several times.
        """
        optuna.logging.set_verbosity(self._verbosity)  # another process has its own
        objective = self.objective.on_rows(rows, repeated=repeated)
        study = objective.create_study(
            study_name=None if prefix is None else f"{prefix}{k}",
            storage=self.storage,
            load_if_exists=self.storage is not None,
        )
        retry_interrupted(study)
        n_finished = _n_finished(study)
        seed = int(np.random.default_rng([self.random_state, k]).integers(2**31))
        sampler = self.sampler or default_sampler()
        study.sampler = fresh_sampler(sampler, seed, n_trials=n_finished)
        if self._advance is not None:
            self._advance(min(n_finished, self.n_trials))
        if n_finished < self.n_trials:
            n_left = self.n_trials - n_finished
            study.optimize(objective, n_trials=n_left, callbacks=[self._count])
        return objective, study

    def rows_of(self, rows: Array) -> tuple[Any, Array]:
        """Return features and target of some rows."""
        data = self.objective.all_data
        return take_rows(data.X, rows), data.y[rows]

    def _count(self, study: Study, trial: FrozenTrial) -> None:
        if self._advance is not None:
            self._advance(1)


def _n_finished(study: Study) -> int:
    """Return the number of finished trials; an interrupted one and its repetition count once."""
    trials = trials_of(study)
    finished = {original_number(trial) for trial in trials if trial.state.is_finished()}
    return len(finished - {original_number(t) for t in trials if t.state == TrialState.WAITING})


class StoredTests:
    """An objective that stores the test values of trials in the study, to fit each model once.

    Args:
        study: A study of ``objective``.
        objective: The objective.
        rows: Fingerprint of the test rows: values on others are not used.
    """

    def __init__(self, study: Study, objective: StudyObjective, rows: str) -> None:
        self._study = study
        self._objective = objective
        self._rows = rows
        stored = read_study_attr(study, _OUTER_TEST) or {}
        self._stored = stored["values"] if stored.get("rows") == rows else {}
        self._values: dict[str, list[float]] = dict(self._stored)

    def refit(self, trial: FrozenTrial) -> Any:
        """Return the fitted model of a trial, or None if its test values are known."""
        return None if str(trial.number) in self._values else self._objective.refit(trial)

    def test_values(
        self, model: Any, trial: FrozenTrial, X_test: Any, y_test: Any
    ) -> Sequence[float]:
        """Return the metrics of a trial on the test rows."""
        key = str(trial.number)
        if key not in self._values:
            values = self._objective.test_values(model, trial, X_test, y_test)
            self._values[key] = [float(value) for value in values]
        return self._values[key]

    def write(self) -> None:
        """Store the values if there are new ones."""
        if self._values != self._stored:
            write_study_attr(
                self._study, _OUTER_TEST, {"rows": self._rows, "values": self._values}
            )


@contextlib.contextmanager
def verbosity(level: int) -> Iterator[None]:
    """Set the verbosity of Optuna within a context."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(level)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)
