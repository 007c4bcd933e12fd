"""Data that this package writes into a study and reads back."""

from optuna_mofs.study._completed_trials import CompletedTrials, Metrics
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_features, selected_mask, suggest_features
from optuna_mofs.study._partial import fold_scores
from optuna_mofs.study._queue import enqueue_features, retry_interrupted
from optuna_mofs.study._trial_note import TrialNote, trial_note

__all__ = [
    "CompletedTrials",
    "MeasureDescription",
    "Metrics",
    "StudyDescription",
    "TrialNote",
    "enqueue_features",
    "fold_scores",
    "retry_interrupted",
    "selected_features",
    "selected_mask",
    "suggest_features",
    "trial_note",
]
