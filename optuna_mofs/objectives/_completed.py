"""The completed trials of a study, read incrementally: its front, and duplicate configurations."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

from optuna_mofs._optuna import known_trials, study_signs, total_violation
from optuna_mofs._typing import Array
from optuna_mofs.features._codec import pack
from optuna_mofs.features._representation import Representation
from optuna_mofs.study._feature_sets import trial_mask


class CompletedReader:
    """Reads the completed trials of one study incrementally."""

    def __init__(self) -> None:
        self._read: set[int] = set()
        self._read_to = 0

    def new_trials(self, study: Study) -> Iterator[FrozenTrial]:
        """Return the trials that have been completed since the last call.

        They are those that were complete when this process last read the study: when the current
        trial was created or proposed.
        """
        for other in known_trials(study, self._read_to):
            if other.number not in self._read and other.state.is_finished():
                self._read.add(other.number)
                if other.state == TrialState.COMPLETE:
                    yield other
        while self._read_to in self._read:
            self._read.remove(self._read_to)
            self._read_to += 1


class FrontIndex(CompletedReader):
    """The completed, feasible trials of one study, and the non-dominated ones among them."""

    def __init__(self) -> None:
        super().__init__()
        #: All feasible trials in the order in which they were read.
        self.completed: list[FrozenTrial] = []
        self._members: list[FrozenTrial] = []
        self._front: Array | None = None

    def dominates(self, study: Study, values: Sequence[float]) -> bool:
        """Return whether a completed trial dominates these values."""
        self._read_new(study)
        return self._is_dominated(np.array(values) * study_signs(study))

    def members_up_to(
        self, study: Study, columns: Sequence[int], limits: Array
    ) -> list[FrozenTrial]:
        """Return the members with losses at most ``limits`` in some columns."""
        self._read_new(study)
        if self._front is None:
            return []
        within = np.all(self._front[:, list(columns)] <= limits, axis=1).tolist()
        return [trial for trial, fits in zip(self._members, within) if fits]

    def _read_new(self, study: Study) -> None:
        signs = study_signs(study)
        for trial in self.new_trials(study):
            losses = np.array(trial.values) * signs
            if total_violation(trial) > 0:
                continue
            self.completed.append(trial)
            if self._is_dominated(losses):
                continue
            kept = np.zeros((0, len(losses))) if self._front is None else self._front
            stays = ~np.all(kept >= losses, axis=1)
            self._members = [t for t, stay in zip(self._members, stays.tolist()) if stay]
            self._members.append(trial)
            self._front = np.vstack([kept[stays], losses])

    def _is_dominated(self, losses: Array) -> bool:
        if self._front is None:
            return False
        no_worse = (self._front <= losses).all(axis=1)
        return bool((no_worse & (self._front < losses).any(axis=1)).any())


class DuplicateIndex(CompletedReader):
    """Completed trials of one study by their configuration, read incrementally.

    A configuration is the mask and the hyperparameters, because different integers can represent
    the same mask. With filters ranked per fold a trial has several masks, so there the parameters
    that select features count too.

    Args:
        representation: Bound to a table; None for no features.
    """

    def __init__(self, representation: Representation | None) -> None:
        super().__init__()
        self._representation = representation
        self._mask_parameters: frozenset[str] = frozenset()
        if representation is not None and representation.ranks != "fold":
            self._mask_parameters = frozenset(representation.distributions)
        self._by_configuration: dict[Hashable, FrozenTrial] = {}

    def find(self, study: Study, trial: Trial, mask: Array) -> FrozenTrial | None:
        """Return the first completed trial with the configuration of a running one, or None."""
        for other in self.new_trials(study):
            self._add(other)
        return self._by_configuration.get(self._key(trial, mask))

    def _add(self, trial: FrozenTrial) -> None:
        mask: Array | None = np.zeros(0, dtype=bool)
        if self._representation is not None:
            mask = trial_mask(self._representation, trial)
        if mask is not None:
            self._by_configuration.setdefault(self._key(trial, mask), trial)

    def _key(self, trial: Trial | FrozenTrial, mask: Array) -> Hashable:
        distributions = trial.distributions
        # Choices can be unhashable, and a storage can return another type: compare positions.
        params = frozenset(
            (name, distributions[name].to_internal_repr(value))
            for name, value in trial.params.items()
            if name not in self._mask_parameters
        )
        return pack(mask), params
