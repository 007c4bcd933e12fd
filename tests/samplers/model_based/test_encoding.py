from __future__ import annotations

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution

from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.model_based.encoding import RowEncoding

SPACE = ParameterSpace(
    {
        "kind": CategoricalDistribution(["a", "b", "c"]),
        "on": CategoricalDistribution([False, True]),
        "x": FloatDistribution(0, 1),
    }
)


def test_missing_numbers_stay_so_missing_categories_are_a_level() -> None:
    seen = np.array([[0, 1, 0.2], [2, 0, 0.6], [np.nan, np.nan, np.nan]])
    X = RowEncoding(SPACE, seen)(seen)
    assert np.isnan(X[2, 0])
    assert X[:, 1:].tolist() == [[1, 0, 0, 0, 1], [0, 0, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_two_choices_need_one_column() -> None:
    seen = np.array([[0, 1, 0.2], [2, 0, 0.2]])
    X = RowEncoding(SPACE, seen)(seen)
    assert X.shape == (2, 1 + 3 + 1)
    assert X[:, 4].tolist() == [1, 0]
