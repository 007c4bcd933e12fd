"""The benchmark of model-based search: spaces, hypervolume, stored runs, a short run."""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pytest

from benchmarks.model_based import __main__ as script
from benchmarks.model_based import features, rates
from benchmarks.model_based.runs import BREAST_CANCER, Job, Result, collect, finished

JOB = Job("b", BREAST_CANCER, rows=100, folds=3, trials=5, method="ParEGOSampler", seed=0)


def test_hypervolume_is_scaled_over_the_fronts_of_all_methods() -> None:
    one = np.array([[0.2, 0.6], [0.4, 0.4], [0.9, 0.9]])  # the last is on no front
    two = np.array([[0.6, 0.2]])
    # Scaled by the union: (0, 1) and (.5, .5) against (1, 0).
    found = rates.scaled_volumes([one, two])
    np.testing.assert_allclose(found, [0.6 * 0.6 + 0.5 * 0.1, 1.1 * 0.1])


def test_the_joint_space_has_only_parameters_of_the_chosen_learner() -> None:
    job = Job("b", BREAST_CANCER, 100, 3, 30, "Latin hypercube", 0)
    params, _, _ = rates.run_latin(rates.space_of("b", p=7), lambda params: (0.0, 0.0), job)
    names = {p["learner"]: set(p) for p in params}
    assert names["svm"] == {"learner", "weight", "C", "gamma"}
    assert names["forest"] == {"learner", "weight", "mtry", "leaf"}
    assert names["logistic"] == {"learner", "weight", "penalty"}


def test_a_short_run() -> None:
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
    assert finished(keep) == found


def test_a_full_name_selects_one_method() -> None:
    args = argparse.Namespace(
        trials=5, methods="ParEGOSampler;Latin", seeds=1, slow_seeds=None, sets="x", data=None
    )
    args.rows, args.folds = 10, 2
    methods = [job.method for job in script._jobs("a", args)]
    assert methods == ["ParEGOSampler", "Latin hypercube"]


def test_reports_leave_out_runs_that_are_missing(capsys: pytest.CaptureFixture[str]) -> None:
    def result(job: Job) -> Result:
        at = 0.1 * (1 + job.seed)
        return {"tuned": [[at, 0.2], [0.3, at]], "tested": [[at, 0.2]], "seconds": 0.1}

    jobs = [Job("a", task, 10, 2, 2, "TPESampler", 0) for task in ("one", "two")]
    jobs.append(Job("a", "one", 10, 2, 2, "GPSampler", 0))
    rates.report({job: result(job) for job in jobs}, jobs)
    assert capsys.readouterr().out.count("GPSampler") == 2  # the first task, and its rank there

    jobs = [Job("c", job.task, 10, 2, 2, job.method, 0) for job in jobs]
    features.report({job: {"volumes": [0.1, 0.2]} for job in jobs}, jobs)
    assert "GPSampler" not in capsys.readouterr().out
