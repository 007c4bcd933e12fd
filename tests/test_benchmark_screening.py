from __future__ import annotations

import numpy as np
import optuna

from benchmarks import screening
from optuna_mofs.features import _screening


def test_a_search_with_ranks_of_a_part() -> None:
    verbosity = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 30))
    y = (X[:, 0] + 0.3 * rng.normal(size=120) > 0).astype(int)
    limit = _screening.MAX_COLUMNS
    for limits in ({}, {"columns": 5}, {"rows": 60}):
        found = screening.search(X, y, limits, trials=3, seed=0)
        assert found["error"] < 0.5
    optuna.logging.set_verbosity(verbosity)
    assert limit == _screening.MAX_COLUMNS
