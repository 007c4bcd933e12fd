from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.model_based._smsego import penalized_gain


def test_epsilon_dominated_points_are_penalized() -> None:
    front = np.array([[0.0, 1.0], [1.0, 0.0]])
    near = np.array([[0.99, 0.001], [0.5, 0.5]])
    epsilon = np.full(2, 0.05)
    strict = penalized_gain(near, front, np.full(2, 2.0), np.zeros(2))
    loose = penalized_gain(near, front, np.full(2, 2.0), epsilon)
    assert strict[0] > 0 > loose[0]
    assert strict[1] == loose[1] > 0
