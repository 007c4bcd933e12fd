"""Learners that need a class of our own: kernel k-NN, early stopping, searchable networks."""

from __future__ import annotations

from optuna_mofs.learners.kernel_knn import KernelKNeighborsClassifier, KernelKNeighborsRegressor

__all__ = ["KernelKNeighborsClassifier", "KernelKNeighborsRegressor"]
