"""The base of every sampler: a proposal is a function of seed, trial number and history."""

from __future__ import annotations

import secrets
import threading
import zlib
from abc import abstractmethod
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.storages import BaseStorage
from optuna.study import Study
from optuna.trial import FrozenTrial, TrialState
from threadpoolctl import ThreadpoolController

from optuna_mofs._optuna import (
    frozen_attr,
    read_study_attr,
    write_study_attr,
    write_trial_attr,
    write_user_attr,
)
from optuna_mofs.features._mask_sampling import mask_from_seed
from optuna_mofs.history._duplicates import fingerprint
from optuna_mofs.history._history import CONFIGURATION, PROPOSAL, History
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import MASK

T = TypeVar("T")
#: Attempts to find a proposal that no trial has, before the space is searched for one.
_ATTEMPTS = 20
#: How often a worker gives way to another that is about to try the same.
_TURNS = 6
#: A space with at most this many configurations is searched to the last one.
_ENUMERABLE = 10_000
#: Studies whose history one sampler object keeps at hand.
_STUDIES = 4


class HistorySampler(BaseSampler):
    """A sampler whose proposals depend on seed, trial number and finished trials alone.

    A study that is stopped at any moment and reopened, in another process and with a new sampler
    object, therefore goes on exactly as if nothing had happened. What a subclass must remember of
    a trial it puts into :attr:`Proposal.memory`; what it keeps on itself is a cache.

    Subclasses implement :meth:`propose`.

    Args:
        seed: Seed of all randomness; if None, one is drawn and kept in the study.
    """

    def __init__(self, *, seed: int | None = None) -> None:
        whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool)
        if seed is not None and not (whole and seed >= 0):
            raise ValueError(f"seed must be None or an integer of at least 0, but is {seed!r}.")
        self.seed = None if seed is None else int(seed)
        self._cache = _Cache()

    @abstractmethod
    def propose(self, history: History, rng: np.random.Generator, number: int) -> Proposal:
        """The next configuration.

        Args:
            history: What is known; do not change it.
            rng: Generator of this trial (and this attempt, if an earlier one gave a clone).
            number: The trial's number.
        """

    @property
    def study_seed(self) -> int:
        """Seed of the study at hand, for what its trials share; known while proposing."""
        seed = self._cache.seed
        assert seed is not None, "There is no study at hand."
        return seed

    @property
    def gave_way(self) -> int:
        """How often the proposal at hand gave way to that of another worker.

        Two workers that follow the same order would run into each other again and again; from 1
        on a sampler should leave more to chance.
        """
        return self._cache.turn

    def kept(self, key: str, make: Callable[[], T]) -> T:
        """Something kept for the study at hand, made when first asked for.

        It must be computable from the history: it is dropped with the study and by pickling.
        """
        everything = self._cache.current.kept
        if key not in everything:
            everything[key] = make()
        kept: T = everything[key]
        return kept

    # ---- Optuna's side ------------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Everything the study's description or its finished trials tell of."""
        with self._cache.lock:
            history = self._history(study, trial)
            self._cache.current.read_for = trial.number
            return dict(history.distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose, write down how it was made, and hand over the parameters."""
        if not search_space:
            return {}
        with self._cache.lock, one_blas_thread():
            history = self._history_read_for(study, trial)
            if search_space.keys() & history.distributions.keys():
                made = self._announced_proposal(study, trial, history, search_space)
            else:
                # Somebody asks about parameters of which no trial tells.
                made = _Made(history, Proposal(np.full(len(history.space), np.nan)), {})
                write_trial_attr(study, trial, PROPOSAL, made.proposal.note())
        return {
            name: made.params[name]
            if name in made.params
            else self.sample_independent(study, trial, name, distribution)
            for name, distribution in search_space.items()
        }

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A uniform draw for a parameter that nothing was known of."""
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._seed(study), _first_number(trial), name])
        space = ParameterSpace({param_name: param_distribution})
        return space.decode(space.sample(rng)[0])[param_name]

    def after_trial(
        self, study: Study, trial: FrozenTrial, state: TrialState, values: Sequence[float] | None
    ) -> None:
        """Write the operator where optuna-dashboard and ``study.trials_dataframe`` show it."""
        note = frozen_attr(trial, PROPOSAL)
        if note is not None and "operator" not in trial.user_attrs:
            write_user_attr(study, trial, "operator", note["operator"])

    def reseed_rng(self) -> None:
        """Nothing to do: each trial has a generator of its own."""

    # ---- inside -------------------------------------------------------------------------------

    def _history(self, study: Study, trial: FrozenTrial) -> History:
        cache = self._cache.of(study)
        if cache.history.described is None:
            described = StudyDescription.read(study)
            if described is not None:
                cache.history = History(described)
                cache.kept = {}
        cache.history.update(study, but=trial.number)
        cache.read_for = None
        return cache.history

    def _history_read_for(self, study: Study, trial: FrozenTrial) -> History:
        # Optuna asks for the space and at once for values: one reading serves both.
        cache = self._cache.of(study)
        if cache.read_for != trial.number:
            return self._history(study, trial)
        cache.read_for = None
        return cache.history

    def _seed(self, study: Study) -> int:
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
            # Another worker may be writing at this moment. The storage decides, so that the seed
            # is read again at the next trial before it is taken for granted.
            return int(read_study_attr(study, "seed"))

    def _announced_proposal(
        self,
        study: Study,
        trial: FrozenTrial,
        history: History,
        search_space: Mapping[str, BaseDistribution],
    ) -> _Made:
        """Propose, announce it on the trial, and give way to a worker that announced the same.

        Of two workers at least the one that announces later sees the other: no two of them go on
        with equal announcements.
        """
        decided = {**trial.system_attrs.get("fixed_params", {}), **trial.params}
        seed = self._cache.seed = self._seed(study)
        for turn in range(_TURNS):
            self._cache.turn = turn
            made = self._fresh_proposal(history, seed, _first_number(trial), turn, decided)
            note = {**made.note(), CONFIGURATION: fingerprint(made.internal)}
            if made.mask_attr is not None and history.codec is not None:
                name = history.codec.name
                # A mask that is fixed, or was suggested before a crash, keeps its own.
                if name in search_space and name not in decided:
                    write_trial_attr(study, trial, MASK, made.mask_attr)
            write_trial_attr(study, trial, PROPOSAL, note)
            if not made.is_new:
                break
            history.update(study, but=trial.number)
            if not history.holds(made.internal):
                break
        return made

    def _fresh_proposal(
        self, history: History, seed: int, number: int, turn: int, decided: Mapping[str, Any]
    ) -> _Made:
        for attempt in range(turn * _ATTEMPTS, (turn + 1) * _ATTEMPTS):
            rng = np.random.default_rng([seed, number, attempt])
            made = _Made(history, self.propose(history, rng, number), decided)
            if not history.holds(made.internal):
                return made
        made.is_new = False
        return _unseen(history, rng, decided) or made

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cache = _Cache()


