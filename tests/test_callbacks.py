from __future__ import annotations

from pathlib import Path

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from optuna_mofs import (
    LexicographicPreference,
    LexicographicStoppingCallback,
    NoNewOptimaCallback,
    suggest_features,
)
from optuna_mofs.callbacks import n_trials_without_optimum

#: Loss, size and set by trial: a better loss, a smaller set within 0.1, one more of that size.
COURSE = [
    (1.0, 5, "a"),
    (0.5, 5, "b"),
    (0.55, 3, "c"),
    (0.9, 1, "d"),
    (0.58, 3, "e"),
    (0.7, 4, "f"),
]


@pytest.mark.parametrize(("trials", "since"), [(1, 0), (2, 0), (3, 0), (4, 1), (5, 0), (6, 1)])
def test_what_counts_as_new(trials: int, since: int) -> None:
    losses, sizes, keys = zip(*COURSE[:trials])
    assert n_trials_without_optimum(losses, sizes, [key.encode() for key in keys], 0.1) == since


def test_a_set_found_again_is_not_new() -> None:
    assert n_trials_without_optimum([0.5, 0.5, 0.5], [2, 2, 2], [b"a", b"a", b"a"], 0.1) == 2


def test_infeasible_trials_find_no_optimum() -> None:
    assert n_trials_without_optimum([np.nan, np.nan], [1, 1], [b"a", b"b"], 0.1) == 2


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(1, 4), st.integers(0, 5)), min_size=1))
def test_the_latest_optimum_is_the_last_one_seen_for_the_first_time(
    course: list[tuple[int, int, int]],
) -> None:
    losses = [float(loss) for loss, _, _ in course]
    sizes = [size for _, size, _ in course]
    keys = [bytes([key, size]) for _, size, key in course]
    best = losses.index(min(losses))
    good = [i for i, loss in enumerate(losses) if loss <= min(losses) + 1]
    least = min(sizes[i] for i in good)
    optimal = [i for i in good if sizes[i] == least]
    first = {keys[i]: i for i in reversed(optimal)}
    latest = max([best, *first.values()])
    assert n_trials_without_optimum(losses, sizes, keys, 1.0) == len(course) - 1 - latest


def scripted(trial: optuna.Trial) -> tuple[float, float]:
    mask = suggest_features(trial, 6)
    loss = {0: 1.0, 1: 0.5, 9: 0.2}.get(trial.number, 2.0)
    return loss, float(mask.sum())


def test_it_stops_when_patience_is_exceeded() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.optimize(scripted, n_trials=100, callbacks=[NoNewOptimaCallback(8, 0.0)])
    # Optima at 1 and, after seven trials without, at 9; then eight trials without.
    assert len(study.trials) == 18


def test_trials_before_reopening_count(tmp_path: Path) -> None:
    storage = optuna.storages.JournalStorage(
        optuna.storages.journal.JournalFileBackend(str(tmp_path / "log"))
    )
    study = optuna.create_study(
        storage=storage, study_name="s", directions=["minimize"] * 2, sampler=RandomSampler(seed=0)
    )
    study.optimize(scripted, n_trials=14)
    again = optuna.load_study(study_name="s", storage=storage, sampler=RandomSampler(seed=1))
    again.optimize(scripted, n_trials=100, callbacks=[NoNewOptimaCallback(8, 0.0)])
    assert len(again.trials) == 18


def test_maximized_single_values_and_infeasible_trials() -> None:
    def objective(trial: optuna.Trial) -> float:
        suggest_features(trial, 6)
        trial.set_constraint("odd", float(trial.number % 2))
        return float(trial.number)  # every trial is better, but odd ones are infeasible

    study = optuna.create_study(direction="maximize", sampler=RandomSampler(seed=0))
    study.optimize(objective, n_trials=9, callbacks=[NoNewOptimaCallback(2)])
    assert len(study.trials) == 9
    study.optimize(lambda t: objective(t) * 0 - 1, n_trials=9, callbacks=[NoNewOptimaCallback(2)])
    assert len(study.trials) == 11


