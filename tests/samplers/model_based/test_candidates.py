from __future__ import annotations

import numpy as np

from optuna_mofs.samplers.model_based.candidates import Candidates


def part(first: int, masks: np.ndarray | None) -> Candidates:
    count = 3
    return Candidates(
        np.full((count, 2), first),
        np.arange(count) + first,
        np.zeros(count, dtype=np.int64),
        np.full(count, f"step {first}"),
        masks,
        None if masks is None else np.array([0, 1, 1]),
    )


def test_joined_without_masks() -> None:
    both = Candidates.joined([part(0, None), part(5, None)])
    assert both.scores.tolist() == [0, 1, 2, 5, 6, 7]
    assert both.operators.tolist() == ["step 0"] * 3 + ["step 5"] * 3
    assert both.mask(4) is None


def test_joined_candidates_keep_their_masks() -> None:
    one, two = np.eye(2, dtype=bool), ~np.eye(2, 2, dtype=bool)
    both = Candidates.joined([part(0, one), part(5, two)])
    for k, mask in enumerate([one[0], one[1], one[1], two[0], two[1], two[1]]):
        np.testing.assert_array_equal(both.mask(k), mask)
