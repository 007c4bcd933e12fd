"""Many children at once for a model to choose from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.moead.variation import Variation
from optuna_mofs.samplers.nsga2.start import Start

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
        near: Positions of its neighbours' trials.
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
        drawn = [Start()(rng, history, recipe)[0].mask for recipe in recipes]
        masks = np.concatenate([masks, np.array(drawn, dtype=bool).reshape(anywhere, -1)])
    return Children(rows, masks, parents)
