from __future__ import annotations

import optuna
import pytest
from optuna.samplers import RandomSampler

from optuna_mofs import LexicographicPreference, StopWhenSettled

VALUES = [(5.0, 5.0), (4.0, 9.0), (4.0, 3.0), (4.5, 2.0), (7.0, 1.0), (4.0, 4.0), (1.0, 1.0)]


def run(callback, *, directions=("minimize", "minimize"), n_trials=7, study=None):
    study = study or optuna.create_study(directions=directions, sampler=RandomSampler(seed=0))
    signs = [1 if d.name == "MINIMIZE" else -1 for d in study.directions]
    study.optimize(
        lambda t: [s * v for s, v in zip(signs, VALUES[t.number])],
        n_trials=n_trials,
        callbacks=[callback],
    )
    return len(study.trials)


def test_stops_when_all_goals_are_met():
    wanted = LexicographicPreference(goals={0: 4.0, 1: 3.0})
    assert run(StopWhenSettled(wanted)) == 3
    up = LexicographicPreference(goals={0: -4.0, 1: -3.0})
    assert run(StopWhenSettled(up), directions=["maximize", "maximize"]) == 3


def test_one_goal_is_enough_where_only_one_is_set():
    assert run(StopWhenSettled(LexicographicPreference(goals={1: 2.0}, tolerances={0: 1.0}))) == 4


def test_stops_when_the_best_stays_the_same():
    wanted = LexicographicPreference(tolerances={0: 0.5})
    # The best is trial 3 from then on, until the last would have changed it.
    assert run(StopWhenSettled(wanted, patience=2)) == 6
    assert run(StopWhenSettled(wanted, patience=3)) == 7


def test_goals_can_be_left_to_the_search():
    wanted = LexicographicPreference(goals={0: 100.0})
    assert run(StopWhenSettled(wanted, goals=False, patience=7)) == 7


def test_it_goes_on_after_reopening():
    wanted = LexicographicPreference(tolerances={0: 0.5})
    study = optuna.create_study(directions=["minimize"] * 2)
    assert run(StopWhenSettled(wanted, patience=2), n_trials=5, study=study) == 5
    assert run(StopWhenSettled(wanted, patience=2), n_trials=2, study=study) == 6


def test_trials_that_break_constraints_meet_no_goal():
    def objective(trial):
        trial.set_constraint("c", 1.0 if trial.number < 3 else 0.0)
        return 0.0

    study = optuna.create_study()
    wanted = LexicographicPreference(goals=[1.0])
    study.optimize(objective, n_trials=9, callbacks=[StopWhenSettled(wanted, patience=1)])
    assert len(study.trials) == 4


@pytest.mark.parametrize("patience", [0, 2.5, "3"])
def test_bad_patience_is_refused(patience):
    with pytest.raises(ValueError, match=f"patience.*{patience}"):
        StopWhenSettled(LexicographicPreference(), patience=patience)


def test_a_callback_that_never_stops_is_refused():
    with pytest.raises(ValueError, match="Nothing would ever stop"):
        StopWhenSettled(LexicographicPreference())
    with pytest.raises(ValueError, match="Nothing would ever stop"):
        StopWhenSettled(LexicographicPreference(goals=[1.0]), goals=False)
