"""The finished trials of a study as arrays, read incrementally."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.study import Study, StudyDirection
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import frozen_attr, trials_of
from optuna_mofs._typing import Array
from optuna_mofs.features._codec import unpack
from optuna_mofs.features._representation import MaskFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._duplicates import _Known
from optuna_mofs.history._search_space import ParameterSpace, widened
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK

T = TypeVar("T")
#: Key of the trial attribute in which a sampler remembers how it made a proposal.
PROPOSAL = "proposal"
#: Key in it of the fingerprint by which workers see that they are about to try the same.
CONFIGURATION = "configuration"
#: Infinite values are legal in Optuna; a number that can be added to is easier to work with.
_INFINITE = 1e300


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
        running_notes: What the sampler wrote on the trials that run now, by number.
        running_numbers: The numbers of these trials.
    """

    def __init__(self, described: StudyDescription | None = None) -> None:
        self.described = described
        chosen = None if described is None else described.representation
        #: Masks ↔ suggestions, or None for a study without masks.
        self.codec = chosen.codec if isinstance(chosen, MaskFeatures) else None
        self.space = ParameterSpace({})
        self._masked = {} if self.codec is None else self.codec.distributions
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
        self.running_notes: list[dict[str, Any]] = []
        self.running_numbers: list[int] = []
        self._read_to = 0
        self._open: list[int] = []
        self._known = _Known()
        if described is not None:
            self.require(described.distributions)
            self._known.named = frozenset(self.distributions) - described.active_if.keys()

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

    def masks(self, positions: Iterable[int]) -> Array:
        """The masks of some trials over the free features."""
        return np.array([self.mask(i) for i in positions])

    def of_each(self, known: dict[int, T], make: Callable[[list[int]], Iterable[T]]) -> list[T]:
        """Something of each trial, made once.

        Args:
            known: What was made before, by trial number; what is new is added.
            make: Makes it for the trials at some positions.
        """
        numbers = self.numbers.ravel().tolist()
        new = [i for i, number in enumerate(numbers) if number not in known]
        if new:
            known.update(zip((numbers[i] for i in new), make(new)))
        return [known[number] for number in numbers]

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
        return {**self._masked, **self.space.distributions}

    @property
    def active_if(self) -> Mapping[str, tuple[str, Sequence[Any]]]:
        """What the description says of parameters that are not in every trial."""
        return {} if self.described is None else self.described.active_if

    def reference(self) -> Array:
        """The worst sensible value of each objective, minimised.

        What the description says, and where it says nothing a little worse than the worst finite
        value seen.
        """
        values = self.values
        finite = np.abs(values) < _INFINITE
        low = values.min(axis=0, where=finite, initial=_INFINITE)
        high = values.max(axis=0, where=finite, initial=-_INFINITE)
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
        # Trials are numbered by their place. Only new ones and those unfinished last time are
        # looked at: a trial that a dead process left running does not make the others dear.
        waiting = [*self._open, *range(self._read_to, len(trials))]
        self._open = []
        self._read_to = len(trials)
        self._known.unfinished = []
        self._known.announced = set()
        self.running_notes = []
        self.running_numbers = []
        for number in waiting:
            trial = trials[number]
            if trial.state.is_finished():
                self._settle(trial)
            else:
                self._open.append(number)
        for number in self._open:
            if number != but:
                self._meet_unfinished(trials[number])

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
            # By name: the order of columns must not tell which trial was finished first.
            self.space = ParameterSpace(dict(sorted(self._distributions.items())))
            self._rows.fill([self.space.encode(t.params) for t in self._trials])

    def is_known(self, params: Mapping[str, Any]) -> bool:
        """Whether a finished, running or queued trial has these parameters.

        Parameters that a trial did not ask for (inactive ones) do not count.
        """
        return self.holds(self.internal(params))

    def has_tried(self, row: Array, mask: Array | None = None) -> bool:
        """:meth:`is_known` for an encoded row and a mask over the free features."""
        params = self.space.decode(row)
        if self.codec is not None and mask is not None:
            params = {**self.codec.encode(mask)[0], **params}
        return self.is_known(params)

    def internal(self, params: Mapping[str, Any]) -> dict[str, float]:
        """Parameters as the numbers that Optuna stores, without unknown ones and constants.

        Those that the study's description says are inactive beside the others are left out too.
        """
        described = self.described
        if described is not None and described.active_if:
            params = {n: v for n, v in params.items() if described.is_active(n, params)}
        return _internal(params, self.distributions)

    def holds(self, internal: Mapping[str, float]) -> bool:
        """:meth:`is_known` for parameters in Optuna's numbers."""
        return self._known.holds(internal)

    @property
    def tried(self) -> int:
        """Number of different configurations that were completed, of one set of parameters."""
        return self._known.tried

    def _meet_unfinished(self, trial: FrozenTrial) -> None:
        if trial.state == TrialState.RUNNING:
            note = frozen_attr(trial, PROPOSAL) or {}
            self.running_notes.append(note)
            self.running_numbers.append(trial.number)
            # What a sampler announced counts before all of it is suggested.
            self._known.announced.add(note.get(CONFIGURATION))
        # A queued trial says beforehand which values it will have.
        params = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        self._known.unfinished.append(
            _internal(params, {**self.distributions, **trial.distributions})
        )

    def _settle(self, trial: FrozenTrial) -> None:
        complete = trial.state == TrialState.COMPLETE
        self._known.add(_internal(trial.params, trial.distributions), complete=complete)
        if not complete:
            return
        mask = None
        if self.codec is not None:
            mask = self.codec.decode(trial.params, frozen_attr(trial, MASK))
            if mask is None:
                return
        self.require(trial.distributions)
        # By number, whoever came first: a slow worker may tell an older trial.
        i = int(np.searchsorted(self._numbers.view().ravel(), trial.number))
        self._trials.insert(i, trial)
        self.notes.insert(i, frozen_attr(trial, PROPOSAL) or {})
        self._numbers.insert(i, trial.number)
        values = np.nan_to_num(np.array(trial.values), posinf=_INFINITE, neginf=-_INFINITE)
        self._values.insert(i, self._signs * values)
        broken = sum(max(0.0, c) for c in trial.constraints.values())
        self._violations.insert(i, min(broken, _INFINITE))
        self._rows.insert(i, self.space.encode(trial.params))
        if mask is not None:
            self._packed.insert(i, np.packbits(mask))
            self._sizes.insert(i, np.count_nonzero(mask))


def _internal(
    params: Mapping[str, Any], distributions: Mapping[str, BaseDistribution]
) -> dict[str, float]:
    """Values as the numbers that Optuna stores, which can be hashed whatever the choices are.

    Parameters that are unknown or have a single value are left out.
    """
    found = {}
    for name, value in params.items():
        distribution = distributions.get(name)
        if distribution is None or distribution.single():
            continue
        try:
            found[name] = float(distribution.to_internal_repr(value))
        except (TypeError, ValueError):
            continue  # a user queued what the distribution does not have
    return found


def unchanged(before: Array, now: Array) -> int:
    """How many of the first trials are the same, by their numbers.

    A slow worker may tell an older trial: what was made of those after it must be made again.

    Example:
        >>> unchanged(np.array([0, 1, 4, 5]), np.array([0, 1, 3, 4, 5]))
        2
    """
    both = min(len(before), len(now))
    differ = np.flatnonzero(before[:both] != now[:both])
    return int(differ[0]) if len(differ) else both


class _Rows:
    """An array that grows by rows at constant cost a row."""

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
