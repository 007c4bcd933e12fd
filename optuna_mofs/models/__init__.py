"""Estimators built from a front: one member, all of them, or those that differ."""

from optuna_mofs.models.front_models import FrontClassifier, FrontRegressor
from optuna_mofs.models.making import front_model

__all__ = ["FrontClassifier", "FrontRegressor", "front_model"]
