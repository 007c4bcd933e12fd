"""The only module that relies on undocumented parts of Optuna.

Optuna 5 has no public call for system attributes; its own samplers and the dashboard go through
``study._storage`` as this module does. Long values are cut into pieces, because an attribute is a
TEXT column of 64 KB on MySQL.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Container, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.samplers import BaseSampler, PartialFixedSampler
from optuna.samplers._lazy_random_state import LazyRandomState
from optuna.search_space import IntersectionSearchSpace
from optuna.search_space.group_decomposed import _GroupDecomposedSearchSpace
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages._cached_storage import _CachedStorage
from optuna.storages.journal._storage import JournalOperation
from optuna.study import Study, StudyDirection
from optuna.trial import FixedTrial, FrozenTrial, Trial, TrialState

from optuna_mofs._database import PatientStorage
from optuna_mofs._typing import Floats
from optuna_mofs._validation import expect_type, reading

#: Prefix of every key that this package writes into a storage.
PREFIX = "mofs:"

#: Keys of Optuna's own attributes.
_FIXED_PARAMS = "fixed_params"
_FAILED_TRIAL = "failed_trial"
_RETRY_HISTORY = "retry_history"
_METRIC_NAMES = "study:metric_names"
#: What ``report_cross_validation_scores`` writes; the function warns that it is deprecated.
_TERMINATOR_SCORES = "terminator:cv_scores"
#: Characters per piece. The storage quotes a piece once more, which at most doubles it.
_PIECE = 3_500
#: Attempts to write while other processes write too.
_ATTEMPTS = 6


# ---- studies and trials -------------------------------------------------------------------------


def storage_of(study: Study) -> BaseStorage:
    """Return the storage of a study."""
    return study._storage


def backend_of(study: Study) -> BaseStorage:
    """Return the storage of a study without Optuna's cache."""
    storage = study._storage
    return storage._backend if isinstance(storage, _CachedStorage) else storage


def study_key(study: Study) -> tuple[int, int]:
    """Return a key that identifies a study within this process."""
    return id(study._storage), study._study_id


def close_connections(study: Study) -> None:
    """Close the database connections of a study; the next query opens new ones.

    The traceback of an interrupted query keeps its cursor alive. The connection then has an old
    view of an SQLite file and cannot write once another process has written.
    """
    backend = backend_of(study)
    if isinstance(backend, RDBStorage):
        backend.engine.dispose()


def known_trials(study: Study, since: int = 0) -> list[FrozenTrial]:
    """Return the trials from a number on as this process has last read them, not copied.

    Optuna reads all trials when it creates one. To know the trials that were completed until then,
    a database need not be asked again.
    """
    storage = study._storage
    if not isinstance(storage, _CachedStorage):
        return trials_of(study)[since:]
    with storage._lock:
        found = storage._studies[study._study_id].trials
        numbers = range(since, max(found, default=-1) + 1)
        return [found[number] for number in numbers if number in found]


def trials_of(study: Study, states: Container[TrialState] | None = None) -> list[FrozenTrial]:
    """Return all trials of a study by number, not copied (do not change them).

    Goes through the storage, so that it also sees the whole study from a pruner's bracket.
    """
    trials = study._storage.get_all_trials(study._study_id, deepcopy=False, states=states)
    # Optuna's storages return them by number, that of MLflow the latest first.
    if trials and trials[0].number > trials[-1].number:
        trials.sort(key=lambda trial: trial.number)
    return trials


def trials_by_number(study: Study) -> Sequence[FrozenTrial] | Mapping[int, FrozenTrial]:
    """Return :func:`trials_of`, without a new list of them where the storage allows it.

    A list of ten thousand trials takes longer than a proposal of a genetic algorithm.
    """
    storage = study._storage
    if type(storage) is InMemoryStorage:
        return storage._studies[study._study_id].trials
    if isinstance(storage, _CachedStorage):
        storage._read_trials_from_remote_storage(study._study_id)
        found = storage._studies[study._study_id].trials
        if not found or len(found) - 1 in found:  # no number is missing
            return found
    return trials_of(study)


