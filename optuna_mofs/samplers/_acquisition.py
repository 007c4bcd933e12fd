"""Acquisition functions and scalarizations that several samplers share, on arrays."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr

from optuna_mofs._typing import Array


def expected_improvement(mean: Array, sd: Array, best: float | Array) -> Array:
    """Return the expected improvement below ``best`` (Jones et al. 1998).

    Example:
        >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 1.0]), 0.0).round(3).tolist()
        [0.399, 0.083]
    """
    sd = np.maximum(sd, 1e-12)
    improvement: Array = sd * _standard_improvement((best - mean) / sd)
    return improvement


def log_expected_improvement(mean: Array, sd: Array, best: float | Array) -> Array:
    """Return the logarithm of the expected improvement, also where it underflows.

    Example:
        >>> best = -np.array([1.0, 60.0])
        >>> log_expected_improvement(np.zeros(2), np.ones(2), best).round(2).tolist()
        [-2.49, -1809.11]
    """
    z = (best - mean) / sd
    with np.errstate(divide="ignore", invalid="ignore"):
        near = np.log(_standard_improvement(z))
        # Far below, the difference cancels; the first term of its asymptotic series remains.
        far = -0.5 * z**2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(np.abs(z))
    improvement: Array = np.log(sd) + np.where(z > -8, near, far)
    return improvement


def _standard_improvement(z: Array) -> Array:
    density = np.exp(-0.5 * z**2) / np.sqrt(2 * np.pi)
    improvement: Array = density + z * ndtr(z)
    return improvement


def augmented_tchebycheff(losses: Array, weights: Array, rho: float = 0.05) -> Array:
    """Return the augmented Tchebycheff norm ``max(w y) + rho sum(w y)``.

    Args:
        losses: Distances to the ideal point; the last axis holds the objectives.
        weights: Weights of the objectives; broadcast against ``losses``.
        rho: Weight of the sum.

    Example:
        >>> augmented_tchebycheff(np.array([[0.2, 0.8]]), np.array([0.5, 0.5]), 0.0).tolist()
        [0.4]
    """
    weighted = losses * weights
    norm: Array = weighted.max(axis=-1)
    # Without the sum: infinite losses times zero would be NaN.
    return norm + rho * weighted.sum(axis=-1) if rho else norm
