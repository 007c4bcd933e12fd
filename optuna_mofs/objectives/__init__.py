"""Objective factories."""

from optuna_mofs.features._ranking import feature_table
from optuna_mofs.objectives.base import NothingWorksError
from optuna_mofs.objectives.feature_selection import FeatureSelectionObjective
from optuna_mofs.objectives.model_type import ModelTypeObjective

__all__ = ["FeatureSelectionObjective", "ModelTypeObjective", "NothingWorksError", "feature_table"]
