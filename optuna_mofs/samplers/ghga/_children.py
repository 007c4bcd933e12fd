"""Where filters rank the features: what they tell a guide, and children that follow them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    MaskSampler,
    best_of_size,
    cost_adjusted,
    sample_bernoulli_mask,
    sample_ensemble_mask,
    sample_wide_mask,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers._mask_operators import commonality_crossover, size_keeping_mutation
from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._guides import Prediction
from optuna_mofs.samplers.ghga._state import similar_pair

#: Children of which the guide takes one.
_CANDIDATES = 30
#: Part of the candidates that are the best features by rank, and of the others that grow.
_PREFIX, _GROW = 0.3, 0.5
#: Part of the children that have one feature more than their parent.
_ADD = 0.4
#: Spread of a candidate's size around its parent's, of its logarithm.
_SPREAD = 0.4


def sample_filtered_mask(number: int) -> MaskSampler:
    """Recipe of a first mask: half of them follow a single filter, in turn.

    Single filters, since one of them is often much better than their mean; small sets of the best
    features show soon what they are worth, and random halves what the filters overlook.

    Args:
        number: Number of the trial.
    """
    if number % 2:

        def single_start(rng: np.random.Generator, table: FeatureTable, weights: Array) -> Array:
            one = np.eye(len(weights))[number // 2 % len(weights)]
            return sample_wide_mask(rng, table, one)

        return single_start
    if number % 4:
        return sample_wide_mask
    return sample_ensemble_mask if number % 8 else sample_bernoulli_mask


@dataclass(frozen=True)
class FilterColumns:
    """What filters say of whole sets: a few columns, from which a guide learns whom to trust.

    Of each filter the mean over the set of a score that tells the best features apart (minus the
    logarithm of the place), the logarithm of the size, its square, and its products with these
    means.

    Args:
        ranks: Filters × features, 1 for the best.
    """

    ranks: Array

    def __call__(self, masks: Array) -> Array:
        """Sets × columns."""
        p = self.ranks.shape[1]
        scores = -np.log(np.maximum(1 - self.ranks, 0) + 1 / p)
        sizes = np.count_nonzero(masks, axis=1)
        means = masks @ scores.T / np.maximum(1, sizes)[:, None]
        size = np.log1p(sizes)[:, None]
        columns: Array = np.hstack([means, size, size**2, size * means])
        return columns


class Child(NamedTuple):
    """A mask, the places of its parents, and the operator that made it."""

    mask: Array
    first: int
    second: int
    operator: str


@dataclass(frozen=True)
class FilteredChildren:
    """Children that may also grow by what filters recommend; the guide takes the best of several.

    Args:
        table: The features, with ranks.
        predict: What the guide learned.
        rate: Mutation rate.
    """

    table: FeatureTable
    predict: Prediction
    rate: float

    def __call__(self, rng: np.random.Generator, archive: Archive, members: Array) -> Child | None:
        """A child that no trial has; None if none was found.

        Args:
            rng: Generator.
            archive: All sets.
            members: Places of those that reproduce.
        """
        if rng.random() < _ADD:
            return self._addition(rng, archive, members)
        made = []
        for _ in range(_CANDIDATES):
            a, b = similar_pair(rng, members, archive.dissimilarity)
            mask, operator = self._candidate(rng, archive.mask(a), archive.mask(b))
            if archive.place(mask) is None and mask.any():
                made.append(Child(mask, a, b, operator))
        if not made:
            return None
        scores = self.predict(np.array([child.mask for child in made]), rng)
        return made[int(np.argmax(scores))]

    def _addition(
        self, rng: np.random.Generator, archive: Archive, members: Array
    ) -> Child | None:
        """A good set with one feature more, the one that the guide finds most promising."""
        place = int(members[rng.integers(len(members), size=2).min()])
        mask = archive.mask(place)
        outside = np.flatnonzero(~mask)
        if not len(outside):
            return None
        larger = np.repeat(mask[None], len(outside), axis=0)
        larger[np.arange(len(outside)), outside] = True
        for k in np.argsort(-self.predict(larger, rng), kind="stable").tolist():
            if archive.place(larger[k]) is None:
                return Child(larger[k], place, place, "addition")
        return None

    def _candidate(
        self, rng: np.random.Generator, first: Array, second: Array
    ) -> tuple[Array, str]:
        filters = len(self.table.filters)
        weights = np.eye(filters)[rng.integers(filters)]
        if rng.random() < 0.5:
            weights = rng.dirichlet(np.ones(filters))
        size = max(1, np.count_nonzero(first)) * np.exp(_SPREAD * rng.standard_normal())
        if rng.random() < _PREFIX:
            return best_of_size(rng, self.table, weights, round(size)), "prefix"
        mask = commonality_crossover(rng, first, second)
        mask = size_keeping_mutation(rng, mask, self.rate)
        if rng.random() >= _GROW:
            return mask, "crossover"
        lacking = min(max(1, round(size) - np.count_nonzero(mask)), np.count_nonzero(~mask))
        assert self.table.free_ranks is not None
        score = cost_adjusted(weights @ self.table.free_ranks, self.table.free_costs)
        mask[np.argsort(mask - score, kind="stable")[:lacking]] = True  # those inside come last
        return mask, "growth"
