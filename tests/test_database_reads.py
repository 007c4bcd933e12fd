"""Trials read with two statements are those that Optuna reads with six."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext

import optuna
import pytest
from optuna.samplers import RandomSampler
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, Trial, TrialState

import optuna_mofs
from optuna_mofs import _database_reads
from optuna_mofs._optuna import study_key
from tests.servers import SERVERS

INF = float("inf")


@pytest.fixture(scope="module", params=["sqlite", *SERVERS])
def url(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    file = nullcontext(f"sqlite:///{tmp_path_factory.mktemp('reads')}/a.db")
    with file if request.param == "sqlite" else SERVERS[request.param]() as url:
        yield url


def several_values(trial: Trial) -> tuple[float, float]:
    """Return values, or fail, after parameters of all kinds."""
    x = trial.suggest_float("x", 1e-5, 1, log=True)
    trial.suggest_categorical("c", ["a", None, 3, True, 2.5])
    i = trial.suggest_int("a step", 1, 9, step=2)
    trial.suggest_int("mask", 0, 2**52)
    trial.set_user_attr("größe %s", {"x": [1, 2.5, None]})
    trial.set_user_attr("b", "'")
    if trial.number == 1:
        raise optuna.TrialPruned
    if trial.number == 2:
        raise ValueError
    return (INF, -INF) if trial.number == 3 else (x / 3, i / 7)


def several_steps(trial: Trial) -> float:
    """Return a value after intermediate ones of all kinds."""
    for step, value in enumerate([1 / 3, INF, -INF, float("nan")]):
        trial.report(value, 2 * step)
    return trial.suggest_float("x", 0, 1)


def shown(trials: list[FrozenTrial]) -> str:
    """Return texts, which tell NaN, types of values, and the order of parameters.

    Optuna returns attributes in any order.
    """
    for trial in trials:
        for attrs in (trial.user_attrs, trial.intermediate_values):
            ordered = sorted(attrs.items())
            attrs.clear()
            attrs.update(ordered)
    return repr(trials)


@pytest.fixture(scope="module")
def studies(url: str) -> list[optuna.Study]:
    storage, sampler = optuna_mofs.storage(url), RandomSampler(seed=0)
    two = optuna.create_study(storage=storage, directions=["minimize"] * 2, sampler=sampler)
    two.optimize(several_values, n_trials=6, catch=(ValueError,))
    two.enqueue_trial({"x": 0.1})
    two.ask().suggest_float("x", 1e-5, 1, log=True)
    two.enqueue_trial({"x": 0.2})
    one = optuna.create_study(storage=storage, sampler=sampler)
    one.optimize(several_steps, n_trials=2)
    return [two, one]


@pytest.mark.parametrize("block", [2, 2_000])
def test_trials_are_those_of_optuna(
    url: str, studies: list[optuna.Study], block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_database_reads, "_BLOCK", block)
    ours, theirs = optuna_mofs.storage(url), RDBStorage(url)
    for study in studies:
        trials = ours.get_all_trials(study_key(study)[1])
        assert shown(trials) == shown(theirs.get_all_trials(study_key(study)[1]))
        assert shown([ours.get_trial(trial._trial_id) for trial in trials]) == shown(trials)
    assert len(trials) == 2
    assert {trial.state for trial in studies[0].trials} == set(TrialState)


def test_some_trials_are_those_of_optuna(url: str, studies: list[optuna.Study]) -> None:
    ours, theirs = optuna_mofs.storage(url), RDBStorage(url)
    study_id = study_key(studies[0])[1]
    ids = [trial._trial_id for trial in studies[0].trials]
    for states, included, after in [
        (None, set(ids[:2]), ids[2]),
        (None, set(ids), ids[3]),
        (None, set(), ids[-1]),
        (None, {ids[0]}, -1),
        ((TrialState.COMPLETE, TrialState.FAIL), {ids[0]}, ids[1]),
        ((), set(), -1),
    ]:
        found = ours._get_trials(study_id, states, included, after)
        expected = theirs._get_trials(study_id, states, included, after)
        assert shown(found) == shown(expected)


def test_what_does_not_exist_raises_the_error_of_optuna(
    url: str, studies: list[optuna.Study]
) -> None:
    storage = optuna_mofs.storage(url)
    with pytest.raises(KeyError, match="does not exist"):
        storage.get_trial(10**6)
    with pytest.raises(KeyError, match="does not exist"):
        storage.get_all_trials(10**6)


@pytest.mark.parametrize(("name", "value"), [("DIALECTS", ()), ("SCHEMA", "v99.0.0.a")])
def test_other_databases_and_other_tables_are_read_by_optuna(
    url: str,
    studies: list[optuna.Study],
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    value: object,
) -> None:
    study_id = study_key(studies[0])[1]
    expected = shown(optuna_mofs.storage(url).get_all_trials(study_id))
    monkeypatch.setattr(f"optuna_mofs._database.{name}", value)
    monkeypatch.setattr("optuna_mofs._database.read_study_trials", None)
    assert shown(optuna_mofs.storage(url).get_all_trials(study_id)) == expected
