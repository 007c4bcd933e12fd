from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.exceptions import StorageInternalError, UpdateFinishedTrialError
from optuna.storages import BaseStorage, InMemoryStorage, JournalStorage, RDBStorage
from optuna.storages.journal import JournalFileBackend
from optuna.trial import TrialState
from sqlalchemy import event

from optuna_mofs import FilterEnsembleNSGA2Sampler, _optuna
from optuna_mofs._optuna import (
    PREFIX,
    close_connections,
    fresh_sampler,
    frozen,
    frozen_attr,
    known_trials,
    read_study_attr,
    storage_of,
    trials_by_number,
    trials_of,
    write_study_attr,
    write_trial_attrs,
)

STORAGE = InMemoryStorage()
STUDY = optuna.create_study(storage=STORAGE)


@settings(max_examples=40)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    ),
    st.integers(1, 40),
)
def test_study_values_come_back_whatever_their_length(value, piece):
    before = _optuna._PIECE
    _optuna._PIECE = piece
    try:
        write_study_attr(STUDY, "anything", value)
        assert read_study_attr(STUDY, "anything") == value
    finally:
        _optuna._PIECE = before


def test_an_attribute_that_was_not_written_is_none():
    assert read_study_attr(STUDY, "nothing") is None
    assert frozen_attr(frozen(STUDY.ask()), "nothing") is None


