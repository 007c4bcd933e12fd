"""Objective factories."""

from optuna_mofs.objectives.base import NothingWorksError
from optuna_mofs.objectives.feature_selection import FeatureSelectionObjective
from optuna_mofs.objectives.model_type import ModelTypeObjective
from optuna_mofs.objectives.tables import feature_table

__all__ = ["FeatureSelectionObjective", "ModelTypeObjective", "NothingWorksError", "feature_table"]
