from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """Fewer trees: the tests ask how the filter behaves, not how good its ranking is."""
    monkeypatch.setattr("optuna_mofs.filters._univariate.N_TREES", 40)
    monkeypatch.setattr("optuna_mofs.filters._elimination.N_TREES", 20)
