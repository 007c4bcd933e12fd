"""The first configurations of a model-based search."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    ensemble_start,
    geometric_start,
    prefix_start,
    simplex_weights,
    wide_start,
)
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import Activity
from optuna_mofs.samplers.base import Proposal
from optuna_mofs.samplers.model_based.design import thinned_design
from optuna_mofs.samplers.model_based.warp import Warp
from optuna_mofs.samplers.operators.hypercube import latin_hypercube

#: How first masks are made, in turn.
_MASKS = (ensemble_start, prefix_start, geometric_start, wide_start)


class FirstConfigurations:
    """Trial ``n`` takes point ``n`` of a design that all trials of the study share.

    Args:
        history: What is known.
        count: Points of the design.
        seed: Of the study.
        kept: Keeps the design from trial to trial.
    """

    def __init__(
        self,
        history: History,
        count: int,
        seed: int,
        kept: Callable[[str, Callable[[], Any]], Any],
    ) -> None:
        self.count = count
        self._history = history
        self._seed = seed
        self._kept = kept

    def __call__(self, rng: np.random.Generator, number: int) -> Proposal:
        """The configuration of a trial; a random one if the design has no other left."""
        rows = self._design()
        proposal = self._with_mask(rng, rows[number % len(rows)], number, "start")
        if number >= len(rows) or self._is_known(proposal):
            return self.random(rng, number)
        return proposal

    def random(self, rng: np.random.Generator, number: int = 0) -> Proposal:
        """A random configuration."""
        history = self._history
        row = self._activity().apply(history.space.sample(rng))[0]
        return self._with_mask(rng, row, number, "random")

    def _activity(self) -> Activity:
        history = self._history
        return Activity(history.space, history.rows, history.active_if)

    def _design(self) -> Array:
        space = self._history.space
        activity = self._activity()
        key = f"design {self.count} {space.distributions!r} {activity.signature!r}"

        def make() -> Array:
            rng = np.random.default_rng([self._seed, 2**21])
            if not space.categorical.any() and not activity.conditional:
                rows = space.from_unit(latin_hypercube(rng, self.count, len(space)))
            else:
                rows = thinned_design(
                    rng,
                    lambda rng, count: activity.apply(space.sample(rng, count)),
                    space.categorical,
                    self.count,
                )
            warp = Warp(space.names, self._history.described)
            return warp.back(warp.with_none(rows))

        rows: Array = self._kept(key, make)
        return rows

    def _with_mask(
        self, rng: np.random.Generator, row: Array, number: int, operator: str
    ) -> Proposal:
        table = self._history.table
        if table is None:
            return Proposal(row, None, operator)
        recipe = _MASKS[number % len(_MASKS)]
        filters = len(table.filters)
        weights = simplex_weights(rng, filters) if filters else np.zeros(0)
        return Proposal(row, recipe(rng, table, weights), recipe.__name__)

    def _is_known(self, proposal: Proposal) -> bool:
        history = self._history
        return history.table is None and history.is_known(history.space.decode(proposal.row))
