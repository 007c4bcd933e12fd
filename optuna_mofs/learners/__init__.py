"""Estimators that scikit-learn lacks: kernel k-NN, early stopping, networks by their numbers."""

from __future__ import annotations

from optuna_mofs.learners._dropout_mlp import DropoutMLPClassifier
from optuna_mofs.learners._early_stopping import EarlyStoppingClassifier, EarlyStoppingRegressor
from optuna_mofs.learners._kernel_knn import KernelKNeighborsClassifier, KernelKNeighborsRegressor
from optuna_mofs.learners._mlp import LayeredMLPClassifier, LayeredMLPRegressor

__all__ = [
    "DropoutMLPClassifier",
    "EarlyStoppingClassifier",
    "EarlyStoppingRegressor",
    "KernelKNeighborsClassifier",
    "KernelKNeighborsRegressor",
    "LayeredMLPClassifier",
    "LayeredMLPRegressor",
]
