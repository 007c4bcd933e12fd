"""Estimators built from a front: one member, all of them, or those that differ."""

from optuna_mofs.models._front_model import FrontClassifier, FrontRegressor, front_model

__all__ = ["FrontClassifier", "FrontRegressor", "front_model"]
