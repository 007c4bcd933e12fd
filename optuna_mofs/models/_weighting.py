"""Weights and diversity of the members of a front, on arrays.

Rosales-Pérez et al. (2014), *Multi-objective model type selection*, section 3.4.
"""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.fronts._picks import normalize

#: Default of the smallest distance that counts (the diagonal is about 1): a member at the ideal
#: point must not take all the weight.
MIN_DISTANCE = 0.05
#: Power of the loss in focused weights.
_FOCUS_POWER = 8
#: Smallest loss that counts, relative to the largest.
_MIN_RELATIVE_LOSS = 1e-3


def ideal_distances(losses: Array) -> Array:
    """Return the distance of each point from the ideal point (equation 15).

    Objectives are minimized, and normalized to [0, 1] over the points first.

    Example:
        >>> ideal_distances(np.array([[0.0, 4.0], [1.0, 0.0]])).tolist()
        [1.0, 1.0]
    """
    return np.linalg.norm(normalize(np.asarray(losses, dtype=float)), axis=1)


def inverse_distance_weights(losses: Array, min_distance: float = MIN_DISTANCE) -> Array:
    """Return weights inversely proportional to the distance from the ideal point (equation 17).

    Distances below ``min_distance`` count as that; with 0, members at the ideal point share all
    the weight.

    Example:
        >>> points = np.array([[0.0, 1.0], [0.3, 0.4], [1.0, 0.0]])
        >>> inverse_distance_weights(points).round(2).tolist()
        [0.25, 0.5, 0.25]
    """
    distances = np.maximum(ideal_distances(losses), min_distance)
    inverse = 1 / distances if distances.all() else (distances == 0).astype(float)
    return inverse / inverse.sum()


def focused_weights(losses: Array) -> Array:
    """Return weights by the first objective alone; a loss lower by a tenth doubles the weight.

    Not in the paper: the front selects the members, the first loss sets their weights.

    Example:
        >>> focused_weights(np.array([[0.10, 9.0], [0.11, 3.0], [0.20, 1.0]])).round(2).tolist()
        [0.68, 0.32, 0.0]
    """
    first = np.asarray(losses, dtype=float)[:, 0]
    if (first < 0).any():
        raise ValueError(
            "The strategy 'focused' needs a first measure that is never negative, got "
            f"{float(first.min()):.4g}. Put a loss first, or use 'weighted'."
        )
    if first.max() == 0:
        return np.full(len(first), 1 / len(first))
    ratio = (first.max() / np.maximum(first, _MIN_RELATIVE_LOSS * first.max())) ** _FOCUS_POWER
    return ratio / ratio.sum()


def entropy_diversity(correct: Array) -> float:
    """Return how much members differ in the rows they predict correctly, 0 to 1 (equation 18).

    ``correct`` has one row per member and one column per predicted row.

    Example:
        >>> entropy_diversity(np.array([[True, False], [False, True]]))
        1.0
    """
    n_members = len(correct)
    if n_members < 2:
        return 0.0
    n_correct = correct.sum(axis=0)
    disagreement = np.minimum(n_correct, n_members - n_correct).mean()
    return float(disagreement / (n_members - (n_members + 1) // 2))


def diverse_subset(correct: Array, distances: Array) -> list[int]:
    """Return the positions of members that differ, by forward selection (section 3.4.3).

    Start with the member closest to the ideal point and add the one that increases the diversity
    most, as long as it does not decrease; break ties by distance from the ideal point.

    Example:
        >>> right = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1]], dtype=bool)
        >>> diverse_subset(right, np.array([0.1, 0.2, 0.3]))
        [0, 2, 1]
    """
    order = np.argsort(distances, kind="stable").tolist()
    chosen, rest = [order[0]], order[1:]
    diversity = 0.0
    while rest:
        found = [entropy_diversity(correct[[*chosen, i]]) for i in rest]
        best = int(np.argmax(found))
        if found[best] < diversity or found[best] == 0.0:
            break
        diversity = found[best]
        chosen.append(rest.pop(best))
    return chosen