def test_bad_arguments_raise() -> None:
    with pytest.raises(ValueError, match="patience must be an integer of at least 1, got 0"):
        NoNewOptimaCallback(0)
    with pytest.raises(ValueError, match="tolerance must be a number of at least 0, got -1"):
        NoNewOptimaCallback(5, -1)
    study = optuna.create_study()
    with pytest.raises(ValueError, match="No metric 1"):
        study.optimize(lambda t: 1.0, n_trials=1, callbacks=[NoNewOptimaCallback(metric=1)])


def test_the_metric_by_name() -> None:
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    study.set_metric_names(["size", "loss"])
    study.optimize(
        lambda trial: scripted(trial)[::-1],
        n_trials=100,
        callbacks=[NoNewOptimaCallback(8, 0.0, metric="loss")],
    )
    assert len(study.trials) == 18


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
    preference = LexicographicPreference(goals={0: 4.0, 1: 3.0})
    assert run(LexicographicStoppingCallback(preference)) == 3
    up = LexicographicPreference(goals={0: -4.0, 1: -3.0})
    assert run(LexicographicStoppingCallback(up), directions=["maximize", "maximize"]) == 3


def test_a_goal_of_a_later_metric_does_not_end_the_search():
    # The first trial meets the goal; trial 2 is the best from then on, until the last one.
    preference = LexicographicPreference(goals={1: 5.0})
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 5
    assert run(LexicographicStoppingCallback(preference, patience=3)) == 6
    assert run(LexicographicStoppingCallback(preference)) == 7


def test_a_goal_of_the_first_metric_does_not_end_the_search_for_fewer_features():
    preference = LexicographicPreference(goals={0: 4.5})
    # Trial 3 is the best from then on: 4.5 is good enough, and it has the lowest second value.
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 6


def test_what_exceeds_a_goal_is_no_change():
    values = [(3.0, 1.0), (2.0, 1.0), (1.0, 1.0)]
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    callback = LexicographicStoppingCallback(LexicographicPreference(goals={0: 3.0}), patience=1)
    study.optimize(lambda t: values[t.number], n_trials=3, callbacks=[callback])
    assert len(study.trials) == 2


def test_only_priorities_are_waited_for():
    preference = LexicographicPreference([0], goals={0: 5.0})
    assert run(LexicographicStoppingCallback(preference, patience=None)) == 1
    preference = LexicographicPreference([1], goals={1: 2.0})
    assert run(LexicographicStoppingCallback(preference, patience=None)) == 4


def test_stops_when_the_best_stays_the_same():
    preference = LexicographicPreference(tolerances={0: 0.5})
    # The best is trial 3 from then on, until the last would have changed it.
    assert run(LexicographicStoppingCallback(preference, patience=2)) == 6
    assert run(LexicographicStoppingCallback(preference, patience=3)) == 7


def test_it_continues_after_reopening():
    preference = LexicographicPreference(tolerances={0: 0.5})
    study = optuna.create_study(directions=["minimize"] * 2, sampler=RandomSampler(seed=0))
    assert run(LexicographicStoppingCallback(preference, patience=2), n_trials=5, study=study) == 5
    assert run(LexicographicStoppingCallback(preference, patience=2), n_trials=2, study=study) == 6


def test_infeasible_trials_meet_no_goal():
    def objective(trial):
        trial.set_constraint("c", 1.0 if trial.number < 3 else 0.0)
        return 0.0

    study = optuna.create_study()
    preference = LexicographicPreference(goals=[1.0])
    study.optimize(
        objective, n_trials=9, callbacks=[LexicographicStoppingCallback(preference, patience=1)]
    )
    assert len(study.trials) == 4


@pytest.mark.parametrize("patience", [0, 2.5, "3"])
def test_bad_patience_raises(patience):
    with pytest.raises(ValueError, match=f"patience.*{patience}"):
        LexicographicStoppingCallback(LexicographicPreference(), patience=patience)


def test_a_callback_that_never_stops_raises():
    with pytest.raises(ValueError, match="would never stop"):
        LexicographicStoppingCallback(LexicographicPreference(), patience=None)
    preference = LexicographicPreference(goals={1: 1.0})
    with pytest.raises(ValueError, match=r"never stop: the metrics \['value_0'\] have no goal"):
        run(LexicographicStoppingCallback(preference, patience=None))
