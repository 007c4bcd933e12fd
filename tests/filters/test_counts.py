from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optuna_mofs.filters._counts import PairInformation

from .textbook import information, pair_information


@settings(max_examples=60)
@given(st.data())
def test_information_equals_the_textbook(data):
    n = data.draw(st.integers(2, 150))  # past two words of 64 samples
    p = data.draw(st.integers(1, 5))
    rng = np.random.default_rng(data.draw(st.integers(0, 10_000)))
    levels = rng.integers(1, 6, p)
    codes = np.array([rng.integers(0, size, n) for size in levels], dtype=np.uint8)
    classes = rng.integers(0, data.draw(st.integers(1, 4)), n)
    fast = PairInformation(codes, levels, classes)
    alone = [information(row, classes) for row in codes]
    np.testing.assert_allclose(fast.relevance, alone, atol=1e-10)
    for s in range(p):
        joint, mutual = fast.with_feature(s)
        expected = [pair_information(row, codes[s], classes) for row in codes]
        np.testing.assert_allclose(joint, expected, atol=1e-10)
        np.testing.assert_allclose(
            mutual, [information(row, codes[s]) for row in codes], atol=1e-10
        )


def test_contingency_counts_every_sample():
    rng = np.random.default_rng(0)
    levels = np.array([2, 5, 3])
    codes = np.array([rng.integers(0, size, 200) for size in levels], dtype=np.uint8)
    classes = rng.integers(0, 3, 200)
    table, known = PairInformation(codes, levels, classes).contingency()
    assert known.tolist() == levels.tolist()
    for k, row in enumerate(codes):
        for b in range(5):
            for c in range(3):
                assert table[b, c, k] == np.sum((row == b) & (classes == c))


@pytest.mark.parametrize("p", [4097, 9000])
def test_more_features_than_one_chunk(p):
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 3, (p, 70)).astype(np.uint8)
    classes = rng.integers(0, 2, 70)
    fast = PairInformation(codes, np.full(p, 3), classes)
    for k in (0, 4095, 4096, p - 1):
        assert fast.relevance[k] == pytest.approx(information(codes[k], classes), abs=1e-10)
        expected = pair_information(codes[k], codes[7], classes)
        assert fast.with_feature(7)[0][k] == pytest.approx(expected, abs=1e-10)
