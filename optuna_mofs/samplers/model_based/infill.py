"""Infill criteria: what a candidate promises, the lower the better.

A criterion is a function of (mean, standard deviation, best target seen).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from optuna_mofs._typing import Array

Criterion = Callable[[Array, Array, float], Array]


@dataclass(frozen=True)
class LowerConfidenceBound:
    """``mean - weight * sd``, the paper's choice.

    Args:
        weight: How much uncertainty attracts (lambda in the paper).
    """

    weight: float = 1.0

    def __call__(self, mean: Array, sd: Array, best: float) -> Array:
        """The bound."""
        bound: Array = mean - self.weight * sd
        return bound


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Minus the expected improvement on the best target seen (Jones et al. 1998).

    Example:
        >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 0.0).round(3).tolist()
        [-0.399, -0.083]
    """
    sd = np.maximum(sd, 1e-12)
    u = (best - mean) / sd
    density = np.exp(-0.5 * u**2) / np.sqrt(2 * np.pi)
    improvement: Array = sd * (u * ndtr(u) + density)
    return -improvement
