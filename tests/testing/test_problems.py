from __future__ import annotations

import pytest
from optuna.samplers import RandomSampler

from optuna_mofs.testing.problems import N_VALUES, PROBLEMS, make_study


@pytest.mark.parametrize("problem", sorted(PROBLEMS))
def test_problems_are_deterministic(problem: str) -> None:
    study, repeated = (make_study(problem, sampler=RandomSampler(seed=0)) for _ in range(2))
    for each in (study, repeated):
        each.optimize(PROBLEMS[problem], n_trials=8)
    assert [t.params for t in repeated.trials] == [t.params for t in study.trials]
    assert [t.values for t in repeated.trials] == [t.values for t in study.trials]
    assert len(study.directions) == N_VALUES.get(problem, 2)
    assert len({tuple(t.values) for t in study.trials}) > 4


def test_values_can_be_maximized() -> None:
    study = make_study("three", maximize=True)
    assert [d.name for d in study.directions] == ["MAXIMIZE"] * 3
