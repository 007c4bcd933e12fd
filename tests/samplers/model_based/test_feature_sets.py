from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest

from optuna_mofs import FeatureTable, FilterEnsembleFeatures, MaskFeatures, SingleFilterFeatures
from optuna_mofs.description import StudyDescription
from optuna_mofs.features import Representation
from optuna_mofs.history import History
from optuna_mofs.samplers.model_based.feature_sets import FeatureSets
from optuna_mofs.selection import suggest_mask

RANKS = np.array([[1.0, 0.8, 0.6, 0.4, 0.2, 0.0], [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]])
TABLE = FeatureTable(tuple("abcdef"), filters=("up", "down"), ranks=RANKS)


def history_of(features: Representation, trials: list[dict[str, Any]]) -> History:
    bound = features.bind(TABLE)
    study = optuna.create_study()
    StudyDescription(TABLE, bound).write(study)
    for params in trials:
        study.enqueue_trial(params)

    def objective(trial: optuna.Trial) -> float:
        suggest_mask(trial, bound)
        return trial.suggest_float("x", 0, 1)

    study.optimize(objective, n_trials=len(trials))
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def sets_of(history: History, kept: dict[str, Any] | None = None) -> FeatureSets:
    memory: dict[str, Any] = {} if kept is None else kept
    return FeatureSets(history, lambda key, make: memory.setdefault(key, make()))


def row(history: History, **params: Any) -> np.ndarray:
    return history.space.encode({**params, "x": 0.123})


def test_a_set_of_k_features_is_worth_the_root_of_k_trials() -> None:
    one, two = {"fraction": 1 / 6, "filter": "up"}, {"fraction": 2 / 6, "filter": "up"}
    history = history_of(SingleFilterFeatures(ranks="all"), [one, two])
    sets = sets_of(history)
    assert sets.is_spent(row(history, **one))
    assert sets.is_spent(row(history, fraction=0.1, filter="up"))  # the same feature
    assert not sets.is_spent(row(history, fraction=1 / 6, filter="down"))
    assert not sets.is_spent(row(history, **two))
    again = history_of(SingleFilterFeatures(ranks="all"), [two, two])
    assert sets_of(again).is_spent(row(again, **two))


def test_other_weights_of_the_same_features_are_the_same_set() -> None:
    def params(up: float, down: float) -> dict[str, float]:
        return {
            "fraction": 1 / 6,
            "weight_up": up,
            "weight_down": down,
            "redundancy_penalty": up,
        }

    history = history_of(FilterEnsembleFeatures(ranks="all"), [params(0.9, 0.1)])
    kept: dict[str, Any] = {}
    for _ in range(2):  # the second time from memory
        sets = sets_of(history, kept)
        assert sets.is_spent(row(history, **params(0.8, 0.3)))
        assert not sets.is_spent(row(history, **params(0.1, 0.9)))


@pytest.mark.parametrize("features", [MaskFeatures(form="bits"), MaskFeatures(form="packed")])
def test_masks_are_left_alone(features: Representation) -> None:
    history = history_of(features, [{}])
    assert not sets_of(history).is_spent(history.rows[0])


def test_trials_without_features_are_left_alone() -> None:
    history = history_of(SingleFilterFeatures(ranks="all"), [{"fraction": 0.5, "filter": "up"}])
    without = history.rows.copy()
    without[:, history.space.names.index("fraction")] = np.nan
    assert not sets_of(history).is_spent(without[0])
