"""The one place that writes Optuna's system attributes.

Optuna 5 has no public call for them; its own samplers and the dashboard go through
``study._storage`` as we do here. Long values are cut into pieces, because an attribute is a TEXT
column of 64 KB on MySQL.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Container
from typing import Any

from optuna.exceptions import StorageInternalError
from optuna.study import Study
from optuna.trial import FrozenTrial, Trial, TrialState

#: Every key this package writes into a storage starts with this.
PREFIX = "mofs:"
#: Characters a piece. The storage quotes a piece once more, which at most doubles it.
_PIECE = 32_000
#: Times a write is tried that another process got in the way of.
_ATTEMPTS = 6


def trials_of(study: Study, states: Container[TrialState] | None = None) -> list[FrozenTrial]:
    """All trials of a study by number, not copied (do not change them).

    Goes through the storage, so that it also sees the whole study from a pruner's bracket.
    """
    return study._storage.get_all_trials(study._study_id, deepcopy=False, states=states)


def write_trial_attr(study: Study, trial: Trial | FrozenTrial, key: str, value: Any) -> None:
    """Store a JSON value on a trial."""
    study._storage.set_trial_system_attr(trial._trial_id, PREFIX + key, value)


def read_trial_attr(study: Study, trial: Trial | FrozenTrial, key: str) -> Any:
    """Read a trial's value as it is in the storage now, or None."""
    return study._storage.get_trial_system_attrs(trial._trial_id).get(PREFIX + key)


def write_user_attr(study: Study, trial: FrozenTrial, key: str, value: Any) -> None:
    """Store a user attribute on a trial that is being told, for people to see.

    SQLite refuses a write at once if another process wrote after this one had read. Optuna takes
    an error in the middle of telling for a mistake of its own, and the worker would end.
    """
    for attempt in range(_ATTEMPTS):
        try:
            study._storage.set_trial_user_attr(trial._trial_id, key, value)
            return
        except StorageInternalError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(0.02 * 2**attempt)


def frozen_attr(trial: FrozenTrial, key: str) -> Any:
    """Read a value of a trial already at hand, or None."""
    return trial.system_attrs.get(PREFIX + key)


def write_study_attr(study: Study, key: str, value: Any) -> None:
    """Store a JSON value of any length on a study.

    A long value goes into pieces that are named after their content, and the head that names them
    is written last: whoever finds the head finds all its pieces, even while another worker writes
    a different value under the same key.
    """
    text = json.dumps(value, separators=(",", ":"))
    head: dict[str, Any] = {"value": value}
    if len(text) > _PIECE:
        digest = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        pieces = [text[i : i + _PIECE] for i in range(0, len(text), _PIECE)]
        for i, piece in enumerate(pieces):
            study._storage.set_study_system_attr(
                study._study_id, _piece_key(key, digest, i), piece
            )
        head = {"pieces": len(pieces), "digest": digest}
    study._storage.set_study_system_attr(study._study_id, PREFIX + key, head)


def read_study_attr(study: Study, key: str) -> Any:
    """Read what :func:`write_study_attr` stored, or None."""
    attrs = study._storage.get_study_system_attrs(study._study_id)
    head = attrs.get(PREFIX + key)
    if head is None:
        return None
    if "value" in head:
        return head["value"]
    names = [_piece_key(key, head["digest"], i) for i in range(head["pieces"])]
    return json.loads("".join(attrs[name] for name in names))


def _piece_key(key: str, digest: str, i: int) -> str:
    return f"{PREFIX}{key}:{digest}:{i}"
