from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import create_trial
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, ParEGOSampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.model_based import _training_data as module
from optuna_mofs.samplers.model_based._training_data import (
    KnownObjectives,
    TrainingData,
    objective_scales,
)
from optuna_mofs.study._description import StudyDescription


def kept(key: str, make: Callable[[], Any]) -> Any:
    return make()


def view_of(features: str) -> TrainingData:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 40, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=features, filters=["auc", "anova_f"], cv=2
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=9)
    history = History(StudyDescription.read(study))
    history.update(study)
    return TrainingData(history, kept)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_the_fraction_of_features_needs_no_model(features: str) -> None:
    view = view_of(features)
    assert view.unknown == [0]
    assert np.isnan(view.seen.exact[:, 0]).all()
    np.testing.assert_allclose(view.seen.exact[:, 1], view.values[:, 1], atol=1e-9)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_candidates_look_like_trials(features: str) -> None:
    view = view_of(features)
    masks = None
    if view.history.table is not None:
        masks = np.array([view.history.mask(i) for i in range(9)])
    seen = view.candidates(view.rows, masks, np.arange(9))
    np.testing.assert_allclose(seen.X, view.seen.X)
    np.testing.assert_allclose(seen.exact, view.seen.exact)
    for i in range(9):
        known = view.contains_params(view.rows[i], None if masks is None else masks[i])
        # There and back a fraction may lose its last bit.
        assert known or features != "mask"


def test_front_of_what_keeps_the_constraints() -> None:
    view = view_of("mask")
    values = np.column_stack([np.arange(9.0), np.arange(9.0)])
    assert view.front(values).tolist() == [[0.0, 0.0]]
    view._violations = np.array([1.0, *[0.0] * 8])
    assert view.front(values).tolist() == [[1.0, 1.0]]


def test_what_was_never_negative_is_not_promised_to_be() -> None:
    study = optuna.create_study(directions=["minimize", "minimize", "maximize"])
    for x in (0.0, 0.5, 2.0):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 3)})
        study.tell(trial, [x, x - 1, x])
    history = History()
    history.update(study)
    floor = TrainingData(history, kept).floor
    assert floor[0] == 0.0  # the best value, 0, is 0 on the scale too
    assert np.isneginf(floor[1:]).all()


def test_a_norm_has_room_for_what_matters() -> None:
    view = view_of("mask")
    norm = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.9, 0.95, 0.99, 1.0])
    scaled = view.rescaled(norm)
    np.testing.assert_allclose(scaled[:5], np.linspace(0, 1, 5))
    assert (np.diff(scaled) >= 0).all()
    assert scaled[-1] <= 2


SIZES = np.array([1, 7, 3, 3, 12])


@settings(max_examples=40)
@given(st.floats(-5, 5), st.sampled_from([-2.0, 1 / 60, 1.0]), st.integers(0, 60))
def test_a_line_is_found_and_continued(start: float, slope: float, size: int) -> None:
    rough = np.array([0.3, 0.1, 0.4, 0.5, 0.2])
    exact = KnownObjectives(np.column_stack([rough, start + slope * SIZES]), SIZES)
    assert exact.unknown == [0]
    found = exact(np.array([size]))
    assert np.isnan(found[0, 0])
    np.testing.assert_allclose(found[0, 1], start + slope * size, atol=1e-9)


@settings(max_examples=40)
@given(arrays(float, (5, 2), elements=st.floats(0, 1)))
def test_one_trial_off_the_line_is_enough(values: np.ndarray) -> None:
    values = values.copy()
    values[:, 1] = SIZES / 60
    values[2, 1] += 0.001  # same size as the next trial
    assert 1 in KnownObjectives(values, SIZES).unknown


def test_two_sizes_make_no_line() -> None:
    sizes = np.array([1, 2, 2, 1])
    assert KnownObjectives(sizes[:, None] / 10, sizes).unknown == [0]


def test_a_constant_is_no_line() -> None:
    assert KnownObjectives(np.ones((5, 1)), SIZES).unknown == [0]


SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0, 1),
    "y": FloatDistribution(0, 1),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def study_of(count: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(directions=["minimize"] * 2)
    rng = np.random.default_rng(0)
    for x, y in rng.random((count, 2)):
        values = (np.sin(9 * x), (y - 0.4) ** 2 + x)
        params = {"x": x, "y": y, "kind": "abc"[int(3 * y)]}
        study.add_trial(create_trial(params=params, distributions=SPACE, values=values))
    return study


def scales_of(study: optuna.Study, kept: dict[str, Any]) -> dict[int, np.ndarray]:
    history = History()
    history.update(study)

    def keep(key: str, make: Callable[[], Any]) -> Any:
        return kept.setdefault(key, make())

    return objective_scales(TrainingData(history, keep), keep)


@pytest.fixture
def estimates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trials each estimate was made from."""
    found: list[int] = []
    real = module.likely_scales

    def counted(X: np.ndarray, y: np.ndarray, **options: Any) -> np.ndarray:
        found.append(len(y))
        return real(X, y, **options)

    monkeypatch.setattr(module, "likely_scales", counted)
    return found


def test_scales_are_estimated_when_trials_are_a_tenth_more(estimates: list[int]) -> None:
    kept: dict[str, Any] = {}
    for count in (40, 50, 51, 54, 55, 60, 61):
        scales_of(study_of(count), kept)
    # Of two objectives each.
    assert estimates == [40, 40, 50, 50, 55, 55, 61, 61]


def test_who_reads_the_history_later_finds_the_same() -> None:
    kept: dict[str, Any] = {}
    for count in (50, 54):
        found = scales_of(study_of(count), kept)
    fresh = scales_of(study_of(54), {})
    for j in (0, 1):
        np.testing.assert_array_equal(found[j], fresh[j])
    assert (found[0] != found[1]).any()


def test_a_trial_that_ends_late_changes_the_first_ones(estimates: list[int]) -> None:
    study = study_of(0)
    rng = np.random.default_rng(0)
    asked = [study.ask(SPACE) for _ in range(52)]

    def tell(trial: optuna.Trial) -> None:
        study.tell(trial, rng.random(2).tolist())

    for trial in asked[1:]:
        tell(trial)
    kept: dict[str, Any] = {}
    scales_of(study, kept)
    tell(asked[0])
    scales_of(study, kept)
    assert estimates == [50] * 4


def test_a_sampler_that_goes_on_and_one_that_resumes_propose_the_same() -> None:
    def objective(trial: optuna.Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        return x, (1 - x) ** 2 + trial.suggest_float("y", 0, 1)

    def values(resumed: bool) -> list[float]:
        study = study_of(52)
        study.sampler = ParEGOSampler(seed=1)
        study.optimize(objective, n_trials=2)
        if resumed:
            study.sampler = ParEGOSampler(seed=1)
        study.optimize(objective, n_trials=2)
        return [trial.values[0] for trial in study.trials[52:]]

    assert values(resumed=False) == values(resumed=True)
