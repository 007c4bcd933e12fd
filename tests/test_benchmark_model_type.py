"""Reports of the benchmark of model types."""

from __future__ import annotations

import pytest

from benchmarks.papers import rosales_2014 as model_type


def found(s1: float, s2: float, forest: float) -> dict[str, float]:
    return {
        "S1": s1,
        "S2": s2,
        "S3": s1,
        "focused": 50.0,
        "forest": forest,
        "front": 9,
        "hypervolume": 0.5,
    }


def test_limits_are_counted_per_data_set(capsys: pytest.CaptureFixture[str]) -> None:
    tasks = ["banana", "heart"]
    jobs = [(name, part, "MOEADSampler", 9, "losses") for name in tasks for part in range(2)]
    # banana: 10.98 is exactly half a point above the paper; heart passes none of the three limits.
    runs = {
        job: found(12.0, 10.98, 13.0) if job[0] == "banana" else found(17.0, 17.5, 17.2)
        for job in jobs
    }
    model_type.report_errors(runs, jobs, tasks)
    printed = capsys.readouterr().out
    assert "10.98 ± 0.00 (10.48)" in printed
    assert "| S2 | 1 of 2 | 1 of 2 | 1 of 2 |" in printed
    # The strategy of this package is counted separately.
    assert "| focused | 0 of 2 | 0 of 2 | 0 of 2 |" in printed


def test_samplers_are_compared_in_one_row(capsys: pytest.CaptureFixture[str]) -> None:
    samplers = ["MOEADSampler", "NSGAIISampler"]
    jobs = [("heart", 0, sampler, 9, "losses") for sampler in samplers]
    runs = {job: {"hypervolume": 0.25 + 0.5 * i} for i, job in enumerate(jobs)}
    model_type.report_hypervolume(runs, jobs, ["heart"], samplers)
    printed = capsys.readouterr().out
    assert "| heart | 1 | 0.2500 [0.2500, 0.2500] | 0.7500 [0.7500, 0.7500] |" in printed


def test_the_papers_three_strategies() -> None:
    strategies = [model_type.MODELS[label]["strategy"] for label in ("S1", "S2", "S3")]
    assert strategies == ["knee", "weighted", "diverse"]
    assert not any("by" in model_type.MODELS[label] for label in ("S1", "S2", "S3"))


def test_every_learner_has_a_space() -> None:
    assert all(space for _, space in model_type.learners().values())
