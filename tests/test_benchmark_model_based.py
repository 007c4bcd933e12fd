"""The benchmark of model-based search: its spaces, its hypervolume, kept runs, a run in small."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.model_based import rates
from benchmarks.model_based.runs import BREAST_CANCER, Job, Result, collect

JOB = Job("b", BREAST_CANCER, rows=100, folds=3, trials=5, method="ParEGOSampler", seed=0)


def test_hypervolume_is_scaled_over_the_fronts_of_all_methods() -> None:
    one = np.array([[0.2, 0.6], [0.4, 0.4], [0.9, 0.9]])  # the last is on no front
    two = np.array([[0.6, 0.2]])
    # Scaled by the union: (0, 1) and (.5, .5) against (1, 0).
    found = rates.scaled_volumes([one, two])
    np.testing.assert_allclose(found, [0.6 * 0.6 + 0.5 * 0.1, 1.1 * 0.1])


def test_joint_space_asks_only_for_the_learner_chosen() -> None:
    job = Job("b", BREAST_CANCER, 100, 3, 30, "Latin hypercube", 0)
    params, _, _ = rates.run_latin(rates.space_of("b", p=7), lambda params: (0.0, 0.0), job)
    names = {p["learner"]: set(p) for p in params}
    assert names["svm"] == {"learner", "weight", "C", "gamma"}
    assert names["forest"] == {"learner", "weight", "mtry", "leaf"}
    assert names["logistic"] == {"learner", "weight", "penalty"}


def test_a_run_in_small() -> None:
    made = rates.run(JOB)
    assert np.shape(made["tuned"]) == (5, 2)
    assert ((np.array(made["tested"]) >= 0) & (np.array(made["tested"]) <= 1)).all()
    assert made["seconds"] > 0


def test_finished_runs_are_not_run_again(tmp_path: Path) -> None:
    done: list[Job] = []

    def run(job: Job) -> Result:
        done.append(job)
        return {"seed": job.seed}

    jobs = [Job("a", "sonar", 10, 2, 5, "x", seed, folder="here") for seed in range(3)]
    keep = tmp_path / "runs.jsonl"
    collect(run, jobs[:2], 1, keep)
    elsewhere = [Job("a", "sonar", 10, 2, 5, "x", seed, folder="there") for seed in range(3)]
    found = collect(run, elsewhere, 1, keep)
    assert [job.seed for job in done] == [0, 1, 2]
    assert [found[job]["seed"] for job in jobs] == [0, 1, 2]
