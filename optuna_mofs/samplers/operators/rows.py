"""Crossover and mutation of hyperparameter rows, columns of mixed kinds.

Rows are those of :class:`optuna_mofs.history._search_space.ParameterSpace`: numbers in [0, 1], positions of
choices for categoricals, NaN where a parameter was inactive. Self-adaptation follows Li et al.
(2013), mixed-integer evolution strategies.
"""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import ParameterSpace


def sbx(rng: np.random.Generator, first: Array, second: Array, eta: float = 5.0) -> Array:
    """Simulated binary crossover in [0, 1] (Deb and Agrawal 1995): one of the two children.

    Example:
        >>> same = np.array([0.25, 0.75])
        >>> sbx(np.random.default_rng(0), same, same).tolist()
        [0.25, 0.75]
    """
    u = rng.random(len(first))
    spread = np.where(u < 0.5, 2 * u, 1 / (2 * (1 - u))) ** (1 / (eta + 1))
    # Which child of the pair: a sign for each column, so that columns recombine too.
    sign = np.where(rng.random(len(first)) < 0.5, 1.0, -1.0)
    child = 0.5 * (first + second) + sign * spread * 0.5 * (first - second)
    inside: Array = np.clip(child, 0.0, 1.0)
    return inside


def cross_rows(
    rng: np.random.Generator,
    space: ParameterSpace,
    first: Array,
    second: Array,
    *,
    eta: float = 5.0,
    swap: float = 0.5,
) -> Array:
    """SBX for numbers, uniform crossover for categoricals; a value of one parent beats none.

    Args:
        rng: Generator.
        space: The parameters.
        first: Row of a parent.
        second: Row of the other.
        eta: Distribution index of SBX: the larger, the closer to the parents.
        swap: Probability that a category comes from ``second``.
    """
    a = np.where(np.isnan(first), second, first)
    b = np.where(np.isnan(second), first, second)
    child = sbx(rng, a, b, eta)
    taken = np.where(rng.random(len(a)) < swap, b, a)
    return np.where(space.categorical, taken, child)


def mutate_rows(
    rng: np.random.Generator,
    space: ParameterSpace,
    row: Array,
    *,
    step: float,
    rate: float,
    per_parameter: float = 1.0,
) -> Array:
    """Gaussian steps for numbers, a random other choice for categoricals.

    Args:
        rng: Generator.
        space: The parameters.
        row: A row.
        step: Standard deviation of a step, in units of the range.
        rate: Probability that a category changes.
        per_parameter: Probability that a number changes.
    """
    d = len(row)
    moved = row + step * rng.standard_normal(d)
    moved = np.where(rng.random(d) < per_parameter, reflect(moved), row)
    other = np.floor(
        rng.random(d) * np.maximum(1, np.where(space.categorical, space.cells - 1, 1))
    )
    other = other + (other >= row)
    switched = np.where(rng.random(d) < rate, other, row)
    return np.where(space.categorical, switched, moved)


def fill_missing(rng: np.random.Generator, space: ParameterSpace, row: Array) -> Array:
    """Draw the parameters that a parent did not have (it was on another branch of the space)."""
    return np.where(np.isnan(row), space.sample(rng)[0], row)


def reflect(x: Array) -> Array:
    """Fold numbers back into [0, 1], so that steps across a bound do not pile up on it.

    Example:
        >>> reflect(np.array([-0.25, 0.5, 1.25])).tolist()
        [0.25, 0.5, 0.75]
    """
    folded: Array = 1 - np.abs(np.mod(x, 2.0) - 1)
    return folded


def adapt_step(rng: np.random.Generator, step: float, dimension: int) -> float:
    """Log-normal self-adaptation of a step size, kept within [0.001, 0.5]."""
    changed = step * np.exp(rng.standard_normal() / np.sqrt(2 * max(1, dimension)))
    return float(np.clip(changed, 0.001, 0.5))


def adapt_rate(rng: np.random.Generator, rate: float, dimension: int) -> float:
    """Logistic self-adaptation of a mutation probability, kept within [1/(3 d), 0.5]."""
    tau = 1 / np.sqrt(2 * max(1, dimension))
    odds = (1 - rate) / rate * np.exp(-tau * rng.standard_normal())
    return float(np.clip(1 / (1 + odds), 1 / (3 * max(1, dimension)), 0.5))
