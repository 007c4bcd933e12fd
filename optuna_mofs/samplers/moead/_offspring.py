"""Children made by differential evolution, one or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import simplex_weights
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._initial_design import RandomDesign
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    MaskMutation,
    differential_mask,
)
from optuna_mofs.samplers._row_operators import differential_rows, polynomial_mutation, reflect

#: Function of (generator, history, positions of the bases and of two others for each); returns
#: the rows and the masks of the children.
Variation = Callable[
    [np.random.Generator, History, Array, Array, Array], tuple[Array, Array | None]
]


@dataclass(frozen=True)
class DifferentialVariation:
    """Differential crossover, then polynomial mutation (equations 8 to 10).

    Args:
        scale: Length of the step in differences of two members (F).
        rate: Probability that a parameter takes part in it (CR).
        mutation_rate: Probability that a parameter is mutated; None for one parameter on average,
            at least 0.1.
        eta: Distribution index of the mutation.
        drift: Standard deviation of a small step that every number takes, in units of its range:
            no value is tried twice by not taking part. The paper has none.
        rounded: Whether categories are numbers that are rounded, as in the paper, or change as
            categories.
        mask_mutations: Mutations of a mask, one of which is drawn.
        mask_rate: Probability that a mask is mutated.
    """

    scale: float = 0.5
    rate: float = 0.7
    mutation_rate: float | None = None
    eta: float = 20.0
    drift: float = 0.03
    rounded: bool = False
    mask_mutations: tuple[MaskMutation, ...] = field(
        default_factory=lambda: (AddDrop(), FilterEnsembleMutation())
    )
    mask_rate: float = 0.7

    def __post_init__(self) -> None:
        shares = {"scale": self.scale, "rate": self.rate, "mask_rate": self.mask_rate}
        if self.mutation_rate is not None:
            shares["mutation_rate"] = self.mutation_rate
        for name, value in shares.items():
            if not 0 <= value <= 1:
                raise ValueError(f"{name} must lie in 0..1, but is {value!r}.")
        if self.eta <= 0:
            raise ValueError(f"eta must be above 0 (the paper's is 20), but is {self.eta!r}.")
        if self.drift < 0:
            raise ValueError(f"drift must be at least 0, but is {self.drift!r}.")

    def __call__(
        self, rng: np.random.Generator, history: History, base: Array, first: Array, second: Array
    ) -> tuple[Array, Array | None]:
        """Children of three trials each, given by their positions."""
        space, rows = history.space, history.rows
        row = differential_rows(
            rng,
            space,
            rows[base],
            rows[first],
            rows[second],
            scale=self.scale,
            rate=self.rate,
            rounded=self.rounded,
        )
        mutation_rate = self.mutation_rate
        if mutation_rate is None:
            mutation_rate = max(0.1, 1 / max(1, len(space)))
        row = polynomial_mutation(
            rng, space, row, rate=mutation_rate, eta=self.eta, rounded=self.rounded
        )
        drifted = reflect(row + self.drift * rng.standard_normal(row.shape))
        row = np.where(space.categorical, row, drifted)
        row = np.where(np.isnan(row), space.sample(rng, len(row)), row)
        table = history.table
        if table is None:
            return row, None
        masks = [
            self._mutated(
                rng,
                differential_mask(
                    rng, *(history.mask(i) for i in three), scale=self.scale, rate=self.rate
                ),
                table,
            )
            for three in zip(base.tolist(), first.tolist(), second.tolist())
        ]
        return row, np.array(masks)

    def _mutated(self, rng: np.random.Generator, mask: Array, table: FeatureTable) -> Array:
        if not self.mask_mutations or rng.random() >= self.mask_rate:
            return mask
        mutation = self.mask_mutations[int(rng.integers(len(self.mask_mutations)))]
        filters = len(table.filters)
        weights = simplex_weights(rng, filters) if filters else np.zeros(0)
        return mutation(rng, mask, table, weights)


#: Shares of children: of the subproblem's own trial; of trials anywhere on the front. The others
#: are drawn anywhere in the space.
_OWN, _FRONT = 0.5, 0.25


@dataclass(frozen=True)
class Children:
    """Configurations, and where they come from.

    Args:
        rows: Children × parameters.
        masks: Children × free features, or None.
        parents: Children × 3: positions of the base and of the two whose difference moved it, -1
            for a child drawn anywhere.
    """

    rows: Array
    masks: Array | None
    parents: Array

    def __len__(self) -> int:
        return len(self.rows)


def draw_children(
    rng: np.random.Generator,
    history: History,
    variation: Variation,
    count: int,
    *,
    base: int,
    near: Array,
    members: Array,
    front: Array,
) -> Children:
    """Children of a subproblem and of the whole front, and some drawn anywhere.

    Args:
        rng: Generator.
        history: Finished trials.
        variation: Makes children of three trials each.
        count: How many.
        base: Position of the subproblem's own trial.
        near: Positions of its neighbors' trials.
        members: Positions of all subproblems' trials.
        front: Positions of the trials that no other dominates.
    """
    own, along = round(_OWN * count), round(_FRONT * count)
    first, second = near[rng.integers(len(near), size=(2, own))]
    others = members[rng.integers(len(members), size=(2, along))]
    bases = np.concatenate([np.full(own, base), front[rng.integers(len(front), size=along)]])
    parents = np.column_stack(
        [bases, np.concatenate([first, others[0]]), np.concatenate([second, others[1]])]
    )
    rows, masks = variation(rng, history, *parents.T)
    anywhere = count - own - along
    rows = np.concatenate([rows, history.space.sample(rng, anywhere)])
    parents = np.concatenate([parents, np.full((anywhere, 3), -1)])
    if masks is not None:
        recipes = rng.integers(2**16, size=anywhere).tolist()
        drawn = [RandomDesign()(rng, history, recipe).mask for recipe in recipes]
        masks = np.concatenate([masks, np.array(drawn, dtype=bool).reshape(anywhere, -1)])
    return Children(rows, masks, parents)
