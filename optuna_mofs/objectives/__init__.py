"""Objective factories."""

from optuna_mofs.objectives.feature_selection import FeatureSelectionObjective
from optuna_mofs.objectives.tables import feature_table

__all__ = ["FeatureSelectionObjective", "feature_table"]
