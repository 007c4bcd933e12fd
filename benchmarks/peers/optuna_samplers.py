"""Optuna's samplers for comparison, with masks of geometric size in the initial population."""

from __future__ import annotations

from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution
from optuna.samplers import NSGAIISampler
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs import FeatureTable
from optuna_mofs.features._mask_sampling import geometric_size, subset_of_size
from optuna_mofs.samplers._base import HistorySampler
from optuna_mofs.samplers._context import Proposal, ProposalContext


class GeometricNSGAIISampler(NSGAIISampler):
    """Optuna's NSGA-II with masks of geometric size in its first population."""

    def __init__(self, table: FeatureTable, *, seed: int, population_size: int = 50) -> None:
        super().__init__(seed=seed, population_size=population_size)
        self._table = table
        self._start_seed = seed
        self._size = population_size

    def sample_independent(
        self,
        study: Study,
        trial: FrozenTrial,
        param_name: str,
        param_distribution: BaseDistribution,
    ) -> Any:
        """Return a bit of a mask of geometric size in the first population, else as Optuna."""
        if trial.number < self._size and param_name in self._table.names:
            p = len(self._table)
            rng = np.random.default_rng([self._start_seed, trial.number])
            mask = subset_of_size(rng, geometric_size(rng, self._table.initial_size, p), p)
            return bool(mask[self._table.names.index(param_name)])
        return super().sample_independent(study, trial, param_name, param_distribution)


class RandomGeometricSampler(HistorySampler):
    """Random hyperparameters and masks of geometric size."""

    def propose(self, ctx: ProposalContext) -> Proposal:
        """Return a random configuration."""
        table, rng = ctx.history.table, ctx.rng
        assert table is not None
        p = len(table.free)
        mask = subset_of_size(rng, geometric_size(rng, table.initial_size, p), p)
        return Proposal(ctx.history.space.sample(rng)[0], mask)
