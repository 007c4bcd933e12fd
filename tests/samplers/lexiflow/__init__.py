from __future__ import annotations

from optuna.study import Study

from optuna_mofs import LexicographicPreference
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.samplers.lexiflow import LexiFlowNote
from optuna_mofs.study._trial_note import NOTE

LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study: Study) -> list[LexiFlowNote]:
    return [LexiFlowNote.from_json(frozen_attr(trial, NOTE)) for trial in study.trials]


def flat(trial):
    """Nothing is better than the first trial, so every direction fails."""
    trial.suggest_float("x", 0, 1)
    trial.suggest_float("y", 0, 1)
    return float(trial.number > 0)
