from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.model_based.columns import Columns
from optuna_mofs.samplers.model_based.set_view import filter_sets
from optuna_mofs.samplers.model_based.warp import Warp
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask


class Memory:
    """What a sampler keeps, and how often it was made."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    def __call__(self, key: str, make: Callable[[], Any]) -> Any:
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]


def study_of(features: str | None) -> tuple[optuna.Study, FeatureSelectionObjective]:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 12, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        space={"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)},
        features=features,
        filters=["auc", "anova_f"],
        cv=2,
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=9)
    return study, objective


def history_of(study: optuna.Study) -> History:
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def columns_of(history: History, *, by_distance: bool, kept: Any = None) -> Columns:
    warp = Warp(history.space.names, history.described)
    filters = filter_sets(history)
    return Columns(history, filters, warp, kept or Memory(), by_distance=by_distance)


@pytest.mark.parametrize(
    ("features", "by_distance", "together", "width", "shape"),
    [
        # One hyperparameter and a fraction, then the set; weights are hidden.
        ("filter_ensemble", True, 12, 3, 1 + 1 + 12),
        ("filter_ensemble", False, 0, 4, 1 + 1 + 2),
        ("single_filter", True, 12, 3, 1 + 1 + 12),
        # Two filters need one column.
        ("single_filter", False, 0, 3, 1 + 1 + 1),
        # The size, then the set; or a summary.
        ("mask", True, 12, 2, 1 + 1 + 12),
        ("mask", False, 0, 2, 1 + 2 + 2 + 2 + 12),
        (None, True, 0, 1, 1),
        (None, False, 0, 1, 1),
    ],
)
def test_what_surrogates_see(
    features: str | None, by_distance: bool, together: int, width: int, shape: int
) -> None:
    columns = columns_of(history_of(study_of(features)[0]), by_distance=by_distance)
    assert columns.together == together
    assert columns.width == width
    assert columns.of_trials().shape == (9, shape)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_a_set_is_the_one_that_was_evaluated(features: str) -> None:
    study, _ = study_of(features)
    X = columns_of(history_of(study), by_distance=True).of_trials()
    for trial, row in zip(study.trials, X):
        mask = selected_mask(study, trial)
        assert mask is not None
        assert (row[-12:] > 0).tolist() == mask.tolist()


@pytest.mark.parametrize(
    ("features", "by_distance"),
    [("mask", True), ("mask", False), ("filter_ensemble", True), ("single_filter", True)],
)
def test_sets_of_trials_are_made_once(features: str, by_distance: bool) -> None:
    study, objective = study_of(features)
    memory = Memory()
    first = columns_of(history_of(study), by_distance=by_distance, kept=memory).of_trials()
    study.optimize(objective, n_trials=2)
    memory.kept[f"seen sets {by_distance}"][0] *= 0
    second = columns_of(history_of(study), by_distance=by_distance, kept=memory).of_trials()
    assert (second[0] != first[0]).any()  # as it was kept
    np.testing.assert_array_equal(second[1:9], first[1:])
    fresh = columns_of(history_of(study), by_distance=by_distance).of_trials()
    np.testing.assert_array_equal(second[9:], fresh[9:])
