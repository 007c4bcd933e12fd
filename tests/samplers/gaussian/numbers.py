"""Points for tests."""

from __future__ import annotations

import numpy as np

from optuna_mofs.samplers._gaussian_process import Points


def numbers(rows):
    """Points of numbers only."""
    rows = np.asarray(rows, dtype=float)
    return Points(rows, np.zeros(rows.shape[1], dtype=bool))
