"""The benchmark of one model: its methods and tables."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pytest
from sklearn.datasets import load_wine

from benchmarks import one_model


@pytest.fixture(scope="module")
def task() -> one_model.Task:
    X, y = load_wine(return_X_y=True)
    return one_model.Task(X[::2], y[::2], "logistic_regression", 0, n_trials=3, n_iter=2)


@pytest.mark.parametrize("method", ["all features", "SelectKBest"])
def test_methods_return_columns_and_a_model(task: one_model.Task, method: str) -> None:
    columns, model, reported = one_model.METHODS[method](task)
    assert 1 <= len(columns) <= 13
    narrow = task.X if method == "SelectKBest" else task.X[:, columns]
    assert model.score(narrow, task.y) > 0.7
    assert 0 <= reported < 0.3


def test_selections_count_for_every_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    args = argparse.Namespace(data=None, trials=3, iterations=2)
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(one_model, "table", lambda *_: (X, y, "classification"))
    monkeypatch.setattr(one_model, "_selected", {})
    method = "L1 path, one standard error"
    results = [one_model.run("wine", name, 0, method, args) for name in one_model.LEARNERS]
    ((columns, seconds),) = one_model._selected.values()
    assert 1 <= len(columns) <= 13
    for found in results:
        values = found[method]
        assert values is not None
        assert values[0] < 0.3
        assert values[1] == len(columns)
        assert values[3] > seconds > 0


def test_our_search_is_tested_with_two_choices(monkeypatch: pytest.MonkeyPatch) -> None:
    args = argparse.Namespace(data=None, trials=3, iterations=2)
    X, y = load_wine(return_X_y=True)
    monkeypatch.setattr(one_model, "table", lambda *_: (X, y, "classification"))
    found = one_model.run("wine", "logistic_regression", 0, one_model.OURS, args)
    assert set(found) == {one_model.OURS, one_model.BEST}
    pick, best = found[one_model.OURS], found[one_model.BEST]
    assert pick is not None
    assert best is not None
    assert pick[1] <= best[1]
    assert pick[3] == best[3] > 0


def test_wide_tables_are_not_for_greedy_selection(monkeypatch: pytest.MonkeyPatch) -> None:
    wide = np.zeros((20, one_model.MAX_SEQUENTIAL + 1)), np.arange(20) % 2, "classification"
    monkeypatch.setattr(one_model, "table", lambda *_: wide)
    args = argparse.Namespace(data=None, trials=3, iterations=2)
    method = "SequentialFeatureSelector"
    assert one_model.run("wide", "svm", 0, method, args) == {method: None}


def test_tables(capsys: pytest.CaptureFixture[str]) -> None:
    runs: dict[str, Any] = {
        "sonar|svm|0|FeatureSelectionSearchCV": [0.10, 4, 0.09, 2.0],
        "sonar|svm|1|FeatureSelectionSearchCV": [0.20, 16, 0.19, 2.0],
        "sonar|svm|0|RFECV": [0.12, 16, 0.10, 4.0],
        "sonar|svm|1|RFECV": [0.20, 64, 0.10, 4.0],
        "sonar|svm|0|SequentialFeatureSelector": None,
    }
    one_model.print_methods(runs)
    one_model.print_data_sets(runs)
    one_model.print_bars(runs)
    printed = capsys.readouterr().out
    assert "| FeatureSelectionSearchCV | 2 | 15.0 |  | 8.0 |  | +1.0 | 0.50 |" in printed
    assert "| RFECV | 2 | 16.0 | +1.0 ± 1.0 | 32.0 | 4.00 | +6.0 | 1.00 |" in printed
    assert "| sonar | 15.0 (8) | 16.0 (32) |" in printed
    assert "Sequential" not in printed
    assert "- held-out error below RFECV: met" in printed
    assert "- at most .4 of the features of RFECV: met" in printed
    assert "- no more CPU seconds than RFECV: met" in printed


def test_standard_errors_are_over_data_sets() -> None:
    gaps = {"a|svm|0": 0.0, "a|svm|1": 0.2, "b|svm|0": 0.3, "b|svm|1": 0.3}
    assert one_model._mean_and_error(gaps) == pytest.approx((0.2, 0.1))


def test_goals_can_be_missed(capsys: pytest.CaptureFixture[str]) -> None:
    runs: dict[str, Any] = {}
    for name, all_features in (("sonar", 0.1), ("wine", 0.4)):
        runs[f"{name}|svm|0|FeatureSelectionSearchCV"] = [0.2, 8, 0.2, 2.0]
        runs[f"{name}|svm|0|RFECV"] = [0.2, 10, 0.2, 1.0]
        runs[f"{name}|svm|0|all features"] = [all_features, 60, 0.2, 1.0]
    one_model.print_bars(runs)
    printed = capsys.readouterr().out
    # Lower by 5 points, which is less than their standard error.
    assert "- held-out error below all features: missed" in printed
    assert printed.count("missed") == 4
