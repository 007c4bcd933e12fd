"""Warnings about a front."""

from __future__ import annotations

import numpy as np
import optuna
import pytest
from sklearn.linear_model import LogisticRegression

from optuna_mofs import FeatureSelectionObjective, Front
from optuna_mofs.fronts import pareto_front
from optuna_mofs.fronts._warnings import leak_hint
from optuna_mofs.study._baselines import NoiseFloor, write_baselines
from tests.fronts.honest_studies import (
    SIZES,
    random_losses,
    study_with_losses,
    typical_losses,
)


@pytest.fixture
def losses() -> np.ndarray:
    return typical_losses()


def test_noise_is_not_clearly_better_than_chance() -> None:
    sizes = np.random.default_rng(0).integers(1, 40, 60).tolist()
    fronts = [
        pareto_front(study_with_losses(random_losses([0.5] * 60, seed=seed), sizes))
        for seed in range(10)
    ]
    assert max(front.values[0, 0] for front in fronts) < 0.43
    for name in ("pick", "best", "knee", "one_standard_error"):
        values = [front.honest().picks[name].value for front in fronts]
        assert np.mean(values) == pytest.approx(0.5, abs=0.03)
    warnings = [front.honest().warning for front in fronts]
    assert sum(warning is not None for warning in warnings) >= 9
    front, warning = fronts[0], str(warnings[0])
    assert warning.startswith("Not clearly better than chance: the honest error 0.")
    assert warning.endswith("is not clearly below that of the constant model, 0.5.")
    assert warning in repr(front)
    assert warning in front._repr_html_()


def test_a_good_front_has_no_warning(losses) -> None:
    front = pareto_front(study_with_losses(losses, SIZES))
    assert front.honest().warning is None
    assert "chance" not in repr(front)


@pytest.mark.parametrize(("label", "hinted"), [("1 - accuracy", True), ("RMSE", False)])
def test_imbalanced_classes_have_a_hint_to_another_scorer(label, hinted) -> None:
    losses = [(np.arange(100) < 6).astype(float)] * 2
    study = study_with_losses(losses, [0, 3], constant=0.06, label=label)
    warning = str(pareto_front(study).honest().warning)
    assert warning.startswith("Not clearly better than chance")
    assert ("One class has 94% of the rows" in warning) == hinted
    assert ("balanced_accuracy" in warning) == hinted


def test_without_honest_values_raw_ones_are_compared(losses) -> None:
    study = study_with_losses(losses, SIZES, masks=True, constant=float(losses.mean(axis=1).min()))
    warning = str(pareto_front(study).honest().warning)
    assert "the best cross-validated error" in warning
    assert "is not below that of the constant model" in warning


@pytest.mark.parametrize(("floor", "warned"), [(0.08, True), (0.45, False)])
@pytest.mark.parametrize("masks", [True, False])
def test_the_noise_floor_is_compared(losses, floor, warned, masks) -> None:
    study = study_with_losses(losses, SIZES, masks=masks)
    write_baselines(study, noise_floor=NoiseFloor(20, (0, 5, 40), (0.5, floor + 0.01, floor)))
    warning = pareto_front(study).honest().warning
    assert (warning is not None) == warned
    if warning is not None:
        assert f"finds on permuted labels, {floor}." in warning


def test_held_out_rows_know_better_than_the_noise_floor(losses) -> None:
    study = study_with_losses(losses, SIZES, masks=True, holdout=list(losses))
    write_baselines(study, noise_floor=NoiseFloor(20, (0, 40), (0.5, 0.05)))
    assert pareto_front(study).honest().warning is None


def _front(*, leaks: bool) -> Front:
    rng = np.random.default_rng(0)
    y = np.arange(80) % 2
    X = rng.normal(size=(80, 3))
    X[:, 1] = 5.0 * y if leaks else X[:, 1] + y
    objective = FeatureSelectionObjective(
        LogisticRegression(), X, y, filters=["anova_f"], representation="mask", holdout=None
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    for chosen in (1, 0, 2):
        study.enqueue_trial({f"x{j}": j == chosen for j in range(3)})
    study.optimize(objective, n_trials=3)
    return pareto_front(study)


def test_a_copy_of_the_target_is_named() -> None:
    found = leak_hint(_front(leaks=True))
    assert found is not None
    assert found[0] == "x1"
    assert found[1].startswith("'x1' alone is nearly perfect (error 0)")


def test_a_good_feature_is_not() -> None:
    assert leak_hint(_front(leaks=False)) is None
