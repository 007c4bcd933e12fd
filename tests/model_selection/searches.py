"""A search that takes a fraction of a second."""

from __future__ import annotations

from typing import Any

from scipy.stats import loguniform
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionSearchCV

SPACE = {"var_smoothing": loguniform(1e-9, 1e-1)}


def quick_search(**options: Any) -> FeatureSelectionSearchCV:
    """Return an unfitted search that takes a fraction of a second."""
    settings: dict[str, Any] = {
        "estimator": GaussianNB(),
        "param_distributions": SPACE,
        "n_trials": 8,
        "cv": 3,
        "filters": ["anova_f"],
        "random_state": 0,
    }
    return FeatureSelectionSearchCV(**{**settings, **options})
