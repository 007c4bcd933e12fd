"""The base of every sampler: a proposal is a function of seed, trial number and history."""

from __future__ import annotations

import secrets
import threading
import zlib
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._storage import read_study_attr, write_study_attr, write_trial_attr
from optuna_mofs.description import StudyDescription
from optuna_mofs.features.table import Array
from optuna_mofs.history import PROPOSAL, History
from optuna_mofs.parameters import ParameterSpace
from optuna_mofs.selection import MASK

T = TypeVar("T")

#: Attempts to find a proposal that no trial has, before the space is searched for one.
_ATTEMPTS = 20
#: A space with at most this many configurations is searched to the last one.
_ENUMERABLE = 10_000


@dataclass
class Proposal:
    """A configuration that a sampler wants to be evaluated.

    Args:
        row: Hyperparameters, encoded by the history's parameter space.
        mask: Over the free features, or None in a study without masks.
        operator: What made it, for people and for plots.
        parents: Numbers of the trials it was made of.
        memory: What the algorithm must remember of it (JSON values).
    """

    row: Array
    mask: Array | None = None
    operator: str = "random"
    parents: tuple[int, ...] = ()
    memory: dict[str, Any] = field(default_factory=dict)

    def note(self) -> dict[str, Any]:
        """What is written on the trial."""
        return {"operator": self.operator, "parents": list(self.parents), **self.memory}


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
        if seed is not None and (not isinstance(seed, int | np.integer) or seed < 0):
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

    def kept(self, key: str, make: Callable[[], T]) -> T:
        """Something kept for the study at hand, made when first asked for.

        It must be computable from the history: it is dropped with the study and by pickling.
        """
        if key not in self._cache.kept:
            self._cache.kept[key] = make()
        kept: T = self._cache.kept[key]
        return kept

    # ---- Optuna's side ------------------------------------------------------------------------

    def infer_relative_search_space(
        self, study: Study, trial: FrozenTrial
    ) -> dict[str, BaseDistribution]:
        """Everything the study's description or its finished trials tell of."""
        with self._cache.lock:
            return dict(self._history(study, trial).distributions)

    def sample_relative(
        self, study: Study, trial: FrozenTrial, search_space: dict[str, BaseDistribution]
    ) -> dict[str, Any]:
        """Propose, write down how it was made, and hand over the parameters."""
        if not search_space:
            return {}
        with self._cache.lock:
            history = self._history(study, trial)
            history.require(search_space)
            proposal, params, mask_attr = self._fresh_proposal(study, history, trial.number)
        fixed = trial.system_attrs.get("fixed_params", {})
        if mask_attr is not None and history.codec is not None:
            name = history.codec.name
            if name in search_space and name not in fixed:
                write_trial_attr(study, trial, MASK, mask_attr)
        write_trial_attr(study, trial, PROPOSAL, proposal.note())
        return {name: params[name] for name in search_space if name in params}

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """A uniform draw for a parameter that nothing was known of."""
        name = zlib.crc32(param_name.encode())
        rng = np.random.default_rng([self._seed(study), trial.number, name])
        space = ParameterSpace({param_name: param_distribution})
        return space.decode(space.sample(rng)[0])[param_name]

    def reseed_rng(self) -> None:
        """Nothing to do: each trial has a generator of its own."""

    # ---- inside -------------------------------------------------------------------------------

    def _history(self, study: Study, trial: FrozenTrial) -> History:
        cache = self._cache
        key = (id(study._storage), study._study_id)
        described = StudyDescription.read(study) if cache.history.described is None else None
        if cache.key != key or described is not None:
            cache.key, cache.seed = key, None
            cache.storage = study._storage
            cache.kept = {}
            cache.history = History(StudyDescription.read(study))
        cache.history.update(study, but=trial.number)
        return cache.history

    def _seed(self, study: Study) -> int:
        if self.seed is not None:
            return self.seed
        if self._cache.seed is None or self._cache.key != (id(study._storage), study._study_id):
            found = read_study_attr(study, "seed")
            if found is None:
                write_study_attr(study, "seed", secrets.randbits(31))
                # Another worker may have written at the same moment: the storage decides.
                found = read_study_attr(study, "seed")
            self._cache.seed = int(found)
        return self._cache.seed

    def _fresh_proposal(
        self, study: Study, history: History, number: int
    ) -> tuple[Proposal, dict[str, Any], list[Any] | None]:
        seed = self._seed(study)
        for attempt in range(_ATTEMPTS):
            rng = np.random.default_rng([seed, number, attempt])
            proposal = self.propose(history, rng, number)
            params, mask_attr = _decoded(history, proposal)
            if not history.is_known(params):
                return proposal, params, mask_attr
        proposal = _unseen(history, rng) or proposal
        return proposal, *_decoded(history, proposal)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_cache": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._cache = _Cache()


class _Cache:
    """What a sampler holds of one study; dropped by pickling, rebuilt from the storage."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.key: tuple[int, int] | None = None
        self.storage: Any = None  # kept alive, so that its id stays its own
        self.seed: int | None = None
        self.history = History()
        self.kept: dict[str, Any] = {}


def _decoded(history: History, proposal: Proposal) -> tuple[dict[str, Any], list[Any] | None]:
    params = history.space.decode(proposal.row)
    if history.codec is None or proposal.mask is None:
        return params, None
    chosen, mask_attr = history.codec.encode(proposal.mask)
    return {**chosen, **params}, mask_attr


def _unseen(history: History, rng: np.random.Generator) -> Proposal | None:
    """A random configuration that no trial has, if there is one to be found."""
    p = 0 if history.table is None else len(history.table.free)
    size = history.space.size() * 2.0**p
    tries = range(50) if size > _ENUMERABLE else rng.permutation(int(size))
    for place in tries:
        if size > _ENUMERABLE:
            row = history.space.sample(rng)[0]
            mask = None if history.table is None else rng.random(p) < 0.5
        else:
            row, mask = _configuration(history.space, p, int(place))
            mask = None if history.table is None else mask
        proposal = Proposal(row, mask, operator="unseen")
        if not history.is_known(_decoded(history, proposal)[0]):
            return proposal
    return None


def _configuration(space: ParameterSpace, p: int, place: int) -> tuple[Array, Array]:
    """The configuration at a place in the list of all."""
    mask = np.zeros(p, dtype=bool)
    for j in range(p):
        place, mask[j] = divmod(place, 2)
    unit = np.zeros((1, len(space)))
    for i, cells in enumerate(space.cells):
        place, cell = divmod(place, int(cells))
        unit[0, i] = (cell + 0.5) / cells
    return space.from_unit(unit)[0], mask
