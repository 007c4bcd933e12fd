"""The benchmark of model-based search: its spaces, its hypervolume, a run in small."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks import model_based


def test_hypervolume_is_scaled_over_all_methods() -> None:
    one, two = np.array([[0.2, 0.6], [0.4, 0.4]]), np.array([[0.6, 0.2]])
    found = model_based.scaled_volumes([one, two])
    # Scaled by the union: (0, 1) and (.5, .5) against (1, 0).
    np.testing.assert_allclose(found, [0.6 * 0.6 + 0.5 * 0.1, 1.1 * 0.1])


def test_joint_space_asks_only_for_the_learner_chosen() -> None:
    space = model_based.space_of("b", p=7)

    def values(params: dict[str, Any]) -> tuple[float, float]:
        return 0.0, 0.0

    params, _, _ = model_based.run_latin(space, values, 30, seed=0)  # type: ignore[arg-type]
    names = {p["learner"]: set(p) for p in params}
    assert names["svm"] == {"learner", "weight", "C", "gamma"}
    assert names["forest"] == {"learner", "weight", "mtry", "leaf"}
    assert names["logistic"] == {"learner", "weight", "penalty"}


def test_a_run_in_small() -> None:
    job = ("b", "", model_based.BREAST_CANCER, 100, 3, 5, "ParEGOSampler", 0)
    _, made = model_based.run_rates(job)
    assert made["tuned"].shape == (5, 2)
    assert ((made["tested"] >= 0) & (made["tested"] <= 1)).all()
    assert made["seconds"] > 0
