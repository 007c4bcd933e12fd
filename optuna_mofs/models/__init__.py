"""Estimators built from the members of a front."""

from optuna_mofs.models._front_model import FrontClassifier, FrontRegressor, front_model

__all__ = ["FrontClassifier", "FrontRegressor", "front_model"]
