"""Learners that need a class of our own: kernel k-NN, early stopping, searchable networks."""

from __future__ import annotations

from optuna_mofs.learners._early_stopping import EarlyStoppingClassifier, EarlyStoppingRegressor
from optuna_mofs.learners._kernel_knn import KernelKNeighborsClassifier, KernelKNeighborsRegressor
from optuna_mofs.learners._mlp import LayeredMLPClassifier, LayeredMLPRegressor

__all__ = [
    "EarlyStoppingClassifier",
    "EarlyStoppingRegressor",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsRegressor",
    "LayeredMLPClassifier",
    "LayeredMLPRegressor",
]
