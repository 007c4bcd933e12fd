from __future__ import annotations

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
from sklearn.linear_model import BayesianRidge
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler, ParEGOSampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers import _training_data as module
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._training_data import (
    KnownObjectives,
    TrainingData,
)
from optuna_mofs.study._description import StudyDescription
from tests.samplers.context import make_context


def training_data(features: str) -> TrainingData:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 40, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=features, filters=["auc", "anova_f"], cv=2
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=9)
    history = History(StudyDescription.read(study))
    history.update(study)
    return TrainingData(make_context(history))


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_the_fraction_of_features_needs_no_model(features: str) -> None:
    data = training_data(features)
    assert data.modeled == [0]
    assert np.isnan(data.trials.known_values[:, 0]).all()
    known = data.scale.saturated(data.trials.known_values[:, 1])
    np.testing.assert_allclose(known, data.values[:, 1], atol=1e-9)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_candidates_look_like_trials(features: str) -> None:
    data = training_data(features)
    masks = None if data.history.table is None else data.history.masks(np.arange(9))
    encoded = data.encode(Candidates(data.rows, np.full((9, 1), -1), np.full(9, ""), masks))
    np.testing.assert_allclose(encoded.inputs.joined(), data.trials.inputs.joined())
    np.testing.assert_allclose(encoded.known_values, data.trials.known_values)
    for i in range(9):
        known = data.history.contains(data.rows[i], None if masks is None else masks[i])
        # There and back a fraction may lose its last bit.
        assert known or features != "mask"


def test_candidates_between_the_values_of_a_grid_are_those_that_will_be_evaluated() -> None:
    """Otherwise a gain that is expected between two integers is proposed forever."""

    def objective(trial: optuna.Trial) -> tuple[float, float]:
        n, x = trial.suggest_int("n", 1, 8, log=True), trial.suggest_float("x", 0, 1)
        return x - n, float(n)

    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.optimize(objective, n_trials=12)
    history = History()
    history.update(study)
    data = TrainingData(make_context(history))
    rows = np.random.default_rng(0).random((5, 2))
    chosen = [data.space.decode(row) for row in rows]
    assert any(params["n"] not in (1, 8) for params in chosen)
    exact = np.array([data.space.encode(params) for params in chosen])
    parents, operators = np.full((5, 1), -1), np.full(5, "")
    found, expected = (data.encode(Candidates(r, parents, operators)) for r in (rows, exact))
    np.testing.assert_allclose(found.inputs.joined(), expected.inputs.joined(), atol=1e-12)


@pytest.mark.parametrize(
    ("surrogate", "n_columns", "expected"),
    [
        ("auto", 200, True),
        ("auto", 201, False),
        ("gaussian_process", 300, True),
        ("forest", 3, False),
        (BayesianRidge(), 3, False),
        (np.zeros, 3, False),
    ],
    ids=str,
)
def test_the_number_of_columns_decides_for_a_gaussian_process(
    surrogate: Any, n_columns: int, expected: bool
) -> None:
    study = optuna.create_study()
    distributions: dict[str, BaseDistribution] = {
        f"x{j}": FloatDistribution(0, 1) for j in range(n_columns)
    }
    params = dict.fromkeys(distributions, 0.5)
    study.add_trial(create_trial(params=params, distributions=distributions, value=0.0))
    history = History()
    history.update(study)
    data = TrainingData(make_context(history), surrogate)
    assert data.uses_gaussian_process == expected


def test_no_bound_is_negative_if_no_value_was() -> None:
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["minimize", "minimize", "maximize"], sampler=sampler)
    for x in (0.0, 0.5, 2.0):
        trial = study.ask({"x": optuna.distributions.FloatDistribution(0, 3)})
        study.tell(trial, [x, x - 1, x])
    history = History()
    history.update(study)
    floor = TrainingData(make_context(history)).floor
    assert floor[0] == 0.0  # the best value, 0, is 0 on the scale too
    assert np.isneginf(floor[1:]).all()


