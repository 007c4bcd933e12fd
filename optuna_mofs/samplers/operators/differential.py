"""Differential crossover and polynomial mutation of mixed rows and of masks.

Rosales-Pérez et al. (2014), *Multi-objective model type selection*, equations 8 to 10, after
Storn and Price (1997) and Deb and Goyal (1996). Rows are those of
:class:`optuna_mofs.history._search_space.ParameterSpace`.
"""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.rows import reflect


def differential_rows(
    rng: np.random.Generator,
    space: ParameterSpace,
    base: Array,
    first: Array,
    second: Array,
    *,
    scale: float = 0.5,
    rate: float = 0.7,
    rounded: bool = False,
) -> Array:
    """Move a row, or each of several, along the difference of two others (equation 8).

    A category follows the difference where the two disagree: with probability ``scale`` it
    becomes that of ``first``. What a row lacks (it is on another branch of a conditional space)
    comes from one that has it; NaN stays where none has.

    Args:
        rng: Generator.
        space: The parameters.
        base: The row that is moved, or rows × parameters.
        first: The row that the difference points to.
        second: The row it points from.
        scale: Length of the step in differences (F).
        rate: Probability that a parameter takes part (CR); one always does.
        rounded: Treat the positions of categories as numbers that are rounded, as the paper does.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> space = ParameterSpace({"x": FloatDistribution(0, 1)})
        >>> rows = (np.array([0.25]), np.array([0.75]), np.array([0.25]))
        >>> differential_rows(np.random.default_rng(0), space, *rows, rate=1.0).tolist()
        [0.5]
    """
    shape = np.shape(base)
    taking_part = rng.random(shape) < rate
    if shape[-1]:
        one = rng.integers(shape[-1], size=(*shape[:-1], 1))
        np.put_along_axis(taking_part, one, True, axis=-1)
    a, b = _complete(first, second), _complete(second, first)
    home = _complete(base, a)
    moved = home + scale * (a - b)
    if rounded:
        category = np.clip(np.rint(moved), 0, np.maximum(space.cells - 1, 0))
    else:
        category = np.where((a != b) & (rng.random(shape) < scale), a, home)
    moved = np.where(space.categorical, category, reflect(moved))
    return np.where(taking_part & ~np.isnan(moved), moved, home)


def polynomial_mutation(
    rng: np.random.Generator,
    space: ParameterSpace,
    row: Array,
    *,
    rate: float = 0.1,
    eta: float = 20.0,
    rounded: bool = False,
) -> Array:
    """Small steps of polynomial distribution for numbers, another choice for categories.

    Equations 9 and 10.

    Args:
        rng: Generator.
        space: The parameters.
        row: A row, or rows × parameters.
        rate: Probability that a parameter changes.
        eta: Distribution index: the larger, the smaller the steps.
        rounded: Treat the positions of categories as numbers that are rounded, as the paper does.
    """
    shape = np.shape(row)
    u = rng.random(shape)
    low = (2 * np.minimum(u, 0.5)) ** (1 / (eta + 1)) - 1
    high = 1 - (2 * (1 - np.maximum(u, 0.5))) ** (1 / (eta + 1))
    delta = np.where(u < 0.5, low, high)
    steps = np.where(space.categorical, space.cells - 1, 1.0)
    if rounded:
        category = np.clip(np.rint(row + delta * steps), 0, np.maximum(steps, 0))
    else:
        category = np.floor(rng.random(shape) * np.maximum(1, steps))
        category = category + (category >= row)
    moved = np.where(space.categorical, category, reflect(row + delta))
    return np.where((rng.random(shape) < rate) & ~np.isnan(row), moved, row)


def differential_mask(
    rng: np.random.Generator,
    base: Array,
    first: Array,
    second: Array,
    *,
    scale: float = 0.5,
    rate: float = 0.7,
) -> Array:
    """The same for masks: where two masks disagree, take a bit of ``first``.

    Args:
        rng: Generator.
        base: The mask that is changed.
        first: The mask towards which it changes.
        second: The mask that says where.
        scale: Probability that a bit in which the two disagree is taken (F).
        rate: Probability that a bit takes part (CR).
    """
    taken = (first != second) & (rng.random(len(base)) < scale * rate)
    return np.where(taken, first, base)


def _complete(row: Array, other: Array) -> Array:
    return np.where(np.isnan(row), other, row)
