from __future__ import annotations

import optuna
import pytest
from optuna.samplers import RandomSampler

from benchmarks import parallel, workers
from optuna_mofs import LexiFlowSampler


@pytest.fixture(autouse=True)
def quiet():
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    yield
    optuna.logging.set_verbosity(before)


def test_more_workers_finish_more_trials_in_the_same_time() -> None:
    found = [
        workers.simulate(RandomSampler(seed=0), n, n_trials=10, duration=3.0, seed=0, features=20)
        for n in (1, 8)
    ]
    assert found[0]["in time"] < found[1]["in time"]
    assert all(one["completed"] >= 10 for one in found)
    assert all(one["writes"] > 2 for one in found)


def test_workers_that_die_leave_failed_trials_that_do_not_count() -> None:
    deadly = workers.Conditions(death=0.5)
    found = workers.simulate(
        LexiFlowSampler(seed=0, n_startup_trials=4),
        4,
        n_trials=16,
        duration=0.0,
        seed=0,
        conditions=deadly,
        features=20,
    )
    assert found["completed"] == 16
    assert found["repeats"] == 0
    assert found["equal time"] == 0.0 < found["equal trials"]


def test_hypervolume_is_that_below_the_reference_point() -> None:
    assert workers.hypervolume([]) == workers.hypervolume([(2.0, 0.5)]) == 0.0
    assert workers.hypervolume([(0.5, 0.5), (2.0, 0.0)]) == pytest.approx(0.5)


def test_configurations_are_counted() -> None:
    study = optuna.create_study(sampler=RandomSampler(seed=0))
    for x in (1, 1, 2):
        study.enqueue_trial({"x": x})
    study.optimize(lambda trial: trial.suggest_int("x", 0, 9), n_trials=3)
    assert sorted(parallel.configurations(study.trials).values()) == [1, 2]
    assert workers.started_twice(study.trials) == 1
