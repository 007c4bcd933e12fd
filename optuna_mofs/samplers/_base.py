"""The base of every sampler: a proposal is a function of seed, trial number and history."""

from __future__ import annotations

import inspect
import secrets
import threading
import zlib
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from threadpoolctl import ThreadpoolController

from optuna_mofs._optuna import (
    enqueued_params,
    read_study_attr,
    storage_of,
    study_key,
    write_study_attr,
    write_trial_attrs,
)
from optuna_mofs._validation import check_int
from optuna_mofs.features._mask_sampling import mask_from_seed
from optuna_mofs.history._duplicates import fingerprint
from optuna_mofs.history._history import RESERVED, History
from optuna_mofs.history._search_space import SearchSpace, to_internal
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.study._completed_trials import read_metrics
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK, feature_attrs
from optuna_mofs.study._trial_note import NOTE, TrialNote

#: Attempts to propose a new configuration before the space is searched for one.
_MAX_ATTEMPTS = 20
#: How often a worker proposes again because another one reserved the same configuration.
_MAX_CONFLICTS = 6
#: A space with at most this many configurations is enumerated to the last one.
_MAX_ENUMERATED = 10_000
#: Number of studies whose history one sampler object keeps.
_MAX_STUDIES = 4


class HistorySampler(BaseSampler):
    """A sampler whose proposals depend only on seed, trial number and completed trials.

    A study that is stopped at any moment and reopened, in another process and with a new sampler
    object, therefore continues exactly as if it had not been interrupted. Everything that later
    proposals need to know about a trial goes into :attr:`Proposal.note`; all else is a cache.

    Subclasses implement :meth:`propose` and keep their arguments as attributes of the same name.

    Args:
        seed: Seed of all randomness; if None, one is drawn and kept in the study.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        self.seed = None if seed is None else check_int("seed", seed, 0)
        self._cache = _SamplerCache()

    @abstractmethod
    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return the next configuration.

        Args:
            ctx: Everything that the proposal may depend on.
        """

    def __repr__(self) -> str:
        parameters = inspect.signature(type(self)).parameters.values()
        given = [(p, getattr(self, p.name)) for p in parameters]
        shown = [f"{p.name}={value!r}" for p, value in given if value is not p.default]
        return f"{type(self).__name__}({', '.join(shown)})"

    # ---- Optuna's hooks -----------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Return every parameter that the study's description or its trials have.

        Those with tuples or lists as choices are left out: a storage returns tuples as lists,
        which Optuna would reject as another distribution. :meth:`sample_independent` takes them
        from the same proposal.
        """
        with self._cache.lock:
            self._cache.of(study).read_for = None
            history = self._history(study, trial, read_for=trial.number)
            space = history.distributions
            for name in history.space.sequence_parameters:
                del space[name]
            return space

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose a configuration, write its note on the trial, and return its parameters."""
        # The matrices of a proposal are small. While the cores are busy with models, several
        # threads that wait for each other take twenty times as long as one thread.
        with self._cache.lock, _blas_libraries().limit(limits=1, user_api="blas"):
            history = self._history(study, trial, read_for=None)
            sequences = history.space.sequence_parameters
            if not search_space and not sequences:
                return {}
            if sequences or search_space.keys() & history.distributions.keys():
                params = self._reserved_proposal(study, trial, history, search_space).params
                if sequences:
                    self._cache.of(study).sequence_choices[trial.number] = {
                        name: int(to_internal(history.distributions[name], params[name]))
                        for name in sequences & params.keys()
                    }
            else:
                # No trial has any of the requested parameters.
                _write_note(study, trial, TrialNote())
                params = {}
        found = {}
        for name, distribution in search_space.items():
            if name in params:
                found[name] = params[name]
            else:
                found[name] = self.sample_independent(study, trial, name, distribution)
        return found

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a uniform draw for a parameter that no trial has had.

        Parameters with tuples or lists as choices are taken from the proposal of the trial.
        """
        choices = getattr(param_distribution, "choices", ())
        with self._cache.lock:
            chosen = self._cache.of(study).sequence_choices.get(trial.number, {}).get(param_name)
        if chosen is not None and chosen < len(choices):
            return choices[chosen]
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._study_seed(study), self.position(study, trial), name])
        space = SearchSpace({param_name: param_distribution})
        return space.decode(space.sample(rng)[0])[param_name]

    def position(self, study: Study, trial: FrozenTrial) -> int:
        """Return the number of a trial in the study without interruptions."""
        with self._cache.lock:
            history = self._cache.of(study).history
            if trial.number >= history.n_read:
                history = self._history(study, trial, read_for=None)
            return history.position(trial)

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Forget what was kept of the proposal."""
        with self._cache.lock:
            self._cache.of(study).sequence_choices.pop(trial.number, None)

    def reseed_rng(self) -> None:
        """Do nothing: each trial has a generator of its own."""

    # ---- inside -------------------------------------------------------------------------------

    def _history(self, study: Study, trial: FrozenTrial, *, read_for: int | None) -> History:
        """Return the history, read again unless it was just read for this trial.

        Optuna infers the search space and then at once samples: one reading serves both.
        """
        cache = self._cache.of(study)
        is_current, cache.read_for = cache.read_for == trial.number, read_for
        if is_current:
            return cache.history
        if cache.history.described is None:
            described = StudyDescription.read(study)
            if described is not None:
                cache.history = History(described)
                cache.study_cache = {}
        cache.history.update(study, exclude=trial.number)
        return cache.history

    def _study_seed(self, study: Study) -> int:
        if self.seed is not None:
            return self.seed
        with self._cache.lock:
            cache = self._cache.of(study)
            if cache.seed is not None:
                return cache.seed
            found = read_study_attr(study, "seed")
            if found is not None:
                cache.seed = int(found)
                return cache.seed
            write_study_attr(study, "seed", secrets.randbits(31))
            # Another worker may be writing at this moment. The storage decides: the seed is read
            # again at the next trial before it is cached.
            return int(read_study_attr(study, "seed"))

    def _reserved_proposal(
        self,
        study: Study,
        trial: FrozenTrial,
        history: History,
        search_space: Mapping[str, BaseDistribution],
    ) -> _EncodedProposal:
        """Propose a configuration, reserve it on the trial, and retry on a conflict.

        There is a conflict if another worker has reserved the same configuration. Of two workers
        at least the one that reserves later sees the other, so no two continue with the same.
        """
        decided = {**enqueued_params(trial), **trial.params}
        number, seed = history.position(trial), self._study_seed(study)
        metrics, study_cache = partial(read_metrics, study), self._cache.of(study).study_cache
        for n_conflicts in range(_MAX_CONFLICTS):
            caches: tuple[dict[str, Any], dict[str, Any]] = (study_cache, {})
            for attempt in range(_MAX_ATTEMPTS):
                rng = np.random.default_rng([seed, number, n_conflicts * _MAX_ATTEMPTS + attempt])
                ctx = ProposalContext(
                    history, rng, number, attempt, n_conflicts, seed, metrics, *caches
                )
                made = _EncodedProposal(history, self.propose(ctx), decided)
                if not history.contains_internal(made.internal):
                    break
            else:
                made.is_new = False
                made = _unseen(history, rng, decided) or made
            more, shown = {}, {}
            if made.mask is not None and made.mask_attr is not None and history.codec is not None:
                name = history.codec.name
                # A mask that was enqueued, or suggested before a crash, keeps its attribute.
                if name in search_space and name not in decided:
                    more[MASK] = made.mask_attr
                    # Here, because together they cost less than a second write.
                    table = history.codec.table
                    shown = feature_attrs(table, table.full_mask(made.mask))
            _write_note(study, trial, made.note, fingerprint(made.internal), more, shown)
            if not made.is_new:
                break
            history.update(study, exclude=trial.number)
            if not history.contains_internal(made.internal):
                break
        return made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cache = _SamplerCache()


