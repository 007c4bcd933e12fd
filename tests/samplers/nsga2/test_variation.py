from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from optuna_mofs.features._mask_sampling import sample_bernoulli_mask, sample_geometric_mask
from optuna_mofs.features._representation import MaskFeatures, weights_from_raw
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers.nsga2._variation import (
    FIRST_RATE,
    FIRST_STEP,
    Configuration,
    Start,
    raw_from_weights,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, _table, make_study, mixed


def read(study: optuna.Study) -> History:
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def test_a_foreign_trial_has_first_values() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=1)
    found = Configuration.of(read(study), 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.weights.tolist() == [0.5, 0.5]
    assert (found.step, found.rate) == (FIRST_STEP, FIRST_RATE)
    assert found.mask is not None
    assert found.mask.shape == (59,)


def test_what_was_remembered_comes_back() -> None:
    study = make_study(
        "packed", sampler=FilterEnsembleNSGA2Sampler(seed=0, start_size=3, variant=6)
    )
    study.optimize(PROBLEMS["packed"], n_trials=12)
    history = read(study)
    for i in range(12):
        made = Configuration.of(history, i)
        assert made.memory() == {k: history.notes[i][k] for k in ("raw_weights", "step", "rate")}
        assert made.weights.sum() == pytest.approx(1)
    assert len({history.notes[i]["step"] for i in range(12)}) > 1


def test_weights_of_other_filters_are_not_taken() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=1)
    history = read(study)
    history.notes[0] = {"raw_weights": [0.1, 0.2, 0.3], "step": 0.25}
    found = Configuration.of(history, 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.step == 0.25


def test_without_masks_and_filters() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["mixed"], n_trials=1)
    found = Configuration.of(read(study), 0)
    assert found.mask is None
    assert found.raw.shape == found.weights.shape == (0,)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=7))
def test_raw_weights_stand_for_weights(parts: list[float]) -> None:
    weights = np.array(parts) / sum(parts)
    raw = raw_from_weights(weights)
    assert ((raw >= 0) & (raw < 1)).all()
    np.testing.assert_allclose(weights_from_raw(raw), weights, rtol=1e-6)


def with_features(table: FeatureTable) -> History:
    return History(StudyDescription(table, MaskFeatures(form="packed").bind(table)))


def test_recipes_take_turns_by_number() -> None:
    start = Start(masks=(sample_bernoulli_mask, sample_geometric_mask))
    history = with_features(_table(60))
    names = [start(np.random.default_rng(0), history, number)[1] for number in range(4)]
    assert names == ["sample_bernoulli_mask", "sample_geometric_mask"] * 2
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
