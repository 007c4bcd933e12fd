"""Races on parts of the rows of large tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optuna.distributions import IntDistribution
from optuna.samplers import RandomSampler
from optuna.trial import TrialState
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs.objectives import _row_rungs as module
from optuna_mofs.objectives._row_rungs import row_rungs, rung_losses
from optuna_mofs.study._partial import partial_estimate

FOLDS = [(np.delete(np.arange(30_000), np.s_[k::3]), np.arange(k, 30_000, 3)) for k in range(3)]


def test_rungs_are_nested_parts_of_the_first_fold() -> None:
    small, large = row_rungs(FOLDS, 30_000, 0)
    train, test = FOLDS[0]
    assert [len(small[0]), len(large[0])] == [20_000 // 9, 20_000 // 3]
    assert set(small[0]) < set(large[0]) < set(train)
    assert set(small[1]) < set(test)
    assert len(small[1]) == 5_000
    assert (small[1] == large[1]).all()
    again = row_rungs(FOLDS, 30_000, 0)
    assert (again[0][0] == small[0]).all()


def test_small_tables_have_none() -> None:
    assert row_rungs(FOLDS, 20_000, 0) == []


def objective(monkeypatch: pytest.MonkeyPatch, **options: Any) -> FeatureSelectionObjective:
    """An objective on 3,000 rows that counts as large; three of ten features matter."""
    monkeypatch.setattr(module, "MIN_ROWS", 500)
    monkeypatch.setattr(module, "_MIN_TRAIN", 40)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((3_000, 12))
    y = (X[:, :3].sum(axis=1) + 0.3 * rng.standard_normal(3_000) > 0).astype(int)
    space = {"max_depth": IntDistribution(1, 8)}
    arguments = {"space": space, "racing": True, "filters": ["anova_f"], **options}
    return FeatureSelectionObjective(DecisionTreeClassifier(), X, y, **arguments)


def test_bad_trials_are_stopped_on_a_part_of_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    made = objective(monkeypatch)
    assert [len(train) for train, _ in made.rungs] == [266, 800]
    study = made.create_study(sampler=RandomSampler(seed=0))
    study.optimize(made, n_trials=40)
    early = [t for t in study.trials if "n_rows" in t.user_attrs]
    assert len(early) >= 3
    for trial in early:
        estimate = partial_estimate(trial)
        assert trial.state == TrialState.PRUNED
        assert trial.user_attrs["n_folds"] == 0
        assert trial.user_attrs["n_rows"] == estimate.n_rows in (266, 800)
        assert np.less_equal(study.trials[estimate.rival].values, estimate.values).all()
    completed = study.get_trials(states=(TrialState.COMPLETE,))
    assert all(len(rung_losses(trial)) == 2 for trial in completed)
    # A wrong stop would be a better trial than all that were completed with as few features.
    plain = objective(monkeypatch, racing=False)
    for trial in early:
        values = plain(trial)
        assert any(np.less_equal(t.values, values).all() for t in completed)


def test_other_measures_of_models_leave_the_rungs_out(monkeypatch: pytest.MonkeyPatch) -> None:
    made = objective(monkeypatch, measures=["error", "fnr", "fraction"])
    study = made.create_study(sampler=RandomSampler(seed=0))
    study.optimize(made, n_trials=6)
    assert not any(rung_losses(trial) for trial in study.trials)