def test_pieces_fit_a_mysql_text_column_even_when_quoted_again(tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/a.db")
    value = ['"\\é'] * 40_000
    write_study_attr(study, "names", value)
    import sqlite3

    with sqlite3.connect(tmp_path / "a.db") as database:
        longest = max(
            len(row[0].encode())
            for row in database.execute("select value_json from study_system_attributes")
        )
    assert longest < 65_535
    reopened = optuna.load_study(study_name=None, storage=f"sqlite:///{tmp_path}/a.db")
    assert read_study_attr(reopened, "names") == value


def test_a_reader_between_two_writers_sees_one_whole_value(monkeypatch):
    study = optuna.create_study()
    monkeypatch.setattr(_optuna, "_PIECE", 10)
    first, second = list(range(50)), list(range(100, 130))
    write_study_attr(study, "table", first)
    storage_write = study._storage.set_study_system_attr
    seen = []

    def write_and_read(study_id, key, value):
        storage_write(study_id, key, value)
        seen.append(read_study_attr(study, "table"))

    monkeypatch.setattr(study._storage, "set_study_system_attr", write_and_read)
    write_study_attr(study, "table", second)
    assert all(value in (first, second) for value in seen)
    assert seen[0] == first
    assert seen[-1] == second


def test_trial_attributes_carry_the_prefix_and_are_seen_at_once():
    study = optuna.create_study()
    trial = study.ask()
    write_trial_attrs(study, trial, system={"mask": [1, "a"]})
    assert frozen_attr(frozen(trial), "mask") == [1, "a"]
    study.tell(trial, 0.0)
    completed = study.trials[0]
    assert frozen_attr(completed, "mask") == [1, "a"]
    assert all(key.startswith(PREFIX) for key in completed.system_attrs)


def test_trials_are_not_copied_and_can_be_chosen_by_state():
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    study.ask()
    assert [t.number for t in trials_of(study)] == [0, 1, 2]
    assert trials_of(study)[0] is trials_of(study)[0]
    running = trials_of(study, (optuna.trial.TrialState.RUNNING,))
    assert [t.number for t in running] == [2]


@pytest.mark.parametrize("bad", [object(), {1, 2}])
def test_a_value_that_is_not_json_raises_before_anything_is_written(bad):
    study = optuna.create_study()
    with pytest.raises(TypeError):
        write_study_attr(study, "bad", bad)
    assert read_study_attr(study, "bad") is None


@pytest.mark.parametrize(("n_failures", "written"), [(0, True), (3, True), (100, False)])
def test_a_write_that_conflicts_with_another_process_is_retried(n_failures, written, monkeypatch):
    class Busy(InMemoryStorage):
        calls = 0

        def set_trial_user_attr(self, trial_id, key, value):
            self.calls += 1
            if self.calls <= n_failures:
                raise StorageInternalError("database is locked")
            super().set_trial_user_attr(trial_id, key, value)

    monkeypatch.setattr(_optuna.time, "sleep", lambda seconds: None)
    study = optuna.create_study(storage=Busy())
    study.ask()
    trial = study.get_trials()[0]
    if written:
        write_trial_attrs(study, trial, user={"operator": "start"})
        assert study.get_trials()[0].user_attrs == {"operator": "start"}
    else:
        with pytest.raises(StorageInternalError, match="locked"):
            write_trial_attrs(study, trial, user={"operator": "start"})


def _database(path: Path) -> BaseStorage:
    return RDBStorage(f"sqlite:///{path}/a.db")


def _journal(path: Path) -> BaseStorage:
    return JournalStorage(JournalFileBackend(f"{path}/a.log"))


OPEN = {"database": _database, "journal": _journal, "memory": lambda path: InMemoryStorage()}


@pytest.mark.parametrize("kind", OPEN)
def test_attributes_are_written_together_and_can_be_written_again(kind, tmp_path):
    study = optuna.create_study(storage=OPEN[kind](tmp_path), study_name="a")
    trial = study.ask()
    write_trial_attrs(study, trial, system={"mask": [1], "proposal": {}}, user={"n": 1})
    # What is there already is replaced, whichever part of it is new.
    write_trial_attrs(study, trial, system={"mask": [2]}, user={"n": 2, "names": "ä"})
    write_trial_attrs(study, trial)
    expected = {PREFIX + "mask": [2], PREFIX + "proposal": {}}, {"n": 2, "names": "ä"}
    assert (frozen(trial).system_attrs, frozen(trial).user_attrs) == expected
    if kind != "memory":
        study = optuna.load_study(study_name="a", storage=OPEN[kind](tmp_path))
    assert (study.trials[0].system_attrs, study.trials[0].user_attrs) == expected


@pytest.mark.parametrize("kind", OPEN)
def test_a_finished_trial_is_not_changed(kind, tmp_path):
    study = optuna.create_study(storage=OPEN[kind](tmp_path))
    trial = study.ask()
    study.tell(trial, 0.0)
    with pytest.raises(UpdateFinishedTrialError):
        write_trial_attrs(study, trial, system={"mask": [1]}, user={"n": 1})
    assert (study.trials[0].system_attrs, study.trials[0].user_attrs) == ({}, {})
    assert frozen(trial).user_attrs == {}


def test_several_attributes_are_one_transaction(tmp_path):
    study = optuna.create_study(storage=_database(tmp_path))
    trial, commits = study.ask(), []
    event.listen(storage_of(study)._backend.engine, "commit", commits.append)
    write_trial_attrs(study, trial, system={"a": 1, "b": 2}, user={"c": 3, "d": 4})
    assert len(commits) == 1


def test_several_attributes_are_one_append(tmp_path, monkeypatch):
    study = optuna.create_study(storage=_journal(tmp_path))
    trial, calls = study.ask(), []
    backend = storage_of(study)._backend
    append = backend.append_logs
    monkeypatch.setattr(backend, "append_logs", lambda logs: (calls.append(logs), append(logs)))
    write_trial_attrs(study, trial, system={"a": 1, "b": 2}, user={"c": 3, "d": 4})
    assert len(calls) == 1
    assert study.trials[0].user_attrs == {"c": 3, "d": 4}


@pytest.mark.parametrize("kind", OPEN)
def test_known_trials_are_those_that_were_read_last(kind, tmp_path):
    storage = OPEN[kind](tmp_path)
    study = optuna.create_study(storage=storage, study_name="a")
    other = study
    if kind != "memory":
        other = optuna.load_study(study_name="a", storage=OPEN[kind](tmp_path))
    study.tell(study.ask(), 0.0)
    other.tell(other.ask(), 1.0)
    trial = study.ask()
    # Everything that was complete when the trial was created is known.
    states = [t.state for t in known_trials(study)]
    assert states == [TrialState.COMPLETE] * 2 + [TrialState.RUNNING]
    assert known_trials(study)[2].number == trial.number


@pytest.mark.parametrize("kind", OPEN)
def test_trials_by_number_are_all_trials(kind, tmp_path):
    study = optuna.create_study(storage=OPEN[kind](tmp_path))
    assert len(trials_by_number(study)) == 0
    for _ in range(3):
        study.tell(study.ask(), 0.0)
    study.ask()
    found = trials_by_number(study)
    assert [found[number] for number in range(len(found))] == study.trials
    assert [trial.number for trial in known_trials(study, since=2)] == [2, 3]


def test_known_trials_are_not_read_again(tmp_path):
    study = optuna.create_study(storage=_database(tmp_path))
    study.tell(study.ask(), 0.0)
    study.ask()
    statements = []
    engine = storage_of(study)._backend.engine
    event.listen(engine, "before_cursor_execute", lambda *args: statements.append(args))
    assert len(known_trials(study)) == 2
    assert statements == []


def test_connections_are_closed_and_opened_again(tmp_path):
    study = optuna.create_study(storage=f"sqlite:///{tmp_path}/a.db")
    engine = storage_of(study)._backend.engine
    pool = engine.pool
    close_connections(study)
    assert engine.pool is not pool
    study.set_user_attr("works", True)
    close_connections(optuna.create_study())  # without a database there is nothing to close


def _draws(sampler: optuna.samplers.BaseSampler) -> list[dict[str, float]]:
    study = optuna.create_study(sampler=sampler, directions=["minimize"] * 2)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), trial.number), n_trials=12)
    return [trial.params for trial in study.trials]


