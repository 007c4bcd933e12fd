from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.samplers._mask_operators import (
    commonality_crossover,
    declining_rate,
    size_keeping_mutation,
)

quick = settings(max_examples=40)
masks = st.lists(st.booleans(), min_size=12, max_size=12).map(np.array)


@quick
@given(masks, masks, st.integers(0, 10**6))
def test_crossover_keeps_what_is_common(first: np.ndarray, second: np.ndarray, seed: int) -> None:
    child = commonality_crossover(np.random.default_rng(seed), first, second)
    assert (child >= (first & second)).all()
    assert (child <= (first | second)).all()


def test_crossover_keeps_the_size_of_the_first_parent() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.6, rng.random(200) < 0.2
    sizes = [commonality_crossover(rng, first, second).sum() for _ in range(400)]
    assert np.mean(sizes) == pytest.approx(first.sum(), abs=2)
    sizes = [commonality_crossover(rng, second, first).sum() for _ in range(400)]
    assert np.mean(sizes) == pytest.approx(second.sum(), abs=2)


@pytest.mark.parametrize("part", [0.05, 0.3, 0.5])
def test_mutation_keeps_the_size(part: float) -> None:
    rng = np.random.default_rng(0)
    mask = np.arange(200) < 200 * part
    found = [size_keeping_mutation(rng, mask, 0.2) for _ in range(400)]
    assert np.mean([m.sum() for m in found]) == pytest.approx(mask.sum(), abs=2)
    assert np.mean([(mask & ~m).sum() for m in found]) == pytest.approx(0.2 * mask.sum(), abs=1)


def test_mutation_of_all_and_nothing() -> None:
    rng = np.random.default_rng(0)
    assert not size_keeping_mutation(rng, np.zeros(5, dtype=bool), 1.0).any()
    assert size_keeping_mutation(rng, np.ones(500, dtype=bool), 0.1).sum() < 500


def test_rate_declines_to_the_final_one() -> None:
    rates = [declining_rate(i, 500, 0.5, 0.05) for i in range(1, 600)]
    assert rates[0] == 0.9
    assert all(a >= b for a, b in pairwise(rates))
    assert rates[499:] == [0.05] * 100
    # Table 2's shape: the rate is near a half after a quarter of phase 1.
    assert rates[124] == pytest.approx((500**0.5 - 125**0.5) / (500**0.5 - 1) + 0.05)
