from __future__ import annotations

import numpy as np
import pytest

from optuna_mofs.features._mask_sampling import bernoulli_start, geometric_start
from optuna_mofs.features._representation import MaskFeatures
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers.nsga2.start import Start
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import _table, make_study, mixed


def with_features(table: FeatureTable) -> History:
    return History(StudyDescription(table, MaskFeatures(form="packed").bind(table)))


def test_recipes_take_turns_by_number() -> None:
    start = Start(masks=(bernoulli_start, geometric_start))
    history = with_features(_table(60))
    names = [start(np.random.default_rng(0), history, number)[1] for number in range(4)]
    assert names == ["bernoulli_start", "geometric_start"] * 2
    rng = np.random.default_rng(0)
    sizes = [start(rng, history, n)[0].mask.sum() for n in range(40)]  # type: ignore[union-attr]
    assert np.mean(sizes[::2]) > 25
    assert np.mean(sizes[1::2]) < 8


def test_weights_are_uniform_on_the_simplex() -> None:
    history = with_features(_table(60))
    rng = np.random.default_rng(0)
    weights = np.array([Start()(rng, history, n)[0].weights for n in range(600)])
    assert weights.sum(axis=1) == pytest.approx(1)
    # Of two weights each is uniform.
    assert np.quantile(weights[:, 0], [0.1, 0.5, 0.9]) == pytest.approx([0.1, 0.5, 0.9], abs=0.06)


def test_without_filters() -> None:
    history = with_features(FeatureTable(names=tuple(f"f{j}" for j in range(50))))
    for number in range(6):
        made, _ = Start()(np.random.default_rng(number), history, number)
        assert made.raw.shape == (0,)
        assert made.mask is not None
        assert made.mask.shape == (50,)


def test_without_features() -> None:
    study = make_study("mixed")
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    made, name = Start()(np.random.default_rng(0), history, 3)
    assert name == "start"
    assert made.mask is None
    assert set(history.space.decode(made.row)) == set(study.trials[0].params)


def test_hyperparameters_are_uniform() -> None:
    study = make_study("mixed")
    study.optimize(mixed, n_trials=3)
    history = History()
    history.update(study)
    rng = np.random.default_rng(0)
    rows = np.array([Start()(rng, history, n)[0].row for n in range(400)])
    numbers = rows[:, ~history.space.categorical]
    assert numbers.mean(axis=0) == pytest.approx(np.full(numbers.shape[1], 0.5), abs=0.06)
    assert numbers.std(axis=0) == pytest.approx(
        np.full(numbers.shape[1], 1 / np.sqrt(12)), abs=0.03
    )
