from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest

from optuna_mofs import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.features import Representation
from optuna_mofs.history._duplicates import FeatureSets
from optuna_mofs.history._history import History
from optuna_mofs.samplers._encoding import filter_sets
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import suggest_mask

RANKS = np.array([[1.0, 0.8, 0.6, 0.4, 0.2, 0.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]])
FEATURE_SETS_TABLE = FeatureTable(tuple("abcdef"), filters=("up", "down"), ranks=RANKS)


def history_of(features: Representation, trials: list[dict[str, Any]]) -> History:
    bound = features.bind(FEATURE_SETS_TABLE)
    study = optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    StudyDescription(FEATURE_SETS_TABLE, bound).write(study)
    for params in trials:
        study.enqueue_trial(params)

    def objective(trial: optuna.Trial) -> float:
        suggest_mask(trial, bound)
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=len(trials))
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def spent_of(
    history: History, kept: dict[str, Any] | None = None
) -> Callable[[dict[str, Any]], bool]:
    """Whether the set of given parameters is spent."""
    memory: dict[str, Any] = {} if kept is None else kept
    sets = FeatureSets(
        history, filter_sets(history), lambda key, make: memory.setdefault(key, make())
    )

    def spent(params: dict[str, Any]) -> bool:
        row = history.space.encode({**params, "x": 0.123})
        return bool(sets.spent(row[None])[0])

    return spent


def test_a_set_of_k_features_is_worth_the_root_of_k_trials() -> None:
    one, two = {"fraction": 1 / 6, "filter": "up"}, {"fraction": 2 / 6, "filter": "up"}
    history = history_of(SingleFilterFeatures(ranks="all"), [one, two])
    spent = spent_of(history)
    assert spent(one)
    assert spent({"fraction": 0.1, "filter": "up"})  # the same feature
    assert not spent({"fraction": 1 / 6, "filter": "down"})
    assert not spent(two)
    again = history_of(SingleFilterFeatures(ranks="all"), [two, two])
    assert spent_of(again)(two)


def test_no_feature_at_all_is_worth_one_trial() -> None:
    none = {"fraction": 0.0, "filter": "up"}
    history = history_of(SingleFilterFeatures(ranks="all"), [none, {"fraction": 1.0}])
    assert spent_of(history)(none)
    history = history_of(SingleFilterFeatures(ranks="all"), [{"fraction": 1.0}])
    assert not spent_of(history)(none)


def test_other_weights_of_the_same_features_are_the_same_set() -> None:
    def params(up: float, down: float) -> dict[str, float]:
        return {"fraction": 1 / 6, "weight_up": up, "weight_down": down}

    history = history_of(FilterEnsembleFeatures(ranks="all"), [params(0.9, 0.1)])
    kept: dict[str, Any] = {}
    for _ in range(2):  # the second time from memory
        spent = spent_of(history, kept)
        assert spent(params(0.8, 0.3))
        assert not spent(params(0.1, 0.9))


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_masks_are_counted(form: str) -> None:
    history = history_of(MaskFeatures(form=form), [{}])
    sets = FeatureSets(history, None, lambda key, make: make())
    tried = history.mask(0)
    single = np.zeros((1, 6), dtype=bool)
    single[0, 2] = True
    assert not sets.spent(np.zeros((1, 1)), single)[0]
    assert sets.spent(np.zeros((1, 1)), tried[None])[0] == (tried.sum() <= 1)
    often = FeatureSets(history, None, lambda key, make: {0: np.packbits(single).tobytes()})
    assert often.spent(np.zeros((1, 1)), single)[0]


def test_what_says_nothing_of_features_is_left_alone() -> None:
    history = history_of(SingleFilterFeatures(ranks="all"), [{"fraction": 0.0, "filter": "up"}])
    assert spent_of(history)({"fraction": 0.0, "filter": "up"})
    assert not spent_of(history)({"filter": "up"})
    none = FeatureSets(history, None, lambda key, make: make())
    assert not none.spent(history.rows).any()
