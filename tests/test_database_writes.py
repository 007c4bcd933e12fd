"""What is written with plain statements is what Optuna writes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.exceptions import UpdateFinishedTrialError
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from optuna.trial import TrialState

import optuna_mofs
from optuna_mofs._database import PatientStorage
from tests.servers import SERVERS
from tests.test_database_reads import INF, several_steps, several_values, shown


@pytest.fixture(scope="module", params=["sqlite", *SERVERS])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('writes')}/a.db"
        return
    server: Any = SERVERS[request.param]()
    with server as url:
        yield url


@pytest.mark.parametrize("objective", [several_values, several_steps])
def test_trials_are_those_that_optuna_writes(url: str, objective: object) -> None:
    found = []
    for storage in (optuna_mofs.storage(url), RDBStorage(url)):
        study = optuna.create_study(
            storage=storage,
            directions=["minimize"] * (2 if objective is several_values else 1),
            sampler=RandomSampler(seed=0),
        )
        study.optimize(objective, n_trials=6, catch=(ValueError,))  # type: ignore[arg-type]
        trials = optuna.load_study(study_name=study.study_name, storage=RDBStorage(url)).trials
        for trial in trials:
            assert trial.duration is not None
            assert 0 <= trial.duration.total_seconds() < 60
            trial.datetime_start = trial.datetime_complete = None
            trial._trial_id = 0
        found.append(shown(trials))
    assert found[0] == found[1]


def running(url: str) -> tuple[PatientStorage, int]:
    """Return a storage and a trial that is running."""
    storage = optuna_mofs.storage(url)
    assert isinstance(storage, PatientStorage)
    study = optuna.create_study(storage=storage, directions=["minimize"] * 2)
    return storage, study.ask()._trial_id


def test_a_finished_trial_is_not_changed(url: str) -> None:
    storage, trial_id = running(url)
    assert storage.set_trial_state_values(trial_id, TrialState.COMPLETE, [1.0, INF])
    distribution = FloatDistribution(0, 1)
    with pytest.raises(UpdateFinishedTrialError):
        storage.set_trial_state_values(trial_id, TrialState.FAIL)
    with pytest.raises(UpdateFinishedTrialError):
        storage._set_trial_param(trial_id, "x", 0.5, distribution, distribution)
    assert not storage.add_trial_attrs(trial_id, {"a": 1}, {"b": 2})
    trial = storage.get_trial(trial_id)
    assert (trial.values, trial.params, trial.user_attrs) == ([1.0, INF], {}, {})


def test_what_a_trial_has_is_not_written_again(url: str) -> None:
    storage, trial_id = running(url)
    distribution = FloatDistribution(0, 1)
    for value in (0.5, 0.7):
        storage._set_trial_param(trial_id, "x", value, distribution, distribution)
    assert storage.add_trial_attrs(trial_id, {"a": 1}, {"b": 2})
    assert not storage.add_trial_attrs(trial_id, {"new": 1}, {"b": 3})
    trial = storage.get_trial(trial_id)
    assert trial.params == {"x": 0.5}
    assert (trial.system_attrs, trial.user_attrs) == ({"a": 1}, {"b": 2})


def test_another_kind_of_parameter_is_refused(url: str) -> None:
    storage, trial_id = running(url)
    with pytest.raises(ValueError, match="different distribution"):
        storage._set_trial_param(trial_id, "x", 1, IntDistribution(0, 1), FloatDistribution(0, 1))


def test_a_trial_that_does_not_exist(url: str) -> None:
    storage, _ = running(url)
    with pytest.raises(KeyError):
        storage.set_trial_state_values(10**6, TrialState.FAIL)
    assert not storage.add_trial_attrs(10**6, {"a": 1}, {})
