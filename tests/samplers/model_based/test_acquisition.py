from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, ParEGOSampler, SMSEGOSampler
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.samplers.model_based._acquisition import (
    LargerSetAcquisition,
    LowerConfidenceBound,
    expected_improvement,
    is_look,
)
from optuna_mofs.samplers.model_based._training_data import EncodedBatch
from optuna_mofs.study._trial_note import NOTE


def test_bound() -> None:
    bound = LowerConfidenceBound(2.0)(np.array([1.0]), np.array([0.25]), 9.9)
    assert bound.tolist() == [0.5]


def test_improvement_is_the_mean_of_draws() -> None:
    draws = np.random.default_rng(0).normal(0.4, 0.3, 200_000)
    found = expected_improvement(np.array([0.4]), np.array([0.3]), 0.5)
    assert np.isclose(-found[0], np.maximum(0.5 - draws, 0).mean(), rtol=0.02)


def test_improvement_without_doubt() -> None:
    found = expected_improvement(np.array([0.2, 0.7]), np.zeros(2), 0.5)
    np.testing.assert_allclose(found, [-0.3, 0.0], atol=1e-9)


def history(sizes: list[int], errors: list[float], p: int) -> Any:
    """As much of a view as a look asks for."""
    values = np.column_stack([errors, np.array(sizes) / p])
    seen = EncodedBatch(np.array(errors)[:, None], values * [np.nan, 1], np.array(sizes))
    return SimpleNamespace(seen=seen, values=values, unknown=[0], most_features=p)


def bounds(seen: EncodedBatch, bound: LowerConfidenceBound) -> np.ndarray:
    """The error is in the first column, with a standard deviation of 0.1."""
    return np.column_stack([seen.X[:, 0] - bound.weight * 0.1, seen.exact[:, 1]])


def candidates(sizes: list[int], errors: list[float]) -> EncodedBatch:
    return EncodedBatch(np.array(errors)[:, None], np.zeros((len(sizes), 2)), np.array(sizes))


LCB = LowerConfidenceBound(0.0)


def test_no_look_during_the_start() -> None:
    assert not any(is_look(step) for step in range(-30, 0))


@given(
    st.lists(st.integers(0, 40), min_size=3, max_size=6),
    st.floats(0, 1, exclude_max=True),
    st.integers(0, 30),
)
def test_sizes_are_larger_than_that_of_the_least_error(
    sizes: list[int], place: float, more: int
) -> None:
    p = max(1, max(sizes) + more)
    view = history(sizes, np.linspace(0.1, 0.5, len(sizes)).tolist(), p)
    if LargerSetAcquisition.is_possible(view):
        low, high = LargerSetAcquisition(view, bounds, LCB, place).sizes
        assert max(1, sizes[0]) < low <= high <= p
    else:
        assert max(1, sizes[0]) > 0.8 * p


def test_places_go_from_the_end_of_the_front_to_all_features() -> None:
    view = history([8, 1, 20], [0.1, 0.3, 0.2], 80)
    found = [LargerSetAcquisition(view, bounds, LCB, place).sizes for place in (0.0, 0.5, 0.999)]
    assert found == [(9, 12), (23, 35), (64, 80)]


def test_of_equal_errors_the_smaller_set_is_the_end() -> None:
    view = history([30, 4, 60], [0.1, 0.1, 0.2], 80)
    assert LargerSetAcquisition(view, bounds, LCB, 0.0).sizes == (5, 6)


def test_the_least_error_of_the_sizes_comes_first() -> None:
    look = LargerSetAcquisition(history([8, 1, 20], [0.1, 0.3, 0.2], 80), bounds, LCB, 0.5)
    promise = look(candidates([30, 25, 22, 10], [0.2, 0.15, 0.0, 0.0]))
    assert np.argsort(promise).tolist() == [1, 0, 2, 3]


@pytest.mark.parametrize(
    ("step", "error", "worth"), [(4, 0.29, True), (4, 0.31, False), (1, 0.9, True)]
)
def test_later_looks_need_a_hope(step: int, error: float, worth: bool) -> None:
    look = LargerSetAcquisition(history([8, 1, 20], [0.1, 0.3, 0.2], 80), bounds, LCB, 0.5)
    assert look.is_worth_it(step, candidates([30], [error])) is worth


def test_only_where_the_size_is_known_and_the_error_is_not() -> None:
    view = history([8, 1, 20], [0.1, 0.3, 0.2], 80)
    assert LargerSetAcquisition.is_possible(view)
    for unknown in ([], [0, 1]):
        assert not LargerSetAcquisition.is_possible(
            SimpleNamespace(**{**vars(view), "unknown": unknown})
        )
    seen = EncodedBatch(view.seen.X, view.seen.exact)
    assert not LargerSetAcquisition.is_possible(SimpleNamespace(**{**vars(view), "seen": seen}))


@pytest.mark.parametrize("sampler", [ParEGOSampler, SMSEGOSampler])
@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_trials_of_a_study_look_beyond(sampler: Any, features: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 30, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=features, filters=["auc", "anova_f"], cv=2
    )
    for wanted in (True, False):
        study = objective.create_study(sampler=sampler(seed=0, start_size=8, look_beyond=wanted))
        study.optimize(objective, n_trials=10)
        notes = [frozen_attr(trial, NOTE) or {} for trial in study.trials]
        looks = [i for i, note in enumerate(notes) if "beyond" in note]
        assert looks == ([8, 9] if wanted else [])
        for i in looks:
            low, high = notes[i]["beyond"]
            assert low <= round(study.trials[i].values[1] * 30) <= high


def test_the_papers_way_does_not() -> None:
    assert ParEGOSampler().look_beyond
    assert not ParEGOSampler(model="norm").look_beyond
    assert ParEGOSampler(model="norm", look_beyond=True).look_beyond
