"""Objective factories."""

from optuna_mofs.objectives.feature_selection import FeatureSelectionObjective

__all__ = ["FeatureSelectionObjective"]
