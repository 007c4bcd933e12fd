from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.ghga.archive import Archive
from optuna_mofs.samplers.ghga.dominance import Dominance
from optuna_mofs.samplers.ghga.population import dynamic_cost

#: Sets of four features, as numbers, with losses in steps of the tolerance.
trials = st.lists(st.tuples(st.integers(0, 15), st.integers(0, 6)), min_size=1, max_size=40)


@settings(deadline=None, max_examples=150)
@given(trials, st.sampled_from([1, 2, 5]))
def test_updates_give_what_a_comparison_of_all_sets_gives(
    added: list[tuple[int, int]], at_a_time: int
) -> None:
    # Better best losses, and better losses of sets that are there, come in any order.
    archive = Archive(4)
    dominance = Dominance(archive)
    for number, (bits, loss) in enumerate(added):
        archive.add(np.array([bits << 4], dtype=np.uint8), float(loss), number)
        if number % at_a_time and number < len(added) - 1:
            continue
        cost = dynamic_cost(archive.sizes.astype(float), archive.losses, 1.0)
        dominance.update(cost)
        sets = archive.masks()
        for k, outer in enumerate(sets):
            expected = any(
                cost[i] <= cost[k]
                for i, inner in enumerate(sets)
                if i != k and not (inner & ~outer).any()
            )
            assert dominance.flags[k] == expected