def test_a_norm_is_scaled_over_the_better_half() -> None:
    data = training_data("mask")
    norm = np.array([0.01, 0.02, 0.03, 0.04, 0.05, 0.9, 0.95, 0.99, 1.0])
    scaled = data.rescaled(norm)
    np.testing.assert_allclose(scaled[:5], np.linspace(0, 1, 5))
    assert (np.diff(scaled) >= 0).all()
    assert scaled[-1] <= 2


SIZES = np.array([1, 7, 3, 3, 12])


@settings(max_examples=40)
@given(st.floats(-5, 5), st.sampled_from([-2.0, 1 / 60, 1.0]), st.integers(0, 60))
def test_a_line_is_found_and_continued(start: float, slope: float, size: int) -> None:
    rough = np.array([0.3, 0.1, 0.4, 0.5, 0.2])
    known = KnownObjectives(np.column_stack([rough, start + slope * SIZES]), [SIZES])
    assert known.unknown == [0]
    found = known([np.array([size])])
    assert np.isnan(found[0, 0])
    np.testing.assert_allclose(found[0, 1], start + slope * size, atol=1e-9)


@settings(max_examples=40)
@given(arrays(float, (5, 2), elements=st.floats(0, 1)))
def test_one_trial_off_the_line_is_enough(values: np.ndarray) -> None:
    values = values.copy()
    values[:, 1] = SIZES / 60
    values[2, 1] += 0.001  # same size as the next trial
    assert 1 in KnownObjectives(values, [SIZES]).unknown


def test_two_sizes_make_no_line() -> None:
    sizes = np.array([1, 2, 2, 1])
    assert KnownObjectives(sizes[:, None] / 10, [sizes]).unknown == [0]


def test_a_constant_is_no_line() -> None:
    assert KnownObjectives(np.ones((5, 1)), [SIZES]).unknown == [0]


SPACE: dict[str, BaseDistribution] = {
    "x": FloatDistribution(0, 1),
    "y": FloatDistribution(0, 1),
    "kind": CategoricalDistribution(["a", "b", "c"]),
}


