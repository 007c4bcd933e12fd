"""The finished trials of a study as arrays, read incrementally."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._storage import frozen_attr, trials_of
from optuna_mofs.description import StudyDescription
from optuna_mofs.features.codec import unpack
from optuna_mofs.features.representation import MaskFeatures
from optuna_mofs.features.table import Array, FeatureTable
from optuna_mofs.parameters import ParameterSpace, widened
from optuna_mofs.selection import MASK

#: Key of the trial attribute in which a sampler remembers how it made a proposal.
PROPOSAL = "proposal"


class History:
    """What a sampler knows of a study: finished trials by number, and what is running.

    All of it can be computed again from the storage; the object is a cache of that.

    Args:
        described: What the study says of its parameters, if it says anything.

    Attributes:
        numbers: Trial numbers, ascending.
        values: Trials × objectives, minimised.
        rows: Trials × parameters, encoded by ``space``, NaN where a parameter was inactive.
        packed: Trials × bytes, the masks over the free features (see :func:`codec.pack`).
        sizes: Number of free features of each trial.
        violations: Sum of constraint violations of each trial, 0 for feasible ones.
        notes: What the sampler wrote on each trial.
    """

    def __init__(self, described: StudyDescription | None = None) -> None:
        self.described = described
        chosen = None if described is None else described.representation
        #: Masks ↔ suggestions, or None for a study without masks.
        self.codec = chosen.codec if isinstance(chosen, MaskFeatures) else None
        self._masked = frozenset(() if self.codec is None else self.codec.parameters)
        self.space = ParameterSpace({})
        self._distributions: dict[str, BaseDistribution] = {}
        self._signs: Array = np.ones(1)
        self._trials: list[FrozenTrial] = []
        self._numbers = _Rows(np.int64)
        self._values = _Rows(float)
        self._violations = _Rows(float)
        self._rows = _Rows(float)
        self._packed = _Rows(np.uint8)
        self._sizes = _Rows(np.int64)
        self.notes: list[dict[str, Any]] = []
        self._settled: set[int] = set()
        self._settled_to = 0
        self._finished_params: dict[tuple[str, ...], set[tuple[Any, ...]]] = {}
        self._running_params: list[dict[str, Any]] = []
        if described is not None:
            self.require(described.distributions)

    def __len__(self) -> int:
        return len(self._trials)

    @property
    def numbers(self) -> Array:
        """Trial numbers, ascending."""
        return self._numbers.view()

    @property
    def values(self) -> Array:
        """Trials × objectives, minimised."""
        return self._values.view()

    @property
    def violations(self) -> Array:
        """Sum of constraint violations of each trial."""
        return self._violations.view()

    @property
    def rows(self) -> Array:
        """Trials × parameters."""
        return self._rows.view()

    @property
    def packed(self) -> Array:
        """Trials × bytes, the masks over the free features."""
        return self._packed.view()

    @property
    def sizes(self) -> Array:
        """Number of free features of each trial."""
        return self._sizes.view()

    def mask(self, i: int) -> Array:
        """Mask over the free features of the i-th trial."""
        assert self.table is not None
        return unpack(self.packed[i], len(self.table.free))

    @property
    def table(self) -> FeatureTable | None:
        """The features, where a sampler may set the mask."""
        return None if self.codec is None else self.codec.table

    @property
    def distributions(self) -> dict[str, BaseDistribution]:
        """Every suggestion known, the mask's first."""
        mask = {} if self.codec is None else self.codec.distributions
        return {**mask, **self.space.distributions}

    def reference(self) -> Array:
        """The worst sensible value of each objective, minimised.

        What the description says, and where it says nothing a little worse than the worst seen.
        """
        values = self.values
        low, high = values.min(axis=0), values.max(axis=0)
        reference: Array = high + 0.1 * np.where(high > low, high - low, 1.0)
        measures = () if self.described is None else self.described.measures
        if len(measures) == len(self._signs):
            for j, measure in enumerate(measures):
                if measure.worst is not None:
                    reference[j] = self._signs[j] * measure.worst
        return reference

    # ---- reading ------------------------------------------------------------------------------

    def update(self, study: Study, *, but: int | None = None) -> None:
        """Read what is new in the study.

        Args:
            study: The study.
            but: Number of the trial that asks, which is no history to itself.
        """
        self._signs = np.array(
            [-1.0 if d == StudyDirection.MAXIMIZE else 1.0 for d in study.directions]
        )
        trials = trials_of(study)
        self._running_params = []
        fresh = []
        for trial in trials[self._settled_to :]:
            if trial.number in self._settled or trial.number == but:
                continue
            if trial.state.is_finished():
                fresh.append(trial)
            elif trial.params:
                self._running_params.append(trial.params)
        for trial in fresh:
            self._settle(trial)
        while self._settled_to in self._settled:
            self._settled.remove(self._settled_to)
            self._settled_to += 1

    def require(self, distributions: Mapping[str, BaseDistribution]) -> None:
        """Make sure that the space holds these parameters."""
        changed = False
        for name, new in distributions.items():
            if name in self._masked:
                continue
            old = self._distributions.get(name)
            if old is None or old != new:
                wide = new if old is None else widened(old, new)
                changed |= wide != old
                self._distributions[name] = wide
        if changed:
            self.space = ParameterSpace(self._distributions)
            self._rows.fill([self.space.encode(t.params) for t in self._trials])

    def is_known(self, params: Mapping[str, Any]) -> bool:
        """Whether a finished or running trial has these parameters.

        Parameters that a trial did not ask for (inactive ones) do not count.
        """
        for names, seen in self._finished_params.items():
            if all(n in params for n in names) and tuple(params[n] for n in names) in seen:
                return True
        return any(
            all(n in params and params[n] == v for n, v in running.items())
            for running in self._running_params
        )

    def _settle(self, trial: FrozenTrial) -> None:
        self._settled.add(trial.number)
        names = tuple(sorted(trial.params))
        if names:
            seen = self._finished_params.setdefault(names, set())
            seen.add(tuple(trial.params[n] for n in names))
        if trial.state != TrialState.COMPLETE:
            return
        mask = None
        if self.codec is not None:
            mask = self.codec.decode(trial.params, frozen_attr(trial, MASK))
            if mask is None:
                return
        self.require(trial.distributions)
        late = bool(self._trials) and trial.number < self._trials[-1].number
        self._trials.append(trial)
        self.notes.append(frozen_attr(trial, PROPOSAL) or {})
        self._numbers.append(trial.number)
        values = np.nan_to_num(np.array(trial.values), posinf=1e300, neginf=-1e300)
        self._values.append(self._signs * values)
        self._violations.append(sum(max(0.0, c) for c in trial.constraints.values()))
        self._rows.append(self.space.encode(trial.params))
        if mask is not None:
            self._packed.append(np.packbits(mask))
            self._sizes.append(np.count_nonzero(mask))
        if late:
            self._sort()

    def _sort(self) -> None:
        # A slow worker told an older trial: history is ordered by number, whoever came first.
        order = np.argsort(self.numbers, kind="stable")
        self._trials = [self._trials[i] for i in order]
        self.notes = [self.notes[i] for i in order]
        for rows in (
            self._numbers,
            self._values,
            self._violations,
            self._rows,
            self._packed,
            self._sizes,
        ):
            if len(rows):
                rows.fill(rows.view()[order])


class _Rows:
    """An array that grows by rows at constant cost a row."""

    def __init__(self, dtype: Any) -> None:
        self._dtype = dtype
        self._data: Array | None = None
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, row: Any) -> None:
        row = np.asarray(row, dtype=self._dtype)
        if self._data is None or self._data.shape[1:] != row.shape:
            self._data = np.empty((16, *row.shape), dtype=self._dtype)
        if self._count == len(self._data):
            self._data = np.concatenate([self._data, np.empty_like(self._data)])
        self._data[self._count] = row
        self._count += 1

    def fill(self, rows: Any) -> None:
        rows = list(rows)
        self._data, self._count = None, 0
        for row in rows:
            self.append(row)

    def view(self) -> Array:
        return np.empty((0, 0), self._dtype) if self._data is None else self._data[: self._count]
