"""Several objectives as one number each subproblem."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from optuna_mofs._typing import Array

#: Function of (losses above the reference point, weights): points × subproblems.
Decomposition = Callable[[Array, Array], Array]

#: A weight of zero would not care at all how bad its objective is.
_LEAST = 1e-3


def tchebycheff(losses: Array, weights: Array) -> Array:
    """The largest weighted distance from the reference point (equation 11).

    Args:
        losses: Points × objectives, already less the reference point.
        weights: Subproblems × objectives.

    Example:
        >>> tchebycheff(np.array([[0.2, 0.4]]), np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
        [[0.2, 0.2]]
    """
    weighted: Array = np.maximum(weights, _LEAST) * np.abs(losses)[:, None, :]
    largest: Array = weighted.max(axis=2)
    return largest


def augmented_tchebycheff(losses: Array, weights: Array) -> Array:
    """The same with a small part of the sum, which tells points apart that are equal in it."""
    weighted: Array = np.maximum(weights, _LEAST) * np.abs(losses)[:, None, :]
    total: Array = weighted.max(axis=2) + 0.05 * weighted.sum(axis=2)
    return total


def named_decomposition(decomposition: str | Decomposition) -> Decomposition:
    """A decomposition by its name, or the user's own function as it is.

    Example:
        >>> named_decomposition("tchebycheff") is tchebycheff
        True
    """
    if callable(decomposition):
        return decomposition
    known = {each.__name__: each for each in (tchebycheff, augmented_tchebycheff)}
    if decomposition not in known:
        raise ValueError(
            f"decomposition must be one of {sorted(known)} or a function of losses and weights, "
            f"but is {decomposition!r}."
        )
    return known[decomposition]