def study_signs(study: Study) -> Floats:
    """Return 1 for each minimized value of a study and -1 for each maximized one."""
    return np.where(np.array(study.directions) == StudyDirection.MAXIMIZE, -1.0, 1.0)


def metric_names(study: Study) -> list[str] | None:
    """Return ``study.metric_names``, also for the bracket of a study that a pruner passes on."""
    attrs = study._storage.get_study_system_attrs(study._study_id)
    return attrs.get(_METRIC_NAMES)


def total_violation(trial: FrozenTrial) -> float:
    """Return the sum of constraint violations of a trial, 0 if it is feasible."""
    total = 0.0
    for value in trial.constraints.values():
        total += max(0.0, value)
    return total


def distribution_contains(distribution: BaseDistribution, value: Any) -> bool:
    """Return whether a parameter with this distribution can have the value.

    Example:
        >>> from optuna.distributions import CategoricalDistribution
        >>> distribution_contains(CategoricalDistribution("ab"), "c")
        False
    """
    try:
        return distribution._contains(distribution.to_internal_repr(value))
    except (TypeError, ValueError):
        return False


def enqueued_params(trial: FrozenTrial) -> Mapping[str, Any]:
    """Return the parameters that a trial was enqueued with."""
    return trial.system_attrs.get(_FIXED_PARAMS, {})


def names_fixed_by_sampler(study: Study) -> set[str]:
    """Return the names of the parameters that a ``PartialFixedSampler`` of a study fixes."""
    names: set[str] = set()
    sampler = study.sampler
    while isinstance(sampler, PartialFixedSampler):
        names |= sampler._fixed_params.keys()
        sampler = sampler._base_sampler
    return names


def fresh_sampler(sampler: BaseSampler, seed: int, *, n_trials: int = 0) -> BaseSampler:
    """Return a copy of a sampler for another study, with a seed of its own.

    Samplers of Optuna draw from a stream: one that continues a study of ``n_trials`` trials must
    not repeat the draws of its beginning. Those of this package count the trials themselves.
    """
    fresh = copy.deepcopy(sampler)
    rng = np.random.default_rng([seed, n_trials])
    waiting: list[Any] = [fresh]
    seen: set[int] = set()
    while waiting:
        part = waiting.pop()
        is_known = isinstance(part, BaseSampler) or type(part).__module__.startswith("optuna.")
        if id(part) in seen or not is_known:
            continue
        seen.add(id(part))
        if isinstance(part, LazyRandomState):
            part._rng = np.random.RandomState(int(rng.integers(2**31)))
        elif isinstance(part, IntersectionSearchSpace | _GroupDecomposedSearchSpace):
            # They remember the trials of the study that they were used with.
            part.__init__(part._include_pruned)  # type: ignore[misc]
        else:
            attributes = getattr(part, "__dict__", {})
            if isinstance(part, BaseSampler):
                attributes.update(dict.fromkeys(attributes.keys() & {"seed", "_seed"}, seed))
            waiting += attributes.values()
    return fresh


def original_number(trial: FrozenTrial) -> int:
    """Return the number of a trial, or of the interrupted trial that it repeats."""
    return int(trial.system_attrs.get(_FAILED_TRIAL, trial.number))


def is_retry(trial: FrozenTrial) -> bool:
    """Return whether a trial repeats an interrupted one."""
    return _FAILED_TRIAL in trial.system_attrs


def retried_numbers(trial: FrozenTrial) -> list[int]:
    """Return the numbers of the interrupted trials that a trial repeats."""
    return trial.system_attrs.get(_RETRY_HISTORY, [])


def frozen(trial: Trial) -> FrozenTrial:
    """Return a running trial, with everything that this process has written on it."""
    return trial._cached_frozen_trial


