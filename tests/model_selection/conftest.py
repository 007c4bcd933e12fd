"""One search that many tests only read."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.datasets import load_wine

from optuna_mofs import FeatureSelectionSearchCV
from tests.model_selection.searches import quick_search


@pytest.fixture(scope="session")
def wine() -> tuple[Any, Any]:
    return load_wine(return_X_y=True, as_frame=True)


@pytest.fixture(scope="session")
def fitted(wine: tuple[Any, Any]) -> FeatureSelectionSearchCV:
    """Do not change it: call ``copy.copy`` before ``select``."""
    return quick_search(n_trials=25).fit(*wine)
