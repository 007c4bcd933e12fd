"""How much each member of a front says, and which of them differ: arrays in, arrays out.

Rosales-Pérez et al. (2014), *Multi-objective model type selection*, section 3.4.
"""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.fronts._picks import normalize

#: A distance below this (of a diagonal of about 1) counts as this: the ideal point itself must not
#: silence all others.
_NEAREST = 0.05
#: Power of the loss in focused weights.
_FOCUS = 8
#: A loss below this part of the largest counts as this.
_LEAST = 1e-3


def ideal_distances(losses: Array) -> Array:
    """Distance of each point from the best value of every objective (equation 15).

    Objectives are normalized to [0, 1] over the points first.

    Args:
        losses: Points × objectives, all minimized.

    Example:
        >>> ideal_distances(np.array([[0.0, 4.0], [1.0, 0.0]])).tolist()
        [1.0, 1.0]
    """
    scaled = normalize(np.asarray(losses, dtype=float))
    distances: Array = np.sqrt((scaled**2).sum(axis=1))
    return distances


def inverse_distance_weights(losses: Array) -> Array:
    """Weights that fall with the distance from the ideal point and sum to 1 (equation 17).

    Args:
        losses: Points × objectives, all minimized.

    Example:
        >>> points = np.array([[0.0, 1.0], [0.3, 0.4], [1.0, 0.0]])
        >>> inverse_distance_weights(points).round(2).tolist()
        [0.25, 0.5, 0.25]
    """
    inverse = 1 / np.maximum(ideal_distances(losses), _NEAREST)
    weights: Array = inverse / inverse.sum()
    return weights


def focused_weights(losses: Array) -> Array:
    """Weights by the first objective alone, which sum to 1: a tenth less loss, twice the weight.

    Not the paper's: it asks the front who may speak, and the loss how loudly.

    Args:
        losses: Points × objectives, all minimized, the first positive.

    Example:
        >>> focused_weights(np.array([[0.10, 9.0], [0.11, 3.0], [0.20, 1.0]])).round(2).tolist()
        [0.68, 0.32, 0.0]
    """
    first = np.asarray(losses, dtype=float)[:, 0]
    if (first < 0).any():
        raise ValueError(
            "The strategy 'focused' goes by the first measure, which must not be negative, but is "
            f"{float(first.min()):.4g} at its least. Put a loss first, or use 'weighted'."
        )
    if first.max() == 0:
        return np.full(len(first), 1 / len(first))
    share = (first.max() / np.maximum(first, _LEAST * first.max())) ** _FOCUS
    weights: Array = share / share.sum()
    return weights


def entropy_diversity(correct: Array) -> float:
    """How much members differ in what they get right, 0 to 1 (equation 18).

    Args:
        correct: Members × rows, who is right about which row.

    Example:
        >>> entropy_diversity(np.array([[True, False], [False, True]]))
        1.0
    """
    members = len(correct)
    if members < 2:
        return 0.0
    right = correct.sum(axis=0)
    return float(np.minimum(right, members - right).mean() / (members - (members + 1) // 2))


def diverse_subset(correct: Array, distances: Array) -> list[int]:
    """Forward selection of members that differ (section 3.4.3).

    It starts with the member nearest to the ideal point and adds the one that makes the diversity
    largest, as long as that does not fall; of equal ones the nearest.

    Args:
        correct: Members × rows, who is right about which row.
        distances: Of each member from the ideal point.

    Example:
        >>> right = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
        >>> diverse_subset(right, np.array([0.1, 0.2, 0.3]))
        [0, 2, 1]
    """
    order = np.argsort(distances, kind="stable").tolist()
    chosen, rest = [order[0]], order[1:]
    reached = 0.0
    while rest:
        found = [entropy_diversity(correct[[*chosen, i]]) for i in rest]
        best = int(np.argmax(found))
        if found[best] < reached or found[best] == 0.0:
            break
        reached = found[best]
        chosen.append(rest.pop(best))
    return chosen
