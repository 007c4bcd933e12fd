"""Finds the finished trial that an exact repeat repeats."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._storage import trials_of


class RepeatIndex:
    """Finished trials of one study by their parameters, read incrementally."""

    def __init__(self) -> None:
        self._by_params: dict[frozenset[tuple[str, Any]], FrozenTrial] = {}
        self._read: set[int] = set()

    def find(self, study: Study, params: Mapping[str, Any]) -> FrozenTrial | None:
        """The first complete trial with exactly these parameters."""
        for trial in trials_of(study):
            if trial.number not in self._read and trial.state == TrialState.COMPLETE:
                self._read.add(trial.number)
                self._by_params.setdefault(frozenset(trial.params.items()), trial)
        return self._by_params.get(frozenset(params.items()))
