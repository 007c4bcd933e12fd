"""Crossover and mutation of hyperparameter rows, columns of mixed kinds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import SearchSpace


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
    space: SearchSpace,
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
    space: SearchSpace,
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


def fill_missing(rng: np.random.Generator, space: SearchSpace, row: Array) -> Array:
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


def differential_rows(
    rng: np.random.Generator,
    space: SearchSpace,
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
        >>> space = SearchSpace({"x": FloatDistribution(0, 1)})
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
    space: SearchSpace,
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


def _complete(row: Array, other: Array) -> Array:
    return np.where(np.isnan(row), other, row)


#: Step size and switching probability of a trial that remembers none.
_FIRST = 0.1


@dataclass(frozen=True)
class RowVariation:
    """How the row of a child is made of those of its parents.

    Args:
        tune: Probability that a child keeps its parent's mask and only its row changes.
        step: Probability of a Gaussian step, its size self-adapted.
        blend: Probability that the parents' rows are crossed; else the first one's is kept.
        eta: Distribution index of the crossover.
    """

    tune: float = 0.25
    step: float = 0.35
    blend: float = 0.15
    eta: float = 5.0

    def tunes(self, rng: np.random.Generator, space: SearchSpace) -> bool:
        """Draw whether a child changes nothing but its row."""
        return bool(len(space)) and bool(rng.random() < self.tune)

    def first(self, rng: np.random.Generator, space: SearchSpace) -> tuple[Array, dict[str, Any]]:
        """A random row, and what is remembered of it."""
        return space.sample(rng)[0], self.memory(space, {})

    def child(
        self,
        rng: np.random.Generator,
        space: SearchSpace,
        rows: tuple[Array, Array],
        note: Mapping[str, Any],
        *,
        always: bool,
    ) -> tuple[Array, dict[str, Any]]:
        """A row of two, and what is remembered of it.

        Args:
            rng: Generator.
            space: The parameters.
            rows: Of the parents.
            note: What the first parent remembers.
            always: Whether the row must change.
        """
        row, memory = rows[0], self.memory(space, note)
        if not len(space):
            return row, memory
        u = rng.random() * (self.step + self.blend if always else 1.0)
        if u < self.step:
            step = adapt_step(rng, memory["step"], len(space))
            rate = adapt_rate(rng, memory["rate"], len(space))
            row = mutate_rows(rng, space, row, step=step, rate=rate)
            memory = {"step": step, "rate": rate}
        elif u < self.step + self.blend:
            row = cross_rows(rng, space, rows[0], rows[1], eta=self.eta)
        return fill_missing(rng, space, row), memory

    @staticmethod
    def whole(rng: np.random.Generator, space: SearchSpace, row: Array) -> Array:
        """An inherited row; what it lacks is drawn."""
        return fill_missing(rng, space, row)

    @staticmethod
    def memory(space: SearchSpace, note: Mapping[str, Any]) -> dict[str, Any]:
        """Step size and rate that a note remembers, else the first ones."""
        if not len(space):
            return {}
        return {"step": note.get("step", _FIRST), "rate": note.get("rate", _FIRST)}
