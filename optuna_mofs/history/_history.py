"""The completed trials of a study as arrays, read incrementally."""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike
from optuna.distributions import BaseDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import (
    PREFIX,
    enqueued_params,
    frozen_attr,
    is_retry,
    original_number,
    study_signs,
    total_violation,
    trials_by_number,
)
from optuna_mofs._typing import Array
from optuna_mofs._validation import reading
from optuna_mofs.features._codec import unpack
from optuna_mofs.features._representation import MaskFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._duplicates import SeenConfigurations
from optuna_mofs.history._search_space import SearchSpace, merge_distributions, to_internal
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK
from optuna_mofs.study._partial import fold_scores, measured_values
from optuna_mofs.study._trial_note import NOTE, TrialNote

T = TypeVar("T")
N = TypeVar("N", bound=TrialNote)
#: Key in a note of the fingerprint by which a worker reserves a configuration.
RESERVED = "configuration"
#: Replaces infinite values, which are legal in Optuna but not in arithmetic.
LARGEST = 1e300


class History:
    """The completed trials of a study in order of their numbers, and the running ones.

    Trials that a race stopped count with the values that they would have had by the folds that
    were fitted: they are dominated, and a surrogate learns from them as from all others.

    All of it can be computed again from the storage; the object is a cache.

    Args:
        described: Description of the study, if it has one.

    Attributes:
        numbers: Numbers of the trials by :meth:`position`, ascending.
        values: Trials × objectives, minimized.
        variances: Variances of the values: 0 of a completed trial, positive of an estimate.
        violations: Sum of constraint violations of each trial, 0 for feasible ones.
        rows: Trials × parameters, encoded by ``space``, NaN where a parameter was inactive.
        packed: Trials × bytes, the packed masks over the free features.
        sizes: Number of free features of each trial.
        seconds: What a fold of each trial costs, see :func:`trial_seconds`; NaN if unknown.
        n_read: Number of trials of any state that were read.
        running_numbers: Numbers of the running trials by :meth:`position`.
        codec: Encodes masks as parameters; None for a study without masks.
        table: The features, or None for a study without masks.
        rule_columns: Which parameters of ``space`` select features, as a rule does.
    """

    def __init__(self, described: StudyDescription | None = None) -> None:
        self.described = described
        chosen = None if described is None else described.representation
        self.codec = chosen.codec if isinstance(chosen, MaskFeatures) else None
        self.table: FeatureTable | None = None if self.codec is None else self.codec.table
        self.space = SearchSpace({})
        self.rule_columns = np.zeros(0, dtype=bool)
        self.running_numbers: list[int] = []
        self._mask_distributions = {} if self.codec is None else self.codec.distributions
        self._distributions: dict[str, BaseDistribution] = {}
        self._signs: Array = np.ones(1)
        self._trials: list[FrozenTrial] = []
        self._numbers = _GrowingArray(np.int64)
        self._values = _GrowingArray(float)
        self._variances = _GrowingArray(float)
        self._violations = _GrowingArray(float)
        self._rows = _GrowingArray(float)
        self._packed = _GrowingArray(np.uint8)
        self._sizes = _GrowingArray(np.int64)
        self._seconds = _GrowingArray(float)
        self._running: list[FrozenTrial] = []
        self.n_read = 0
        self._retries: list[int] = []
        self._unfinished: list[int] = []
        self._seen = SeenConfigurations()
        self._set_arrays()
        if described is not None:
            self.require(described.distributions)
            self._seen.required = frozenset(self.distributions) - described.active_if.keys()

    def __len__(self) -> int:
        return len(self._trials)

    # ---- arrays of the completed trials -------------------------------------------------------

    def mask(self, i: int) -> Array:
        """Return the mask of the i-th trial over the free features."""
        assert self.table is not None
        return unpack(self.packed[i], len(self.table.free))

    def masks(self, positions: ArrayLike) -> Array:
        """Return the masks of some trials over the free features."""
        assert self.table is not None
        packed = self.packed[np.asarray(positions, dtype=np.int64)]
        return np.unpackbits(packed, axis=1, count=len(self.table.free)).view(bool)

    def note(self, i: int, kind: type[N]) -> N:
        """Return the note on the i-th trial, with defaults where another sampler proposed it."""
        return kind.of(self._trials[i])

    def running_notes(self, kind: type[N]) -> list[N]:
        """Return the note on each running trial."""
        return list(map(kind.of, self._running))

    def running_configurations(self) -> tuple[Array, Array | None]:
        """Return rows and masks of the running trials that have suggested their parameters."""
        rows, masks = [], []
        for trial in self._running:
            row, mask = self.space.encode(trial.params), None
            if self.codec is not None:
                mask = self.codec.decode(trial.params, frozen_attr(trial, MASK))
            if (mask is not None or self.codec is None) and trial.params:
                rows.append(row)
                masks.append(mask)
        found = np.array(rows).reshape(len(rows), len(self.space))
        return found, None if self.codec is None else np.array(masks, dtype=bool)

    def per_trial(
        self,
        known: dict[int, T],
        make: Callable[[list[int]], Iterable[T]],
        positions: Array | None = None,
    ) -> list[T]:
        """Return one result per trial, each computed once.

        ``known`` has the earlier results by trial number, to which those of ``make``, a function
        of the positions of new trials, are added. ``positions`` are the trials, by default all.
        """
        chosen = np.arange(len(self)) if positions is None else positions
        numbers = self.numbers[chosen].tolist()
        new = chosen[[number not in known for number in numbers]]
        if len(new):
            known.update(zip(self.numbers[new].tolist(), make(new.tolist())))
        return list(map(known.__getitem__, numbers))

    # ---- the search space ---------------------------------------------------------------------

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Every known parameter, those of the mask first."""
        return {**self._mask_distributions, **self.space.distributions}

    @property
    def active_if(self) -> Mapping[str, tuple[str, Sequence[Any]]]:
        """Conditions of parameters, from the description of the study."""
        return {} if self.described is None else self.described.active_if

    def reference(self) -> Array:
        """Return the reference point, minimized.

        It is the worst value by the description, else a little worse than the worst finite one.
        """
        values = self.values
        low, high = finite_bounds(values, np.abs(values) < LARGEST)
        reference: Array = high + 0.1 * np.where(high > low, high - low, 1.0)
        measures = () if self.described is None else self.described.measures
        if len(measures) == len(self._signs):
            for j, measure in enumerate(measures):
                if measure.worst is not None:
                    reference[j] = self._signs[j] * measure.worst
        return reference

    # ---- configurations that were tried -------------------------------------------------------

    @property
    def n_configurations(self) -> int:
        """Largest number of distinct completed configurations with the same parameters."""
        return self._seen.n_completed

    def contains(self, row: Array, mask: Array | None = None) -> bool:
        """Return whether a trial has this encoded row and this mask over the free features."""
        params = self.space.decode(row)
        if self.codec is not None and mask is not None:
            params = {**self.codec.encode(mask)[0], **params}
        return self.contains_params(params)

    def contains_params(self, params: Mapping[str, Any]) -> bool:
        """Return whether a finished, running or queued trial has these parameters.

        Parameters that a trial did not suggest (inactive ones) do not count.
        """
        return self.contains_internal(self.internal(params))

    def contains_internal(self, internal: Mapping[str, float]) -> bool:
        """Return :meth:`contains_params` for parameters in Optuna's internal representation."""
        return self._seen.contains(internal)

    def internal(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Return parameters in Optuna's internal representation.

        Unknown parameters, constants, and those that are inactive beside the others by the
        study's description are left out.
        """
        described = self.described
        if described is not None and described.active_if:
            params = {n: v for n, v in params.items() if described.is_active(n, params)}
        return _internal(params, self.distributions)

    # ---- reading ------------------------------------------------------------------------------

    def position(self, trial: FrozenTrial) -> int:
        """Return the number that a trial would have if no trial had been interrupted.

        A trial that repeats an interrupted one has the number of that one, and later trials are
        counted without it: a study that was killed continues like one that was not.
        """
        number = original_number(trial)
        return number - bisect_left(self._retries, number)

    def update(self, study: Study, *, exclude: int | None = None) -> None:
        """Read new trials of the study.

        Args:
            study: The study.
            exclude: Number of a trial to leave out: the one that a sampler proposes for.
        """
        self._signs = study_signs(study)
        trials = trials_by_number(study)
        # Only new trials and those that were unfinished are read: a trial that a dead process left
        # running does not slow down the others.
        n_before, self.n_read = self.n_read, len(trials)
        pending = []
        for number in (*self._unfinished, *range(n_before, self.n_read)):
            pending.append((number, trials[number]))
            if number >= n_before and is_retry(trials[number]):
                self._retries.append(number)
        self._seen.clear_unfinished()
        self._unfinished, self._running, self.running_numbers = [], [], []
        for number, trial in pending:
            if trial.state.is_finished():
                self._add_finished(trial)
            else:
                self._unfinished.append(number)
        for number, trial in pending:
            if number != exclude and not trial.state.is_finished():
                self._add_unfinished(trial)
        self._set_arrays()

    def require(self, distributions: Mapping[str, BaseDistribution]) -> None:
        """Add parameters to the search space, or widen their ranges."""
        changed = False
        for name, new in distributions.items():
            if name in self._mask_distributions:
                continue
            old = self._distributions.get(name)
            if old is None or old != new:
                merged = new if old is None else merge_distributions(old, new)
                changed |= merged != old
                self._distributions[name] = merged
        if changed:
            # Sorted by name: columns must not depend on the order in which trials complete.
            self.space = SearchSpace(dict(sorted(self._distributions.items())))
            self._rows.fill([self.space.encode(t.params) for t in self._trials])
            rule = () if self.described is None else self.described.rule_parameters
            self.rule_columns = np.isin(self.space.names, rule)
            self._set_arrays()

    def _set_arrays(self) -> None:
        self.numbers = self._numbers.view().ravel()
        self.values = self._values.view()
        self.variances = self._variances.view()
        self.violations = self._violations.view().ravel()
        self.rows = self._rows.view()
        self.packed = self._packed.view()
        self.sizes = self._sizes.view().ravel()
        self.seconds = self._seconds.view().ravel()

    def _add_unfinished(self, trial: FrozenTrial) -> None:
        reserved = None
        if trial.state == TrialState.RUNNING:
            self._running.append(trial)
            self.running_numbers.append(self.position(trial))
            # A reserved configuration counts before all of it is suggested.
            with reading(PREFIX + NOTE, f"trial {trial.number}"):
                reserved = (frozen_attr(trial, NOTE) or {}).get(RESERVED)
        params = {**enqueued_params(trial), **trial.params}
        distributions = {**self.distributions, **trial.distributions}
        self._seen.add_unfinished(_internal(params, distributions), reserved)

    def _add_finished(self, trial: FrozenTrial) -> None:
        measured = measured_values(trial)
        internal = _internal(trial.params, trial.distributions)
        self._seen.add_finished(internal, complete=measured is not None)
        if measured is None:
            return
        mask = None
        if self.codec is not None:
            with reading(PREFIX + MASK, f"trial {trial.number}"):
                mask = self.codec.decode(trial.params, frozen_attr(trial, MASK))
            if mask is None:
                return
        self.require(trial.distributions)
        # By number, not by arrival: an older trial can complete late.
        position = self.position(trial)
        i = int(np.searchsorted(self._numbers.view().ravel(), position))
        self._trials.insert(i, trial)
        self._numbers.insert(i, position)
        values, variances = measured
        finite = np.nan_to_num(np.array(values), posinf=LARGEST, neginf=-LARGEST)
        self._values.insert(i, self._signs * finite)
        self._variances.insert(i, variances)
        self._violations.insert(i, min(total_violation(trial), LARGEST))
        self._rows.insert(i, self.space.encode(trial.params))
        self._seconds.insert(i, trial_seconds(trial))
        if mask is not None:
            self._packed.insert(i, np.packbits(mask))
            self._sizes.insert(i, np.count_nonzero(mask))


class HistoryFollower(ABC):
    """A state that is updated trial by trial, such as a population.

    An older trial can complete late; everything computed from later trials must then be
    recomputed. Subclasses implement :meth:`rewind` and :meth:`advance`.
    """

    def __init__(self) -> None:
        self._followed = np.zeros(0, dtype=np.int64)

    def follow(self, history: History) -> None:
        """Process all trials of the history that are new or follow a late one."""
        both = min(len(self._followed), len(history.numbers))
        changed = np.flatnonzero(self._followed[:both] != history.numbers[:both])
        n_unchanged = int(changed[0]) if len(changed) else both
        if n_unchanged < len(self._followed):
            self.rewind(n_unchanged)
        self._followed = history.numbers.copy()
        self.advance(history)

    @abstractmethod
    def rewind(self, n_trials: int) -> None:
        """Forget everything computed from later trials than the first ``n_trials``."""

    @abstractmethod
    def advance(self, history: History) -> None:
        """Process the new trials of the history."""


def finite_bounds(values: Array, finite: Array) -> tuple[Array, Array]:
    """Return the lowest and the highest of the finite values of each column.

    A column at a time, which takes a tenth of the time for few columns and many rows.
    """
    chosen = [column[usable] for column, usable in zip(values.T, finite.T)]
    low = np.array([column.min(initial=LARGEST) for column in chosen])
    return low, np.array([column.max(initial=-LARGEST) for column in chosen])


def trial_seconds(trial: FrozenTrial) -> float:
    """Return the mean ``fit_time`` of the folds if it was measured, else the time of the trial.

    It is NaN for a trial without either, for one that took the values of another, and for one that
    was stopped.
    """
    measured = fold_scores(trial).get("fit_time")
    if measured:
        return float(np.mean(measured))
    is_whole = trial.state == TrialState.COMPLETE and "duplicate_of" not in trial.user_attrs
    return trial.duration.total_seconds() if is_whole and trial.duration else np.nan


def _internal(
    params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> dict[str, float]:
    """Return values in Optuna's internal representation, which is hashable for any choices.

    Unknown parameters and those with a single value are left out.
    """
    found = {}
    for name, value in params.items():
        distribution = distributions.get(name)
        if distribution is None or distribution.single():
            continue
        try:
            found[name] = to_internal(distribution, value)
        except (TypeError, ValueError):
            continue  # enqueued by a user, but outside the distribution
    return found


class _GrowingArray:
    """An array to which rows can be added at constant amortized cost."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._data: Array | None = None
        self._count = 0

    def insert(self, i: int, row: Any) -> None:
        row = np.asarray(row, dtype=self._dtype)
        if self._data is None:
            self._data = np.empty((16, *row.shape), dtype=self._dtype)
        if self._count == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[i + 1 : self._count + 1] = self._data[i : self._count]
        self._data[i] = row
        self._count += 1

    def fill(self, rows: Any) -> None:
        self._data, self._count = None, 0
        for i, row in enumerate(rows):
            self.insert(i, row)

    def view(self) -> Array:
        return np.empty((0, 0), self._dtype) if self._data is None else self._data[: self._count]
