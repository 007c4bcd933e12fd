from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution
from optuna.trial import create_trial

from optuna_mofs import ParEGOSampler
from optuna_mofs.history._history import History
from optuna_mofs.samplers.model_based import scales as module
from optuna_mofs.samplers.model_based.scales import objective_scales
from optuna_mofs.samplers.model_based.view import View

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

    return objective_scales(View(history, keep), keep)


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
