from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import optuna
import pytest

from benchmarks.lexiflow_tables import FILTERS, LEAVES, MAX_FEATURES, TREES, TableObjective
from benchmarks.lexiflow_tasks import Task
from benchmarks.papers.zhang_2023 import Run, completed_runs, mean_ranks, report
from optuna_mofs.fronts._lexicographic import LexicographicOrder


@pytest.fixture
def table():
    """Every cell has its own error."""
    sizes = np.array([1, 3, 10])
    shape = (len(FILTERS), len(sizes), len(MAX_FEATURES), len(LEAVES), TREES)
    errors = np.arange(np.prod(shape)).reshape(shape) / 1000
    ranks = np.stack([np.linspace(0, 1, 10), np.linspace(1, 0, 10)])
    return TableObjective(errors, sizes, ranks)


def test_a_table_is_looked_up_at_the_nearest_cell(table):
    study = table.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    params = {
        "filter": FILTERS[1],
        "fraction": 0.4,
        "max_features": 0.9,
        "n_estimators": 5,
        "max_leaf_nodes": 11,
    }
    study.enqueue_trial(params)
    study.optimize(table, n_trials=1)
    # Four features are nearer to three than to ten.
    assert study.trials[0].values == [table.errors[1, 1, 2, 1, 4], 3.0]


def test_a_report_uses_common_targets(table):
    task = Task(table, {"error": 0.01})
    runs = {
        "low error": [Run([[0.10, 50.0], [0.3, 2.0]], 1.0, {})] * 2,
        "few features": [Run([[0.2, 3.0], [0.109, 9.0]], None, {})] * 2,
        "lost": [Run([[0.2, 3.0]], 2.0, {})] * 2,
    }
    text, ranks = report(task, runs, 2)
    assert "error 0.11, n_features 9" in text
    assert "| few features | 2 of 2 | 0.1090 | 9 | 0.109 / 9 | 1.00 | - |" in text
    assert "| lost | 0 of 2 | 0.2000 | - | 0.2 / 3 | 3.00 | 2.0 |" in text
    assert ranks == {"low error": 2.0, "few features": 1.0, "lost": 3.0}


def test_a_report_of_a_smaller_budget_uses_the_first_trials_only(table):
    X, y = np.zeros((1, 1)), np.zeros(1)
    task = Task(table, {"error": 0.01}, test=(X, y))
    runs = {"a": [Run([[0.3, 5.0], [0.1, 5.0]], None, {"1": 0.4, "2": 0.2})]}
    assert "| a | 1 of 1 | 0.3000 | 5 | 0.3 / 5 | 1.00 | 0.4000 | - |" in report(task, runs, 1)[0]
    assert "| a | 1 of 1 | 0.1000 | 5 | 0.1 / 5 | 1.00 | 0.2000 | - |" in report(task, runs, 2)[0]


def test_the_middle_run_is_the_median_by_the_preference(table):
    task = Task(table, {"error": 0.01})
    values = [[0.3, 1.0], [0.1, 9.0], [0.105, 7.0]]
    runs = {"a": [Run([v], None, {}) for v in values]}
    # Two reach the target; the third misses it and is last whatever its second value.
    assert "| 0.1050 | 8 | 0.1 / 9 | 1.00 |" in report(task, runs, 1)[0]


def test_equal_picks_share_their_rank():
    order = LexicographicOrder.of(2)
    picks = {"a": np.array([[1.0, 2.0]]), "b": np.array([[1.0, 2.0]]), "c": np.array([[1.0, 3.0]])}
    assert mean_ranks(order, np.zeros(2), picks) == {"a": 1.5, "b": 1.5, "c": 3.0}


def test_completed_runs_are_read_again(tmp_path):
    job = ("task", "method", 0, "5,9", False)
    run = Run([[0.5, 3.0]], None, {"5": 0.25})
    file = tmp_path / "runs.jsonl"
    file.write_text(json.dumps([job, asdict(run)]) + "\n")
    assert completed_runs(file) == {job: run}
    assert completed_runs(None) == {}
