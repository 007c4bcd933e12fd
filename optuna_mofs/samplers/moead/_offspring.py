"""Children by differential evolution, one or many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs._validation import check_float, check_probability
from optuna_mofs.features._mask_sampling import simplex_weights
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._candidates import Candidates, random_candidates
from optuna_mofs.samplers._mask_operators import (
    AddDrop,
    FilterEnsembleMutation,
    MaskMutation,
    differential_mask,
)
from optuna_mofs.samplers._row_operators import differential_rows, polynomial_mutation, reflect

#: Function of (generator, history, positions of the base trials and of two others per base) that
#: returns the rows and the masks of the children.
Variation = Callable[
    [np.random.Generator, History, Array, Array, Array], tuple[Array, Array | None]
]


@dataclass(frozen=True)
class DifferentialVariation:
    """Differential crossover, then polynomial mutation (equations 8 to 10).

    Args:
        scale: Length of the step in differences of two members (F).
        crossover_prob: Probability that a parameter takes part in it (CR).
        force_one: Whether one parameter always takes part. In the paper none has to.
        mutation_prob: Probability that a parameter is mutated; None for one parameter on average,
            at least 0.1.
        eta: Distribution index of the mutation.
        jitter: Standard deviation of a small step of every number, in units of its range, so that
            numbers that do not take part are not repeated. The paper has none.
        round_categories: Whether positions of categories are numbers that are rounded, as in the
            paper. Otherwise a category changes to another one.
        mask_mutations: Mutations of a mask, one of which is drawn.
        mask_mutation_prob: Probability that a mask is mutated.
    """

    scale: float = 0.5
    crossover_prob: float = 0.7
    force_one: bool = True
    mutation_prob: float | None = None
    eta: float = 20.0
    jitter: float = 0.03
    round_categories: bool = False
    mask_mutations: tuple[MaskMutation, ...] = field(
        default_factory=lambda: (AddDrop(), FilterEnsembleMutation())
    )
    mask_mutation_prob: float = 0.7

    def __post_init__(self) -> None:
        for name in ("scale", "crossover_prob", "mask_mutation_prob"):
            check_probability(name, getattr(self, name))
        if self.mutation_prob is not None:
            check_probability("mutation_prob", self.mutation_prob)
        check_float("eta", self.eta, 0, low_is_open=True)
        check_float("jitter", self.jitter, 0)

    def __call__(
        self, rng: np.random.Generator, history: History, base: Array, first: Array, second: Array
    ) -> tuple[Array, Array | None]:
        """Return one child per base trial."""
        space, rows = history.space, history.rows
        row = differential_rows(
            rng,
            space,
            rows[base],
            rows[first],
            rows[second],
            scale=self.scale,
            crossover_prob=self.crossover_prob,
            force_one=self.force_one,
            round_categories=self.round_categories,
        )
        prob = self.mutation_prob
        if prob is None:
            prob = max(0.1, 1 / max(1, len(space)))
        row = polynomial_mutation(
            rng, space, row, prob=prob, eta=self.eta, round_categories=self.round_categories
        )
        moved = reflect(row + self.jitter * rng.standard_normal(row.shape))
        row = np.where(space.categorical, row, moved)
        row = np.where(np.isnan(row), space.sample(rng, len(row)), row)
        table = history.table
        if table is None:
            return row, None
        masks = []
        for parents in zip(base.tolist(), first.tolist(), second.tolist()):
            mask = differential_mask(
                rng,
                *(history.mask(i) for i in parents),
                scale=self.scale,
                crossover_prob=self.crossover_prob,
            )
            masks.append(table.limited(self._mutated(rng, mask, table)))
        return row, np.array(masks)

    def _mutated(self, rng: np.random.Generator, mask: Array, table: FeatureTable) -> Array:
        if not self.mask_mutations or rng.random() >= self.mask_mutation_prob:
            return mask
        mutation = self.mask_mutations[int(rng.integers(len(self.mask_mutations)))]
        return mutation(rng, mask, table, simplex_weights(rng, len(table.filters)))


#: Parts of the children whose base is the member of the subproblem, and any trial of the front.
#: The others are drawn at random.
_MEMBER_FRACTION, _FRONT_FRACTION = 0.5, 0.25


def draw_children(
    rng: np.random.Generator,
    history: History,
    variation: Variation,
    count: int,
    *,
    base: int,
    neighbors: Array,
    members: Array,
    front: Array,
) -> Candidates:
    """Return children of a subproblem and of the whole front, and some drawn at random.

    The base of the first is the member ``base`` of the subproblem, moved along differences of
    its ``neighbors``; that of the second is on the front, moved along differences of ``members``
    of all subproblems. All are positions in the history.
    """
    n_own, n_front = round(_MEMBER_FRACTION * count), round(_FRONT_FRACTION * count)
    first, second = neighbors[rng.integers(len(neighbors), size=(2, n_own))]
    others = members[rng.integers(len(members), size=(2, n_front))]
    bases = np.concatenate([np.full(n_own, base), front[rng.integers(len(front), size=n_front)]])
    parents = np.column_stack(
        [bases, np.concatenate([first, others[0]]), np.concatenate([second, others[1]])]
    )
    rows, masks = variation(rng, history, *parents.T)
    made = Candidates(rows, parents, np.full(len(rows), "differential"), masks)
    drawn = random_candidates(rng, history, count - len(rows))
    return Candidates.joined([made, replace(drawn, parents=np.full((len(drawn), 3), -1))])