class _StudyCache:
    """Cache of one study; can be rebuilt from the storage at any time."""

    def __init__(self, storage: BaseStorage) -> None:
        self.storage = storage  # a reference, so that its id is not used again
        self.seed: int | None = None
        self.history = History()
        #: Number of the trial for which the history was just read.
        self.read_for: int | None = None
        #: By trial number: positions of the proposed choices that are tuples or lists.
        self.sequence_choices: dict[int, dict[str, int]] = {}
        self.study_cache: dict[str, Any] = {}


class _SamplerCache:
    """Caches of the studies that were used last; dropped by pickling."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._studies: OrderedDict[tuple[int, int], _StudyCache] = OrderedDict()

    def of(self, study: Study) -> _StudyCache:
        key = study_key(study)
        if key not in self._studies:
            self._studies[key] = _StudyCache(storage_of(study))
        self._studies.move_to_end(key)
        while len(self._studies) > _MAX_STUDIES:
            self._studies.popitem(last=False)
        return self._studies[key]


class _EncodedProposal:
    """A proposal as parameters of the trial, and as the attribute that holds its mask.

    ``decided`` are the parameters of the trial that are already set or enqueued.
    """

    def __init__(self, history: History, proposal: Proposal, decided: Mapping[str, Any]) -> None:
        self.params = history.space.decode(proposal.row)
        self.mask = proposal.mask
        self.mask_attr: list[Any] | None = None
        self.is_new = True
        if history.codec is not None and proposal.mask is not None:
            chosen, self.mask_attr = history.codec.encode(proposal.mask)
            self.params = {**chosen, **self.params}
        final = {**self.params, **decided}
        self.internal = history.internal(final)
        is_replaced = final != {**decided, **self.params}
        self.note = TrialNote("enqueued") if is_replaced else proposal.note


def _write_note(
    study: Study,
    trial: FrozenTrial,
    note: TrialNote,
    reserved: str | None = None,
    more: Mapping[str, Any] | None = None,
    shown: Mapping[str, Any] | None = None,
) -> None:
    """Write a note, and its operator where the dashboard and ``trials_dataframe`` show it."""
    data = note.to_json() | ({} if reserved is None else {RESERVED: reserved})
    user = {"operator": note.operator, **(shown or {})}
    write_trial_attrs(study, trial, system={NOTE: data, **(more or {})}, user=user)


def _unseen(
    history: History, rng: np.random.Generator, decided: Mapping[str, Any]
) -> _EncodedProposal | None:
    """Return a random configuration that no trial has, if one is found."""
    table, space = history.table, history.space
    p = 0 if table is None else len(table.free)
    size = space.size() * 2.0 ** min(p, 1000)
    if history.n_configurations >= space.size() * (1.0 if table is None else table.n_masks):
        return None
    for position in range(50) if size > _MAX_ENUMERATED else rng.permutation(int(size)):
        mask = None
        if size > _MAX_ENUMERATED:
            row = space.sample(rng)[0]
            if table is not None:
                mask = mask_from_seed(table, int(rng.integers(2**52)))
        else:
            row = space.nth(int(position) >> p)
            if table is not None:
                mask = np.array([position >> j & 1 for j in range(p)], dtype=bool)
                if not table.allows(mask):
                    continue
        made = _EncodedProposal(history, Proposal(row, mask, TrialNote("unseen")), decided)
        if not history.contains_internal(made.internal):
            return made
    return None


@cache
def _blas_libraries() -> ThreadpoolController:
    return ThreadpoolController()  # slow: it inspects all loaded libraries
