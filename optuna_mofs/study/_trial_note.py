"""Notes that samplers write on their trials: how a proposal was made, and their state."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from optuna.trial import FrozenTrial

from optuna_mofs._optuna import PREFIX, frozen_attr
from optuna_mofs._validation import expect_type, reading

#: Key of the trial attribute that holds the note.
NOTE = "proposal"


@dataclass(frozen=True)
class TrialNote:
    """How a trial was proposed. Each sampler has a subclass with the state it must remember.

    A note is written on the trial when it is proposed, so that a reopened study continues exactly
    where it stopped. Every field needs a default, which holds for trials of other samplers.
    Values must be JSON values, or tuples of them.

    Args:
        operator: Name of the operator that made the proposal, for users and figures.
        parents: Numbers of the trials that the proposal was made from, not counting trials that
            repeat interrupted ones.
        filter_weights: Raw weights in [0, 1] of the filters that chose the features, if any did;
            see :func:`~optuna_mofs.features._mask_sampling.weights_from_raw`.

    Example:
        >>> note = TrialNote("crossover", parents=(3, 7))
        >>> note.to_json()
        {'operator': 'crossover', 'parents': [3, 7]}
        >>> TrialNote.from_json(note.to_json()) == note
        True
    """

    operator: str = "random"
    parents: tuple[int, ...] = ()
    filter_weights: tuple[float, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return operator, parents, and every other field that differs from its default."""
        found: dict[str, Any] = {"operator": self.operator, "parents": list(self.parents)}
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in found and value != field.default:
                found[field.name] = list(value) if isinstance(value, tuple) else value
        return found

    @classmethod
    def from_json(cls, data: Mapping[str, Any] | None) -> Self:
        """Return the note, with defaults for what ``data`` lacks; other keys are ignored."""
        known: dict[str, Any] = {}
        if data is not None:
            expect_type("it", data, dict)
        for field in dataclasses.fields(cls):
            if data is not None and field.name in data:
                value = _check(field.name, data[field.name], field.default)
                known[field.name] = tuple(value) if isinstance(value, list) else value
        return cls(**known)

    @classmethod
    def of(cls, trial: FrozenTrial) -> Self:
        """Return the note on a trial, with defaults where another sampler proposed it."""
        with reading(PREFIX + NOTE, f"trial {trial.number}"):
            return cls.from_json(frozen_attr(trial, NOTE))


def _check(name: str, value: Any, default: Any) -> Any:
    """Return the value of a field, or raise if the field cannot have it."""
    if isinstance(default, tuple):
        expect_type(name, value, list, tuple)
        return tuple(_check_number(name, entry) for entry in value)
    if default is None:
        return value
    return expect_type(
        name, value, *((int, float) if type(default) is float else (type(default),))
    )


def _check_number(name: str, entry: Any) -> Any:
    if isinstance(entry, list):
        return [_check_number(name, part) for part in entry]
    return entry if entry is None else expect_type(name, entry, int, float, bool, str)


def trial_note(trial: FrozenTrial) -> TrialNote | None:
    """Return the note on a trial, or None if no sampler of this package proposed it."""
    return None if frozen_attr(trial, NOTE) is None else TrialNote.of(trial)
