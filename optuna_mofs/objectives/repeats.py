"""Finds the finished trial that an exact repeat repeats."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs._typing import Array
from optuna_mofs.features._codec import pack
from optuna_mofs.features._representation import Representation
from optuna_mofs.selection import trial_mask


class RepeatIndex:
    """Complete trials of one study by their configuration, read incrementally.

    A configuration is the mask and the hyperparameters: different integers may stand for one
    mask. Filters ranked by fold make several masks of a trial, so there the suggestions of the
    features count too.

    Args:
        representation: How the study's trials suggest features, bound to them; None for none.
    """

    def __init__(self, representation: Representation | None) -> None:
        self._representation = representation
        self._said_by_mask: frozenset[str] = frozenset()
        if representation is not None and representation.ranks != "fold":
            self._said_by_mask = frozenset(representation.distributions)
        self._by_configuration: dict[Hashable, FrozenTrial] = {}
        self._read: set[int] = set()
        self._read_to = 0

    def find(self, study: Study, trial: Trial, mask: Array) -> FrozenTrial | None:
        """The first complete trial with the configuration of this one.

        Args:
            study: The study.
            trial: The running trial, all its suggestions made.
            mask: Its mask over the free features.
        """
        for other in trials_of(study)[self._read_to :]:
            if other.number not in self._read and other.state.is_finished():
                self._read.add(other.number)
                if other.state == TrialState.COMPLETE:
                    self._add(other)
        while self._read_to in self._read:
            self._read.remove(self._read_to)
            self._read_to += 1
        return self._by_configuration.get(self._key(trial, mask))

    def _add(self, trial: FrozenTrial) -> None:
        mask: Array | None = np.zeros(0, dtype=bool)
        if self._representation is not None:
            mask = trial_mask(self._representation, trial)
        if mask is not None:
            self._by_configuration.setdefault(self._key(trial, mask), trial)

    def _key(self, trial: Trial | FrozenTrial, mask: Array) -> Hashable:
        distributions = trial.distributions
        # Choices may be unhashable and come back from a storage as another type: go by position.
        settings = frozenset(
            (name, distributions[name].to_internal_repr(value))
            for name, value in trial.params.items()
            if name not in self._said_by_mask
        )
        return pack(mask), settings
