from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers.operators.hypercube import latin_hypercube


@settings(deadline=None, max_examples=30)
@given(st.integers(1, 40), st.integers(0, 6), st.integers(0, 99))
def test_one_point_in_each_slice(count: int, d: int, seed: int) -> None:
    design = latin_hypercube(np.random.default_rng(seed), count, d)
    assert design.shape == (count, d)
    for column in np.floor(design * count).astype(int).T:
        assert sorted(column) == list(range(count))
