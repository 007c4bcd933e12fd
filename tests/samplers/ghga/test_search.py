from __future__ import annotations

import numpy as np
import optuna
import pytest

from optuna_mofs import FeatureTable, suggest_features
from optuna_mofs.history._history import History
from optuna_mofs.samplers.ghga.search import Search
from optuna_mofs.study._description import StudyDescription

SETS = {
    # Loss of each set of four features; 0 and 1 are the optimum.
    (0, 1, 2, 3): 0.0,
    (0, 1, 2): 0.0,
    (0, 1): 0.0,
    (0,): 0.8,
    (1,): 0.9,
    (2, 3): 0.7,
}


def read(sets: dict[tuple[int, ...], float]) -> tuple[History, Search]:
    study = optuna.create_study()
    table = FeatureTable(("a", "b", "c", "d"))

    def objective(trial: optuna.Trial) -> float:
        mask = suggest_features(trial, table, form="bits")
        return sets[tuple(np.flatnonzero(mask).tolist())]

    for inside in sets:
        study.enqueue_trial({name: j in inside for j, name in enumerate(table.names)})
    study.optimize(objective, n_trials=len(sets))
    history = History(StudyDescription.read(study))
    history.update(study)
    search = Search(4, None, 0, tolerance=0.1)
    search.update(history)
    return history, search


def test_who_may_reproduce() -> None:
    _, search = read(SETS)
    # The larger sets have a subset that is as good; 0 and 1 are inert; the rest is poor.
    assert search.eligible().tolist() == []
    assert search.optima().tolist() == [2]


def test_a_better_best_makes_everything_dearer() -> None:
    _, search = read(SETS)
    before = search.cost.copy()
    _, search = read({**SETS, (0, 2): -0.1})
    assert search.cost[:6].tolist() == pytest.approx(
        [4 + 1, 3 + 1, 2 + 1, 1 + 2**9 - 1, 1 + 2**10 - 1, 2 + 2**8 - 1]
    )
    assert before.tolist() == pytest.approx([4, 3, 2, 1 + 2**8 - 1, 1 + 2**9 - 1, 2 + 2**7 - 1])


def test_a_guide_learns_from_sets_without_the_optima() -> None:
    history, search = read(SETS)
    seen = []

    def guide(masks, losses, rng):
        seen.append((masks.sum(axis=1).tolist(), losses.tolist()))
        return lambda candidates, rng: np.zeros(len(candidates))

    for of_all in (False, False):
        search.prediction(history, guide, 50, before=None, of_all=of_all)
    assert seen == [([1, 1, 2], [0.8, 0.9, 0.7])]  # once: nothing is new
    _, search = read(SETS)
    search.prediction(history, guide, 2, before=5, of_all=True)
    assert seen[1][0] == [4, 3, 2, 1]  # twice two of the five trials before


def test_the_best_step_is_known_once_all_are() -> None:
    _, search = read(SETS)
    assert search.best_step(2) is None  # all were tried, none is better
    assert search.best_step(1) is None  # not all were tried
    _, search = read({(0, 1): 0.5, (0,): 0.45, (1,): 0.4})
    assert search.best_step(0) == 2