class _StudyCache:
    """What a sampler holds of one study; can be rebuilt from the storage at any time."""

    def __init__(self, storage: BaseStorage) -> None:
        self.storage = storage  # kept alive, so that its id stays its own
        self.seed: int | None = None
        self.history = History()
        #: Number of the trial for which the history was just read.
        self.read_for: int | None = None
        self.kept: dict[str, Any] = {}


class _Cache:
    """What a sampler holds of the studies it was last asked for; dropped by pickling."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        #: Seed of the last proposal.
        self.seed: int | None = None
        #: How often the last proposal gave way to another worker's.
        self.turn = 0
        self._studies: OrderedDict[tuple[int, int], _StudyCache] = OrderedDict()

    @property
    def current(self) -> _StudyCache:
        """That of the study at hand."""
        return next(reversed(self._studies.values()))

    def of(self, study: Study) -> _StudyCache:
        """That of a study, which becomes the one at hand."""
        key = (id(study._storage), study._study_id)
        if key not in self._studies:
            self._studies[key] = _StudyCache(study._storage)
        self._studies.move_to_end(key)
        while len(self._studies) > _STUDIES:
            self._studies.popitem(last=False)
        return self._studies[key]


class _Made:
    """A proposal, and the parameters and the attribute that stand for it.

    Args:
        history: Of the study.
        proposal: The proposal.
        decided: Parameters of the trial that are not the sampler's to choose.
    """

    def __init__(self, history: History, proposal: Proposal, decided: Mapping[str, Any]) -> None:
        self.proposal = proposal
        self.params = history.space.decode(proposal.row)
        self.mask_attr: list[Any] | None = None
        self.is_new = True
        if history.codec is not None and proposal.mask is not None:
            chosen, self.mask_attr = history.codec.encode(proposal.mask)
            self.params = {**chosen, **self.params}
        self.internal = history.internal({**self.params, **decided})
        self._decided = decided

    def note(self) -> dict[str, Any]:
        """What is written on the trial: how it was made, if it will be what was made."""
        own = self.params.keys() & self._decided.keys()
        if any(self.params[name] != self._decided[name] for name in own):
            return Proposal(self.proposal.row, operator="queued").note()
        return self.proposal.note()


def _first_number(trial: FrozenTrial) -> int:
    """The number of a trial, or of the one that it repeats because that was cut off.

    What was not suggested before the end then becomes what it would have been.
    """
    return int(trial.system_attrs.get("failed_trial", trial.number))


def _unseen(
    history: History, rng: np.random.Generator, decided: Mapping[str, Any]
) -> _Made | None:
    """A random configuration that no trial has, if there is one to be found."""
    table, space = history.table, history.space
    size = space.size() * (1.0 if table is None else 2.0 ** min(len(table.free), 1000))
    if history.tried >= size:
        return None
    for place in range(50) if size > _ENUMERABLE else rng.permutation(int(size)):
        mask = None
        if size > _ENUMERABLE:
            row = space.sample(rng)[0]
            if table is not None:
                mask = mask_from_seed(table, int(rng.integers(2**52)))
        elif table is None:
            row = space.nth(int(place))
        else:
            rest, bits = divmod(int(place), 2 ** len(table.free))
            row = space.nth(rest)
            mask = np.array([bits >> j & 1 for j in range(len(table.free))], dtype=bool)
        made = _Made(history, Proposal(row, mask, operator="unseen"), decided)
        if not history.holds(made.internal):
            return made
    return None


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one core.

    The matrices of a proposal are small. Where the cores are busy with models, threads that wait
    for each other take twenty times as long as one alone.
    """
    with _libraries().limit(limits=1, user_api="blas"):
        yield


@cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()  # looks through all that is loaded, which takes a while
