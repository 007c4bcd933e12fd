"""Objectives that select features and tune hyperparameters of an estimator."""

from optuna_mofs.objectives._feature_selection import FeatureSelectionObjective
from optuna_mofs.objectives._model_type import ModelTypeObjective
from optuna_mofs.objectives._objective import AllTrialsFailedError

__all__ = ["AllTrialsFailedError", "FeatureSelectionObjective", "ModelTypeObjective"]
