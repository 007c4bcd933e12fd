from __future__ import annotations

import os
from functools import partial
from pathlib import Path

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.trial import FrozenTrial, TrialState

from optuna_mofs.testing._workers import Job, open_storage, run
from optuna_mofs.testing.problems import PROBLEMS, VALUES, make_study


class Signing(RandomSampler):
    """Writes on a trial which process made it."""

    def before_trial(self, study: optuna.Study, trial: FrozenTrial) -> None:
        study._storage.set_trial_user_attr(trial._trial_id, "process", os.getpid())


@pytest.fixture(params=["sqlite:///{}/s.db", "{}/s.log"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    place: str = request.param.format(tmp_path)
    return place


def test_workers_are_new_processes(where: str) -> None:
    study = make_study("mixed", storage=open_storage(where), study_name="s")
    jobs = [Job(where, "s", "mixed", trials=2), Job(where, "s", "mixed", trials=1)]
    assert run(partial(Signing, seed=0), jobs, count=2) == [0, 0]
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 6
    processes = {t.user_attrs["process"] for t in study.trials}
    assert len(processes) == 2
    assert os.getpid() not in processes


def test_until_and_kill(where: str) -> None:
    study = make_study("mixed", storage=open_storage(where), study_name="s")
    make = partial(RandomSampler, seed=0)
    assert run(make, [Job(where, "s", "mixed", until=5, kill_at=3)]) == [-9]
    assert [t.state.name for t in study.trials] == ["COMPLETE"] * 3 + ["RUNNING"]
    assert study.trials[3].params, "it dies when all is suggested"
    assert run(make, [Job(where, "s", "mixed", until=5)]) == [0]
    assert [t.state.name for t in study.trials[4:]] == ["COMPLETE"] * 2


def test_an_error_is_an_exit_code(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    where = f"{tmp_path}/s.log"
    open_storage(where)
    assert run(RandomSampler, [Job(where, "no such study", "mixed", trials=1)]) == [1]


@pytest.mark.parametrize("problem", sorted(PROBLEMS))
def test_problems_are_deterministic(problem: str) -> None:
    study = make_study(problem, sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS[problem], n_trials=8)
    again = make_study(problem, sampler=RandomSampler(seed=1))
    for trial in study.trials:
        again.enqueue_trial(trial.params)
    again.optimize(PROBLEMS[problem], n_trials=8)
    assert [t.values for t in again.trials] == [t.values for t in study.trials]
    assert len(study.directions) == VALUES.get(problem, 2)
    assert len({tuple(t.values) for t in study.trials}) > 4
