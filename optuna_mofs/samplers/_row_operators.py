"""Crossover and mutation of rows of hyperparameters: numbers in [0, 1] and categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import SearchSpace
from optuna_mofs.study._trial_note import TrialNote

#: Probabilities of :func:`vary_row`: a Gaussian step, crossover.
_GAUSSIAN_PROB, _SBX_PROB = 0.35, 0.15


@dataclass(frozen=True)
class AdaptiveNote(TrialNote):
    """The note of a sampler whose mutation adapts itself.

    Args:
        step_size: Standard deviation of a step of a number, in units of its range.
        switch_prob: Probability that a category changes.
    """

    step_size: float = 0.1
    switch_prob: float = 0.1


N = TypeVar("N", bound=AdaptiveNote)


def sbx(rng: np.random.Generator, first: Array, second: Array, eta: float = 5.0) -> Array:
    """Return one of the two children of simulated binary crossover in [0, 1].

    Deb and Agrawal (1995). The larger the distribution index ``eta``, the closer is the child to
    its parents.

    Example:
        >>> same = np.array([0.25, 0.75])
        >>> sbx(np.random.default_rng(0), same, same).tolist()
        [0.25, 0.75]
    """
    u = rng.random(len(first))
    spread = np.where(u < 0.5, 2 * u, 1 / (2 * (1 - u))) ** (1 / (eta + 1))
    # One sign per column decides which of the two children, so that columns recombine too.
    sign = np.where(rng.random(len(first)) < 0.5, 1.0, -1.0)
    child = 0.5 * (first + second) + sign * spread * 0.5 * (first - second)
    return np.clip(child, 0.0, 1.0)


def cross_rows(
    rng: np.random.Generator,
    space: SearchSpace,
    first: Array,
    second: Array,
    *,
    eta: float = 5.0,
    swapping_prob: float = 0.5,
) -> Array:
    """Return a child by SBX of numbers and uniform crossover of categories.

    A category comes from ``second`` with probability ``swapping_prob``. A parameter that only one
    parent has comes from that parent.
    """
    a, b = _complete(first, second), _complete(second, first)
    child = sbx(rng, a, b, eta)
    category = np.where(rng.random(len(a)) < swapping_prob, b, a)
    return np.where(space.categorical, category, child)


def gaussian_mutation(
    rng: np.random.Generator,
    space: SearchSpace,
    row: Array,
    *,
    step_size: float,
    switch_prob: float,
    per_parameter_prob: float = 1.0,
) -> Array:
    """Return a row with Gaussian steps of numbers and random other categories.

    Steps are in units of the range. A number changes with probability ``per_parameter_prob``, a
    category with probability ``switch_prob``.
    """
    d = len(row)
    moved = row + step_size * rng.standard_normal(d)
    moved = np.where(rng.random(d) < per_parameter_prob, reflect(moved), row)
    other = other_category(rng, space, row)
    switched = np.where(rng.random(d) < switch_prob, other, row)
    return np.where(space.categorical, switched, moved)


def adaptive_mutation(
    rng: np.random.Generator, space: SearchSpace, row: Array, note: N
) -> tuple[Array, N]:
    """Return a row after :func:`gaussian_mutation`, and its note with the adapted parameters.

    Before the mutation, the step size adapts log-normally within [0.001, 0.5], the switching
    probability logistically within [1 / (3 d), 0.5].
    """
    d = max(1, len(space))
    step_size = note.step_size * np.exp(rng.standard_normal() / np.sqrt(2 * d))
    odds = (1 - note.switch_prob) / note.switch_prob
    odds = odds * np.exp(-(1 / np.sqrt(2 * d)) * rng.standard_normal())
    note = replace(
        note,
        step_size=float(np.clip(step_size, 0.001, 0.5)),
        switch_prob=float(np.clip(1 / (1 + odds), 1 / (3 * d), 0.5)),
    )
    row = gaussian_mutation(
        rng,
        space,
        row,
        step_size=note.step_size,
        switch_prob=note.switch_prob,
    )
    return row, note


def mutated_strategy(
    rng: np.random.Generator, space: SearchSpace, note: N, n_weights: int = 0
) -> N:
    """Return a note whose strategy parameters were mutated as by Li et al. (2013).

    The step size is log-normal without bounds. The switching probability is logistic within
    [1 / (3 n), 0.5], where n is the number of categorical parameters.

    Args:
        rng: Generator.
        space: The parameters.
        note: The note.
        n_weights: Number of filter weights, which are numbers too.
    """
    n_categories = max(1, int(space.categorical.sum()))
    n_numbers = max(1, len(space) - int(space.categorical.sum()) + n_weights)
    step_size = note.step_size * np.exp(rng.standard_normal() / np.sqrt(2 * n_numbers))
    odds = (1 - note.switch_prob) / note.switch_prob
    odds *= np.exp(-rng.standard_normal() / np.sqrt(2 * n_categories))
    return replace(
        note,
        # Only what floating point needs.
        step_size=float(np.clip(step_size, 1e-9, 1e9)),
        switch_prob=float(np.clip(1 / (1 + odds), 1 / (3 * n_categories), 0.5)),
    )


def vary_row(
    rng: np.random.Generator,
    space: SearchSpace,
    rows: tuple[Array, Array],
    note: N,
    *,
    must_change: bool,
) -> tuple[Array, N]:
    """Return row and note of a child: a Gaussian step, crossover, or those of the first parent.

    ``must_change`` excludes the last.
    """
    row = rows[0]
    if not len(space):
        return row, note
    u = rng.random() * (_GAUSSIAN_PROB + _SBX_PROB if must_change else 1.0)
    if u < _GAUSSIAN_PROB:
        row, note = adaptive_mutation(rng, space, row, note)
    elif u < _GAUSSIAN_PROB + _SBX_PROB:
        row = cross_rows(rng, space, *rows)
    return fill_missing(rng, space, row), note


def other_category(rng: np.random.Generator, space: SearchSpace, rows: Array) -> Array:
    """Return a uniform draw among the other categories of each categorical parameter.

    Columns of numbers are drawn too, without meaning.

    Example:
        >>> from optuna.distributions import CategoricalDistribution
        >>> space = SearchSpace({"flag": CategoricalDistribution([False, True])})
        >>> other_category(np.random.default_rng(0), space, np.array([[0.0], [1.0]])).tolist()
        [[1.0], [0.0]]
    """
    n_others = np.maximum(1, np.where(space.categorical, space.cells - 1, 1))
    drawn = np.floor(rng.random(np.shape(rows)) * n_others)
    return drawn + (drawn >= rows)


def fill_missing(rng: np.random.Generator, space: SearchSpace, row: Array) -> Array:
    """Return a row in which parameters that a parent on another branch lacks are drawn."""
    return np.where(np.isnan(row), space.sample(rng)[0], row)


def reflect(x: Array) -> Array:
    """Return numbers folded back into [0, 1], so that steps across a bound do not pile up on it.

    Example:
        >>> reflect(np.array([-0.25, 0.5, 1.25])).tolist()
        [0.25, 0.5, 0.75]
    """
    return 1 - np.abs(np.mod(x, 2.0) - 1)


def differential_rows(
    rng: np.random.Generator,
    space: SearchSpace,
    base: Array,
    first: Array,
    second: Array,
    *,
    scale: float = 0.5,
    crossover_prob: float = 0.7,
    force_one: bool = True,
    round_categories: bool = False,
) -> Array:
    """Return a row, or rows, moved along the difference of two others (equation 8).

    To ``base``, ``scale`` (F) times ``first - second`` is added. A parameter takes part with
    probability ``crossover_prob`` (CR); one always does if ``force_one``. Where the
    two disagree in a category, it becomes that of ``first`` with probability ``scale``; or
    positions of categories are numbers that are rounded, as in the paper. A parameter that a row
    lacks, because it is on another branch of a conditional space, comes from one that has it; it
    stays NaN if none has.

    Example:
        >>> from optuna.distributions import FloatDistribution
        >>> space = SearchSpace({"x": FloatDistribution(0, 1)})
        >>> rows = (np.array([0.25]), np.array([0.75]), np.array([0.25]))
        >>> differential_rows(np.random.default_rng(0), space, *rows, crossover_prob=1.0).tolist()
        [0.5]
    """
    shape = np.shape(base)
    takes_part = rng.random(shape) < crossover_prob
    if force_one and shape[-1]:
        one = rng.integers(shape[-1], size=(*shape[:-1], 1))
        np.put_along_axis(takes_part, one, True, axis=-1)
    a, b = _complete(first, second), _complete(second, first)
    home = _complete(base, a)
    moved = home + scale * (a - b)
    if round_categories:
        category = np.clip(np.rint(moved), 0, np.maximum(space.cells - 1, 0))
    else:
        category = np.where((a != b) & (rng.random(shape) < scale), a, home)
    moved = np.where(space.categorical, category, reflect(moved))
    return np.where(takes_part & ~np.isnan(moved), moved, home)


def polynomial_mutation(
    rng: np.random.Generator,
    space: SearchSpace,
    row: Array,
    *,
    prob: float = 0.1,
    eta: float = 20.0,
    round_categories: bool = False,
) -> Array:
    """Return a row, or rows, with polynomial mutation of numbers and random other categories.

    Equations 9 and 10. Each parameter changes with probability ``prob``; the larger the
    distribution index ``eta``, the smaller are the steps. ``round_categories`` as for
    :func:`differential_rows`.
    """
    shape = np.shape(row)
    u = rng.random(shape)
    low = (2 * np.minimum(u, 0.5)) ** (1 / (eta + 1)) - 1
    high = 1 - (2 * (1 - np.maximum(u, 0.5))) ** (1 / (eta + 1))
    delta = np.where(u < 0.5, low, high)
    if round_categories:
        steps = np.where(space.categorical, space.cells - 1, 1.0)
        category = np.clip(np.rint(row + delta * steps), 0, np.maximum(steps, 0))
    else:
        category = other_category(rng, space, row)
    moved = np.where(space.categorical, category, reflect(row + delta))
    return np.where((rng.random(shape) < prob) & ~np.isnan(row), moved, row)


def _complete(row: Array, other: Array) -> Array:
    return np.where(np.isnan(row), other, row)
