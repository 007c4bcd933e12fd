from __future__ import annotations

import json
from dataclasses import dataclass

import optuna
import pytest

from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.study._trial_note import NOTE, TrialNote, trial_note


@dataclass(frozen=True)
class WalkNote(TrialNote):
    """A note with fields of its own."""

    step_size: float = 0.1
    target: int | None = None
    path: tuple[float, ...] = ()


NOTES = [
    WalkNote(),
    WalkNote("step", (3, 7), (0.25, 1.0), step_size=0.5, target=0),
    WalkNote("step", path=(0.5, 0.25)),
]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_is_read_back_from_json(note: WalkNote) -> None:
    assert WalkNote.from_json(json.loads(json.dumps(note.to_json()))) == note


def test_defaults_are_not_written() -> None:
    assert WalkNote("step").to_json() == {"operator": "step", "parents": []}
    assert WalkNote(target=0).to_json()["target"] == 0


def test_missing_fields_have_defaults_and_unknown_ones_are_ignored() -> None:
    assert WalkNote.from_json(None) == WalkNote()
    data = {"operator": "other", "parents": [1], "unknown": [1, 2]}
    assert WalkNote.from_json(data) == WalkNote("other", (1,))
    # The fields that all notes share can be read whichever sampler wrote the note.
    assert TrialNote.from_json(NOTES[1].to_json()) == TrialNote("step", (3, 7), (0.25, 1.0))


def test_only_proposed_trials_have_a_note() -> None:
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    plain, noted = study.ask(), study.ask()
    write_trial_attrs(study, noted, system={NOTE: NOTES[1].to_json()})
    assert trial_note(study.trials[plain.number]) is None
    assert trial_note(study.trials[noted.number]) == TrialNote("step", (3, 7), (0.25, 1.0))