def study_of(count: int) -> optuna.Study:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.RandomSampler(seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    rng = np.random.default_rng(0)
    for x, y in rng.random((count, 2)):
        values = (np.sin(9 * x), (y - 0.4) ** 2 + x)
        params = {"x": x, "y": y, "kind": "abc"[int(3 * y)]}
        study.add_trial(create_trial(params=params, distributions=SPACE, values=values))
    return study


def scales_of(study: optuna.Study, cache: dict[str, Any]) -> list[np.ndarray]:
    history = History()
    history.update(study)
    data = TrainingData(make_context(history, cache))
    return [data.length_scales(j) for j in data.modeled]


@pytest.fixture
def estimates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many trials each estimate was made from."""
    found: list[int] = []
    real = module.fit_column_scales

    def counted(X: np.ndarray, y: np.ndarray, *more: Any, **options: Any) -> np.ndarray:
        found.append(len(y))
        return real(X, y, *more, **options)

    monkeypatch.setattr(module, "fit_column_scales", counted)
    return found


def test_scales_are_estimated_when_trials_are_a_tenth_more(estimates: list[int]) -> None:
    cache: dict[str, Any] = {}
    for count in (40, 50, 51, 54, 55, 60, 61):
        scales_of(study_of(count), cache)
    # Of two objectives each.
    assert estimates == [40, 40, 50, 50, 55, 55, 61, 61]


def test_a_resumed_study_gets_the_same_length_scales() -> None:
    cache: dict[str, Any] = {}
    for count in (50, 54):
        found = scales_of(study_of(count), cache)
    fresh = scales_of(study_of(54), {})
    for j in (0, 1):
        np.testing.assert_array_equal(found[j], fresh[j])
    assert (found[0] != found[1]).any()


def test_a_trial_that_completes_late_can_be_among_the_first(estimates: list[int]) -> None:
    study = study_of(0)
    rng = np.random.default_rng(0)
    asked = [study.ask(SPACE) for _ in range(52)]

    def tell(trial: optuna.Trial) -> None:
        study.tell(trial, rng.random(2).tolist())

    for trial in asked[1:]:
        tell(trial)
    cache: dict[str, Any] = {}
    scales_of(study, cache)
    tell(asked[0])
    scales_of(study, cache)
    assert estimates == [50] * 4


def test_a_sampler_and_one_that_resumes_the_study_propose_the_same() -> None:
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


def test_a_gaussian_process_learns_from_a_part_of_many_trials() -> None:
    history = History()
    history.update(study_of(340))
    data = TrainingData(make_context(history))
    assert len(data.positions) == len(data.rows) == len(data.values) == 200
    assert (np.diff(data.positions) > 0).all()
    assert data.trials.inputs.own.shape[0] == 200
    np.testing.assert_array_equal(data.rows, history.rows[data.positions])
    # All of the front is among them, and comes first.
    front = np.flatnonzero(module.ranks(history.values) == 0)
    assert set(front) <= set(data.positions)
    np.testing.assert_array_equal(np.sort(data.best_first), np.arange(200))
    assert set(data.positions[data.best_first[: len(front)]]) == set(front)
    assert len(TrainingData(make_context(history), "forest").positions) == 340


def test_described_worst_values_are_the_reference() -> None:
    data = training_data("mask")
    described = data.history.described
    assert described is not None
    worst = np.array([[measure.worst for measure in described.measures]])
    np.testing.assert_allclose(data.described_reference(), data.scale.linear(worst)[0])
    # Without them it is not far from the better half of the trials.
    history = History()
    history.update(study_of(20))
    plain = TrainingData(make_context(history))
    np.testing.assert_array_equal(plain.described_reference(), plain.reference())
    assert (plain.reference() <= 3).all()


@settings(max_examples=30)
@given(st.floats(-1, 4.8), st.floats(1e-6, 1))
def test_saturated_values_return_to_the_linear_scale(value: float, sd: float) -> None:
    linear = np.array([[value]])
    scale = module.ObjectiveScale(np.array([2.0]), np.array([3.0]))
    mean, spread = scale.unsaturated(scale.saturated(linear), np.array([[sd]]))
    np.testing.assert_allclose(mean, linear, atol=1e-6)
    # A value below 1 is as likely as before.
    z = (1 - scale.saturated(linear)) / sd
    np.testing.assert_allclose((1 - mean) / spread, z, rtol=1e-6, atol=1e-6)
    assert sd <= spread[0, 0] * (1 + 1e-9) <= 5 * sd
    np.testing.assert_allclose(scale.linear(scale.inverse(linear)), linear, atol=1e-9)


def test_variances_are_scaled_as_the_values_are() -> None:
    scale = module.ObjectiveScale(np.array([2.0]), np.array([4.0]))
    values = np.array([[3.0], [6.0], [8.0]])  # 0.25, 1 and 1.5: saturated above 1
    step = 1e-6
    slopes = (scale(values + step, np.zeros(3)) - scale(values, np.zeros(3))) / step
    found = scale.variances(values, np.full((3, 1), 0.1))
    np.testing.assert_allclose(found, 0.1 * slopes**2, rtol=1e-4)


@pytest.mark.parametrize("features", ["mask", "filter_ensemble", "single_filter"])
def test_the_cost_of_features_needs_no_model(features: str) -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    X, y = make_classification(60, 30, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        representation=features,
        filters=["auc", "anova_f"],
        cv=2,
        feature_costs=np.arange(1.0, 31.0),
        fixed_features=["x3"],
    )
    study = objective.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(objective, n_trials=20)
    history = History(StudyDescription.read(study))
    history.update(study)
    data = TrainingData(make_context(history))
    assert data.modeled == [0]
    masks = None if history.table is None else history.masks(np.arange(20))
    candidates = Candidates(data.rows, np.full((20, 1), -1), np.full(20, ""), masks)
    known = data.encode(candidates).known_values[:, 1]
    np.testing.assert_allclose(data.scale.inverse(np.c_[known, known])[:, 1], history.values[:, 1])
