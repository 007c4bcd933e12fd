"""Hyperparameters are carried along: inherited, stepped and blended as in the NSGA-II."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.operators.rows import (
    adapt_rate,
    adapt_step,
    cross_rows,
    fill_missing,
    mutate_rows,
)

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

    def tunes(self, rng: np.random.Generator, space: ParameterSpace) -> bool:
        """Draw whether a child changes nothing but its row."""
        return bool(len(space)) and bool(rng.random() < self.tune)

    def first(
        self, rng: np.random.Generator, space: ParameterSpace
    ) -> tuple[Array, dict[str, Any]]:
        """A random row, and what is remembered of it."""
        return space.sample(rng)[0], self.memory(space, {})

    def child(
        self,
        rng: np.random.Generator,
        space: ParameterSpace,
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
    def whole(rng: np.random.Generator, space: ParameterSpace, row: Array) -> Array:
        """An inherited row; what it lacks is drawn."""
        return fill_missing(rng, space, row)

    @staticmethod
    def memory(space: ParameterSpace, note: Mapping[str, Any]) -> dict[str, Any]:
        """Step size and rate that a note remembers, else the first ones."""
        if not len(space):
            return {}
        return {"step": note.get("step", _FIRST), "rate": note.get("rate", _FIRST)}