@pytest.mark.parametrize(
    "sampler",
    [
        optuna.samplers.RandomSampler(seed=0),
        optuna.samplers.TPESampler(seed=0, multivariate=True, group=True, n_startup_trials=3),
        optuna.samplers.NSGAIISampler(seed=0, population_size=4),
        FilterEnsembleNSGA2Sampler(seed=0),
        optuna.samplers.PartialFixedSampler({"z": 1}, FilterEnsembleNSGA2Sampler(seed=0)),
    ],
    ids=lambda sampler: type(sampler).__name__,
)
def test_a_fresh_sampler_depends_only_on_its_seed(sampler):
    before = _draws(fresh_sampler(sampler, 1))
    other = optuna.create_study(storage=STORAGE, sampler=sampler, directions=["minimize"] * 2)
    other.optimize(lambda trial: (trial.suggest_int("y", 0, 9), 0), n_trials=5)
    assert _draws(fresh_sampler(sampler, 1)) == before != _draws(fresh_sampler(sampler, 2))


def test_a_fresh_sampler_that_continues_a_study_does_not_repeat_its_draws():
    sampler = optuna.samplers.RandomSampler(seed=0)
    assert _draws(fresh_sampler(sampler, 1)) != _draws(fresh_sampler(sampler, 1, n_trials=12))


def test_a_wrapped_trial_can_be_written_to():
    class Wrapper:  # as Ray Tune passes to its search spaces
        def __init__(self, trial):
            self.trial = trial

        def __getattr__(self, name):
            return getattr(self.trial, name)

    study = optuna.create_study()
    trial = study.ask()
    _optuna.write_trial_attrs(study, Wrapper(trial), system={"a": 1}, user={"b": 2})
    assert trial.user_attrs == study.trials[0].user_attrs == {"b": 2}
    assert frozen_attr(study.trials[0], "a") == 1