def enqueued_attrs(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the system attributes of a waiting trial that will have these parameters."""
    return {_FIXED_PARAMS: dict(params)}


def retry_attrs(trial: FrozenTrial) -> dict[str, Any]:
    """Return the system attributes of a waiting trial that repeats an interrupted one.

    The keys are those of Optuna's own retry callback, so that its tools understand them.
    """
    earlier = trial.system_attrs.get(_RETRY_HISTORY, [])
    return {
        **trial.system_attrs,
        _FAILED_TRIAL: original_number(trial),
        _RETRY_HISTORY: [*earlier, trial.number],
    }


def report_fold_scores(study: Study, trial: Trial, scores: Sequence[float]) -> None:
    """Store the values of the folds for Optuna's ``Terminator``, which knows one objective."""
    if len(study.directions) == 1 and len(scores) > 1:
        key, storage = _TERMINATOR_SCORES, study._storage
        storage.set_trial_system_attr(trial._trial_id, key, [float(score) for score in scores])


class FunctionTrial(FixedTrial):
    """A trial outside of any study that takes the values of its parameters from a function.

    Args:
        value_of: Function of the name and the distribution of a parameter.
        number: Number of the trial.
    """

    def __init__(
        self, value_of: Callable[[str, BaseDistribution], Any], *, number: int = 0
    ) -> None:
        super().__init__({}, number=number)
        self._value_of = value_of

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        value = self._value_of(name, distribution)
        self._suggested_params[name] = value
        self._distributions[name] = distribution
        return value


# ---- attributes of trials -----------------------------------------------------------------------


def write_trial_attrs(
    study: Study,
    trial: Trial | FrozenTrial,
    *,
    system: Mapping[str, Any] | None = None,
    user: Mapping[str, Any] | None = None,
) -> None:
    """Store JSON values on a trial: system attributes of this package, and user attributes.

    Databases and journal files store them together. On a slow disk a trial takes as long as its
    transactions, and Optuna's own calls need one for each attribute.
    """
    # Optuna keeps what was written in the same way, so that nobody has to read or write it again.
    # Other libraries (Ray) pass an object that wraps a trial, without being one.
    snapshot = trial if isinstance(trial, FrozenTrial) else trial._cached_frozen_trial
    own = {PREFIX + key: value for key, value in (system or {}).items()}
    known = snapshot.user_attrs
    shown = {k: v for k, v in (user or {}).items() if k not in known or known[k] != v}
    # SQLite refuses a write at once if another process wrote after this one had read. Ours tries
    # again by itself.
    n_attempts = 1 if isinstance(backend_of(study), PatientStorage) else _ATTEMPTS
    for attempt in range(n_attempts):
        try:
            _write_together(study._storage, trial._trial_id, own, shown)
            break
        except StorageInternalError:
            if attempt == n_attempts - 1:
                raise
            time.sleep(0.02 * 2**attempt)
    snapshot.system_attrs.update(own)
    snapshot.user_attrs.update(shown)


def _write_together(
    storage: BaseStorage, trial_id: int, system: Mapping[str, Any], user: Mapping[str, Any]
) -> None:
    if len(system) + len(user) > 1:
        if isinstance(storage, JournalStorage):
            _append_to_journal(storage, trial_id, system, user)
            return
        backend = storage._backend if isinstance(storage, _CachedStorage) else storage
        if isinstance(backend, RDBStorage):
            if isinstance(backend, PatientStorage):
                is_added = backend.add_trial_attrs(trial_id, system, user)
            else:
                is_added = _insert(backend, trial_id, system, user)
            if is_added:
                return
    for key, value in system.items():
        storage.set_trial_system_attr(trial_id, key, value)
    for key, value in user.items():
        storage.set_trial_user_attr(trial_id, key, value)


def _insert(
    backend: RDBStorage, trial_id: int, system: Mapping[str, Any], user: Mapping[str, Any]
) -> bool:
    """Insert attributes in one transaction, and return whether the trial had none of them."""
    from optuna.storages._rdb import models
    from optuna.storages._rdb.storage import _create_scoped_session
    from sqlalchemy import insert
    from sqlalchemy.exc import IntegrityError

    kinds = ((models.TrialSystemAttributeModel, system), (models.TrialUserAttributeModel, user))
    try:
        with _create_scoped_session(backend.scoped_session) as session:
            found: Any = models.TrialModel.find_or_raise_by_id(trial_id, session)
            backend.check_trial_is_updatable(trial_id, found.state)
            for kind, attributes in kinds:
                rows = [
                    {"trial_id": trial_id, "key": key, "value_json": json.dumps(value)}
                    for key, value in attributes.items()
                ]
                if rows:
                    session.execute(insert(kind), rows)
    except IntegrityError:
        return False
    return True


def _append_to_journal(
    storage: JournalStorage, trial_id: int, system: Mapping[str, Any], user: Mapping[str, Any]
) -> None:
    """Append attributes while the file is locked once."""
    operations = (
        (JournalOperation.SET_TRIAL_SYSTEM_ATTR, "system_attr", system),
        (JournalOperation.SET_TRIAL_USER_ATTR, "user_attr", user),
    )
    with storage._thread_lock:
        common = {"worker_id": storage._replay_result.worker_id, "trial_id": trial_id}
        logs = [
            {"op_code": int(code), **common, name: {key: value}}
            for code, name, attributes in operations
            for key, value in attributes.items()
        ]
        storage._backend.append_logs(logs)
        try:
            storage._sync_with_backend()
        except UpdateFinishedTrialError:
            for _ in logs[1:]:  # each of them would raise once more in a later call
                with suppress(UpdateFinishedTrialError):
                    storage._sync_with_backend()
            raise


def frozen_attr(trial: FrozenTrial, key: str) -> Any:
    """Return a value of a trial that has been read already, or None."""
    return trial.system_attrs.get(PREFIX + key)


# ---- attributes of studies ----------------------------------------------------------------------


def write_study_attr(study: Study, key: str, value: Any) -> None:
    """Store a JSON value of any length on a study.

    A long value is written in pieces that are named after their content, and the head that lists
    them is written last: a reader that finds the head finds all its pieces, even while another
    worker writes a different value under the same key.
    """
    text = json.dumps(value, separators=(",", ":"))
    head: dict[str, Any] = {"value": value}
    if len(text) > _PIECE:
        digest = _digest(text)
        pieces = [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]
        for i, piece in enumerate(pieces):
            name = f"{PREFIX}{key}:{digest}:{i}"
            study._storage.set_study_system_attr(study._study_id, name, piece)
        head = {"pieces": len(pieces), "digest": digest}
    study._storage.set_study_system_attr(study._study_id, PREFIX + key, head)


def read_study_attr(study: Study, key: str) -> Any:
    """Return the value that :func:`write_study_attr` stored, or None."""
    attrs = study._storage.get_study_system_attrs(study._study_id)
    head = attrs.get(PREFIX + key)
    if head is None:
        return None
    with reading(PREFIX + key, f"study {study.study_name!r}"):
        if "value" in expect_type("it", head, dict):
            return head["value"]
        n_pieces, digest = expect_type("pieces", head["pieces"], int), head["digest"]
        if n_pieces > len(attrs):
            raise ValueError(f"expected {n_pieces} pieces, got {len(attrs) - 1}")
        pieces = [attrs[f"{PREFIX}{key}:{digest}:{i}"] for i in range(n_pieces)]
        text = "".join(expect_type("a piece", piece, str) for piece in pieces)
        if _digest(text) != digest:
            raise ValueError(f"expected pieces with digest {digest!r}, got {_digest(text)!r}")
        return json.loads(text)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
