from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import LexicographicPreference, LexiFlowSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.history._history import PROPOSAL
from optuna_mofs.samplers.lexiflow import guide
from optuna_mofs.testing.problems import PROBLEMS, make_study, mixed

LOSS_FIRST = LexicographicPreference(tolerances={0: 0.1})


def notes(study):
    return [frozen_attr(t, PROPOSAL) or {} for t in study.trials]


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_guided_trials_say_what_they_were_to_improve(problem):
    study = make_study(problem, sampler=LexiFlowSampler(LOSS_FIRST, seed=1, start_trials=4))
    study.optimize(PROBLEMS[problem], n_trials=40)
    written = notes(study)[1:]
    guided = [n for n in written if n["operator"] == "guided"]
    assert len(guided) > 25
    assert {n["improves"] for n in guided} == {0, 1}
    # Some step from a trial, some are drawn anywhere; none waits for an opposite.
    assert {len(n["parents"]) for n in guided} == {0, 1}
    assert all(p < k for k, n in enumerate(written, start=1) for p in n["parents"])
    assert {n["operator"] for n in written} <= {"start", "guided", "explore", "restart"}
    assert len({str(sorted(t.params.items())) for t in study.trials}) == 40


def test_a_model_finds_in_fewer_trials_what_directions_find():
    """Both are judged by the least loss of a bowl with many parameters."""

    def wide(trial):
        x = np.array([trial.suggest_float(f"x{j}", 0, 1) for j in range(6)])
        return float(((x - 0.3) ** 2).sum())

    found = {}
    for candidates in (0, 64):
        values = []
        for seed in range(3):
            sampler = LexiFlowSampler(seed=seed, start_trials=10, candidates=candidates)
            study = optuna.create_study(sampler=sampler)
            study.optimize(wide, n_trials=40)
            values.append(study.best_value)
        found[candidates] = np.median(values)
    assert found[64] < 0.5 * found[0]


def test_workers_that_ask_at_once_are_guided_to_different_points():
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=0, start_trials=4))
    study.optimize(mixed, n_trials=12)
    for _ in range(6):
        mixed(study.ask())
    asked = study.trials[12:]
    assert len({str(sorted(t.params.items())) for t in asked}) == 6


def test_length_scales_are_kept_until_there_are_enough_new_trials(monkeypatch):
    counts = []
    real = guide.scales
    monkeypatch.setattr(guide, "scales", lambda *args: counts.append(len(args[2])) or real(*args))
    study = make_study("mixed", sampler=LexiFlowSampler(LOSS_FIRST, seed=1))
    study.optimize(mixed, n_trials=60)
    # Two columns, each learned anew when there are 1.3 times as many trials.
    assert max(counts.count(c) for c in counts) == 2
    assert 4 <= len(set(counts)) <= 9
