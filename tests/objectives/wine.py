"""Objectives on every other row of the wine data."""

from __future__ import annotations

import numpy as np
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler
from sklearn.datasets import load_wine
from sklearn.model_selection import cross_val_score
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    selected_mask,
)

X, Y = load_wine(return_X_y=True)
X, Y = X[::2], Y[::2]
P = X.shape[1]
#: All rows are rows of the search, so that tests can count them.
FAST = {
    "representation": "mask",
    "filters": ["anova_f"],
    "expected_n_features": 3,
    "cv": 3,
    "holdout": None,
}
TREE = DecisionTreeClassifier(max_depth=3)
DEPTH = {"max_depth": IntDistribution(1, 5)}


def objective(estimator=TREE, X=X, y=Y, **options):
    return FeatureSelectionObjective(estimator, X, y, **{**FAST, **options})


def run(objective, trials=4, seed=0, **options):
    study = objective.create_study(sampler=RandomSampler(seed=seed), **options)
    study.optimize(objective, n_trials=trials)
    return study


def expected_error(objective, study, trial):
    """Return the error by scikit-learn's own cross-validation."""
    columns = np.flatnonzero(selected_mask(study, trial))
    estimator = objective.estimator_for(trial).named_steps["estimator"]
    X = objective.data.X
    part = X.iloc[:, columns] if hasattr(X, "iloc") else X[:, columns]
    scores = cross_val_score(estimator, part, objective.data.y, cv=objective.evaluator.splits)
    return 1 - scores
