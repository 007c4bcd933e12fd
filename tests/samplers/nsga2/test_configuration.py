from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from optuna_mofs.features._representation import weights_from_raw
from optuna_mofs.history._history import History
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers.nsga2.configuration import (
    FIRST_RATE,
    FIRST_STEP,
    Configuration,
    raw_from_weights,
)
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.testing.problems import PROBLEMS, make_study


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
