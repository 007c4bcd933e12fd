from __future__ import annotations

import numpy as np
from optuna.distributions import CategoricalDistribution, FloatDistribution

from optuna_mofs.history._search_space import ParameterSpace
from optuna_mofs.samplers.ghga.rows import RowVariation

SPACE = ParameterSpace({"C": FloatDistribution(0, 1), "kind": CategoricalDistribution(["a", "b"])})


def test_no_parameters_nothing_to_do() -> None:
    rng, none = np.random.default_rng(0), ParameterSpace({})
    variation = RowVariation()
    row, memory = variation.child(rng, none, (np.zeros(0), np.zeros(0)), {}, always=False)
    assert (len(row), memory) == (0, {})
    assert not any(variation.tunes(rng, none) for _ in range(50))


def test_rows_are_kept_stepped_or_crossed() -> None:
    rng, variation = np.random.default_rng(0), RowVariation()
    parents = (SPACE.sample(rng)[0], SPACE.sample(rng)[0])
    note = {"step": 0.2, "rate": 0.3}
    kept = 0
    for _ in range(400):
        row, memory = variation.child(rng, SPACE, parents, note, always=False)
        kept += bool((row == parents[0]).all())
        assert set(memory) == {"step", "rate"}
    assert 150 < kept < 280


def test_a_row_that_must_change_mostly_does() -> None:
    rng, variation = np.random.default_rng(0), RowVariation()
    parents = (SPACE.sample(rng)[0], SPACE.sample(rng)[0])
    same = sum(
        bool((variation.child(rng, SPACE, parents, {}, always=True)[0] == parents[0]).all())
        for _ in range(200)
    )
    assert same < 20


def test_what_a_row_lacks_is_drawn() -> None:
    row = RowVariation.whole(np.random.default_rng(0), SPACE, np.array([np.nan, 0.0]))
    assert 0 <= row[0] <= 1
