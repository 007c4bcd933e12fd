"""A small run of the benchmark of objectives without features."""

from __future__ import annotations

import optuna
import pytest

from benchmarks import plain_objectives
from optuna_mofs import FilterEnsembleNSGA2Sampler


@pytest.mark.parametrize("name", plain_objectives.PROBLEMS)
def test_hypervolume_of_every_problem_grows(name: str) -> None:
    problem = plain_objectives.PROBLEMS[name]
    found = plain_objectives.run(problem, optuna.samplers.RandomSampler(seed=0), (10, 40))
    assert 0 < found[0] < found[1] <= 1


def test_the_default_does_not_stay_at_an_integer() -> None:
    """It did while it evaluated candidates between integers."""
    problem = plain_objectives.PROBLEMS["category and integer"]
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=FilterEnsembleNSGA2Sampler(seed=0)
    )
    study.optimize(problem.objective, n_trials=45)
    last = [(trial.params["kind"], trial.params["n"]) for trial in study.trials[25:]]
    assert len(set(last)) > 10
