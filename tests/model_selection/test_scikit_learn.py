"""FeatureSelectionSearchCV follows scikit-learn's conventions: its own checks of estimators."""

from __future__ import annotations

import pytest
from optuna.distributions import FloatDistribution
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import RandomizedSearchCV
from sklearn.utils.estimator_checks import parametrize_with_checks

from optuna_mofs import FeatureSelectionSearchCV


def searches():
    """Return a classifier and a regressor with the settings of scikit-learn's own tests."""
    options = {"n_trials": 8, "cv": 2, "error_score": "raise", "filters": ["variance"]}
    cost = FloatDistribution(0.1, 1.0)
    return [
        FeatureSelectionSearchCV(LogisticRegression(), {"C": cost}, random_state=0, **options),
        FeatureSelectionSearchCV(Ridge(), {"alpha": cost}, random_state=0, **options),
    ]


def expected_failures(search):
    """Return those that scikit-learn lists for RandomizedSearchCV."""
    instances = pytest.importorskip("sklearn.utils._test_common.instance_generator")
    return instances.PER_ESTIMATOR_XFAIL_CHECKS[RandomizedSearchCV]


@parametrize_with_checks(searches(), expected_failed_checks=expected_failures)
def test_estimator_checks(estimator, check):
    check(estimator)
