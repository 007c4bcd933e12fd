"""Initial masks and children that follow filters, and filter scores as inputs of the guide."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import best_of_size, cost_adjusted, get_mask_sampler
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers._initial_design import initial_operator
from optuna_mofs.samplers._mask_operators import commonality_crossover, size_keeping_mutation
from optuna_mofs.samplers.ghga._archive import Archive
from optuna_mofs.samplers.ghga._guides import Prediction
from optuna_mofs.samplers.ghga._state import similar_pair

#: Children of which the guide chooses one.
_N_CANDIDATES = 30
#: Part of the candidates that are the best features by rank, and part of the others that grow.
_PREFIX_PROB, _GROWTH_PROB = 0.3, 0.5
#: Share of the children that have one feature more than their parent.
_ADDITION_PROB = 0.4
#: Standard deviation of the logarithm of a candidate's size around that of its parent.
_SIZE_STD = 0.4


def sample_filtered_mask(
    rng: np.random.Generator, table: FeatureTable, weights: Array, number: int
) -> tuple[Array, str]:
    """Return an initial mask and its operator; every second one follows a single filter, in turn.

    Single filters, since one of them is often much better than their mean. Small sets of the best
    features soon show how useful those are, and random halves what the filters overlook.
    """
    if number % 2:
        name, sampler = "single_filter", "wide"
        weights = np.eye(len(weights))[number // 2 % len(weights)]
    else:
        name = sampler = "wide" if number % 4 else "ensemble" if number % 8 else "bernoulli"
    return get_mask_sampler(sampler)(rng, table, weights), initial_operator(name)


@dataclass(frozen=True)
class FilterColumns:
    """Filter scores of whole sets as columns, from which a guide learns which filter to trust.

    They are the mean over the set of each filter's score (minus the logarithm of the place, which
    sets the best features apart), the logarithm of the size, its square, and its products with
    these means.
    """

    #: Filters × features, 1 for the best.
    ranks: Array

    def __call__(self, masks: Array) -> Array:
        """Return sets × columns."""
        p = self.ranks.shape[1]
        scores = -np.log(np.maximum(1 - self.ranks, 0) + 1 / p)
        sizes = np.count_nonzero(masks, axis=1)
        means = masks @ scores.T / np.maximum(1, sizes)[:, None]
        size = np.log1p(sizes)[:, None]
        return np.hstack([means, size, size**2, size * means])


class Child(NamedTuple):
    """A mask, the positions of its parents in the archive, and the operator that made it."""

    mask: Array
    first: int
    second: int
    operator: str


@dataclass(frozen=True)
class FilteredChildren:
    """Children that may also grow by features of high rank; the guide chooses one of several."""

    table: FeatureTable
    predict: Prediction
    mutation_rate: float

    def __call__(self, rng: np.random.Generator, archive: Archive, members: Array) -> Child | None:
        """Return a child of some members of the archive that no trial has, or None."""
        if rng.random() < _ADDITION_PROB:
            return self._addition(rng, archive, members)
        masks, children = [], []
        for _ in range(_N_CANDIDATES):
            a, b = similar_pair(rng, members, archive.dissimilarity)
            mask, operator = self._candidate(rng, archive.masks(a), archive.masks(b))
            mask = self.table.limited(mask)
            if archive.position(mask) is None and mask.any():
                masks.append(mask)
                children.append(Child(mask, a, b, operator))
        if not children:
            return None
        return children[int(np.argmax(self.predict(np.array(masks), rng)))]

    def _addition(
        self, rng: np.random.Generator, archive: Archive, members: Array
    ) -> Child | None:
        """Return a good set with one feature more, the one that the guide predicts to be best."""
        position = int(members[rng.integers(len(members), size=2).min()])
        mask = archive.masks(position)
        outside = np.flatnonzero(~mask)
        if not len(outside):
            return None
        larger = mask | (np.arange(len(mask)) == outside[:, None])
        if not self.table.allows(larger[0]):
            return None
        for k in np.argsort(-self.predict(larger, rng), kind="stable").tolist():
            if archive.position(larger[k]) is None:
                return Child(larger[k], position, position, "addition")
        return None

    def _candidate(
        self, rng: np.random.Generator, first: Array, second: Array
    ) -> tuple[Array, str]:
        n_filters = len(self.table.filters)
        weights = np.eye(n_filters)[rng.integers(n_filters)]
        if rng.random() < 0.5:
            weights = rng.dirichlet(np.ones(n_filters))
        size = max(1, np.count_nonzero(first)) * np.exp(_SIZE_STD * rng.standard_normal())
        if rng.random() < _PREFIX_PROB:
            return best_of_size(rng, self.table, weights, round(size)), "prefix"
        mask = commonality_crossover(rng, first, second)
        mask = size_keeping_mutation(rng, mask, self.mutation_rate)
        if rng.random() >= _GROWTH_PROB:
            return mask, "crossover"
        n_added = min(max(1, round(size) - np.count_nonzero(mask)), np.count_nonzero(~mask))
        assert self.table.free_ranks is not None
        score = cost_adjusted(weights @ self.table.free_ranks, self.table.free_costs)
        mask[np.argsort(mask - score, kind="stable")[:n_added]] = True  # selected ones come last
        return mask, "growth"
