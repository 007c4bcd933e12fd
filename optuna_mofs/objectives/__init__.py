"""Objective factories."""

from optuna_mofs.features._ranking import feature_table
from optuna_mofs.objectives._feature_selection import FeatureSelectionObjective
from optuna_mofs.objectives._model_type import ModelTypeObjective
from optuna_mofs.objectives._objective import NothingWorksError

__all__ = ["FeatureSelectionObjective", "ModelTypeObjective", "NothingWorksError", "feature_table"]
