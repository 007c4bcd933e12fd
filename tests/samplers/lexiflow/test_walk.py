from __future__ import annotations

import optuna
import pytest

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.history._history import PROPOSAL
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study):
    return [frozen_attr(t, PROPOSAL) or {} for t in study.trials]


def flat(trial):
    """Nothing is better than the first trial, so every direction fails."""
    trial.suggest_float("x", 0, 1)
    trial.suggest_float("y", 0, 1)
    return float(trial.number > 0)


def test_a_direction_and_its_opposite_are_symmetric_about_the_incumbent():
    # From the middle no step leaves the space and is folded back.
    middle = {"x": 0.5, "y": 0.5}
    sampler = LexiFlowSampler(seed=3, start=middle, start_trials=1, explore=0, candidates=0)
    study = optuna.create_study(sampler=sampler)
    study.optimize(flat, n_trials=10)
    written = notes(study)
    pairs = [(n["opposite"], k) for k, n in enumerate(written) if n.get("operator") == "opposite"]
    assert pairs
    for plus, minus in pairs:
        a, b = written[plus], written[minus]
        assert (a["direction"], a["incumbent"], a["step"]) == (
            b["direction"],
            b["incumbent"],
            b["step"],
        )
        assert (a["sign"], b["sign"], minus) == (1, -1, plus + 1)
        assert study.trials[a["incumbent"]].params == middle
        there, back = study.trials[plus].params, study.trials[minus].params
        assert [there[n] + back[n] for n in middle] == pytest.approx([1.0, 1.0], abs=1e-4)


def test_everything_is_on_the_trials_and_says_where_it_came_from():
    study = make_study("packed", sampler=LexiFlowSampler(seed=1, start_trials=4, candidates=0))
    study.optimize(PROBLEMS["packed"], n_trials=25)
    written = notes(study)
    assert [n["operator"] for n in written[1:4]] == ["start"] * 3
    for number, note in enumerate(written[5:], start=5):
        if note["operator"] == "explore":
            assert note["parents"] == []
            continue
        assert note["operator"] in ("direction", "opposite")
        assert note["parents"] == [note["incumbent"]]
        assert note["incumbent"] < number
        assert {"thread", "direction", "sign", "step", "iteration", "failures"} <= set(note)


def test_steps_shrink_and_threads_restart_in_a_small_space():
    """Opposites that round to what was tried are not waited for."""
    study = optuna.create_study(sampler=LexiFlowSampler(seed=0, start_trials=1))
    study.optimize(
        lambda t: float(t.suggest_int("a", 0, 9) + t.suggest_int("b", 0, 9) + t.number > 0),
        n_trials=80,
    )
    written = notes(study)
    assert any(n.get("no_opposite") for n in written)
    assert max(n.get("thread", 0) for n in written) >= 1


def test_workers_follow_directions_of_their_own_and_late_results_count():
    study = make_study(
        "mixed",
        sampler=LexiFlowSampler(LOSS_FIRST, seed=0, start_trials=4, explore=0, candidates=0),
    )
    study.optimize(mixed, n_trials=8)
    open_trials = []
    for _ in range(4):
        trial = study.ask()
        open_trials.append((trial, mixed(trial)))
    written = notes(study)[8:]
    fresh = [n["direction"] for n in written if n["sign"] > 0]
    assert len(set(fresh)) == len(fresh) >= 3
    # They start where the search stands: at the incumbent or at the leader.
    assert len({n["incumbent"] for n in written}) <= 2
    assert len({tuple(t.params.items()) for t, _ in open_trials}) == 4
    # The last but one result is told first and is far the best: the next direction starts there.
    trial, _ = open_trials[2]
    study.tell(trial, (-50.0, -50.0))
    study.optimize(mixed, n_trials=1)
    assert notes(study)[-1]["incumbent"] == trial.number
    for trial, values in open_trials[:2] + open_trials[3:]:
        study.tell(trial, values)
    study.optimize(mixed, n_trials=3)
    assert notes(study)[-1]["incumbent"] == open_trials[2][0].number
