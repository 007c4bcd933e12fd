"""Input and output of ``propose``: all that a new sampler needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.study._completed_trials import Metrics
from optuna_mofs.study._trial_note import TrialNote

T = TypeVar("T")


@dataclass(frozen=True)
class Proposal:
    """A configuration that a sampler wants to be evaluated.

    Args:
        row: Hyperparameters, encoded by ``history.space``.
        mask: Over the free features, or None in a study without masks.
        note: The note that is written on the trial.
    """

    row: Array
    mask: Array | None = None
    note: TrialNote = field(default_factory=TrialNote)


@dataclass(frozen=True)
class ProposalContext:
    """Everything that a proposal may depend on.

    Args:
        history: The completed and the running trials; do not change it.
        rng: Generator of this trial and this attempt.
        trial_number: Number of the trial.
        attempt: Number of earlier proposals for this trial that were duplicates of other trials.
        n_conflicts: How often another worker reserved the proposed configuration first. Workers
            that follow the same order would collide repeatedly: from 1 on, randomize more.
        seed: Seed of the study.
    """

    history: History
    rng: np.random.Generator
    trial_number: int
    attempt: int
    n_conflicts: int
    seed: int
    _read_metrics: Callable[[], Metrics]
    _study_cache: dict[str, Any]
    _trial_cache: dict[str, Any]

    @property
    def metrics(self) -> Metrics:
        """Names and directions of the study's values."""
        return self._read_metrics()

    def study_cache(self, key: str, make: Callable[[], T]) -> T:
        """Return an object that is cached for the study; it is made on the first call.

        It must be computable from the history: the cache can be dropped at any time.
        """
        if key not in self._study_cache:
            self._study_cache[key] = make()
        return self._study_cache[key]

    def trial_cache(self, key: str, make: Callable[[], T]) -> T:
        """Return an object that all attempts of this trial share, such as a fitted model."""
        if key not in self._trial_cache:
            self._trial_cache[key] = make()
        return self._trial_cache[key]

    def study_rng(self, stream: int) -> np.random.Generator:
        """Return a generator that is the same in all trials of the study."""
        return np.random.default_rng([self.seed, stream])

    def trial_rng(self, stream: int) -> np.random.Generator:
        """Return a generator that is the same in all attempts of this trial."""
        return np.random.default_rng([self.seed, self.trial_number, stream])
