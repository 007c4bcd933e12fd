"""Small estimators that record how they are used."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier


class CountingTree(DecisionTreeClassifier):
    """Counts fits, over all copies."""

    fits: ClassVar[list[tuple[int, int]]] = []

    # The trees of scikit-learn 1.6 have ``check_input``, and its routing fails without it.
    def fit(self, X, y, sample_weight=None, check_input=True):
        CountingTree.fits.append(X.shape)
        return super().fit(X, y, sample_weight=sample_weight)


class Watching(ClassifierMixin, BaseEstimator):
    """Predicts the majority class and records what it was fitted with, over all copies."""

    seen: ClassVar[list[dict]] = []

    def __init__(self, level=0.0):
        self.level = level

    def fit(self, X, y, sample_weight=None):
        Watching.seen.append({"X": X, "y": y, "weight": sample_weight, "level": self.level})
        self.classes_, counts = np.unique(y, return_counts=True)
        self.majority_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.majority_)


class Breaking(DecisionTreeClassifier):
    """Raises an error for more than a given number of columns."""

    def __init__(self, most=3):
        super().__init__(random_state=0)
        self.most = most

    def fit(self, X, y, sample_weight=None, check_input=True):
        if X.shape[1] > self.most:
            raise RuntimeError(f"cannot take {X.shape[1]} columns")
        return super().fit(X, y, sample_weight=sample_weight)
