from __future__ import annotations

import numpy as np
import optuna
import pytest
from hypothesis import given
from hypothesis import strategies as st
from optuna.samplers import RandomSampler

from optuna_mofs._optuna import write_trial_attr
from optuna_mofs.features._mask_sampling import raw_from_weights, weights_from_raw
from optuna_mofs.history._history import History
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers.nsga2._variation import Configuration, NSGA2Note
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, make_study


def read(study: optuna.Study) -> History:
    history = History(StudyDescription.read(study))
    history.update(study)
    return history


def test_a_trial_of_another_sampler_has_default_values() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["packed"], n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.weights.tolist() == [0.5, 0.5]
    assert (found.note.step_size, found.note.switch_prob) == (0.1, 0.1)
    assert found.mask is not None
    assert found.mask.shape == (59,)


def test_strategy_parameters_are_read_from_the_note() -> None:
    sampler = FilterEnsembleNSGA2Sampler.from_paper(6, n_startup_trials=3, seed=0)
    study = make_study("packed", sampler=sampler)
    study.optimize(PROBLEMS["packed"], n_trials=12)
    history = read(study)
    for i in range(12):
        found = Configuration.of_trial(history, i)
        assert found.note == history.note(i, NSGA2Note)
        assert found.raw.tolist() == list(found.note.filter_weights)
        assert len(found.raw) == 2
        assert found.weights.sum() == pytest.approx(1)
    assert len({note.step_size for note in history.notes(NSGA2Note)}) > 1


def test_weights_of_other_filters_are_not_taken() -> None:
    study = make_study("packed", sampler=RandomSampler(seed=0))
    note = NSGA2Note(filter_weights=(0.1, 0.2, 0.3), step_size=0.25)

    def objective(trial: optuna.Trial) -> tuple[float, ...]:
        write_trial_attr(trial.study, trial, NOTE, note.to_json())
        return PROBLEMS["packed"](trial)

    study.optimize(objective, n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.raw.tolist() == [0.5, 0.5]
    assert found.note.step_size == 0.25


def test_a_study_without_masks_has_no_filter_weights() -> None:
    study = make_study("mixed", sampler=RandomSampler(seed=0))
    study.optimize(PROBLEMS["mixed"], n_trials=1)
    found = Configuration.of_trial(read(study), 0)
    assert found.mask is None
    assert found.raw.shape == found.weights.shape == (0,)


@given(st.lists(st.floats(0.001, 1), min_size=1, max_size=7))
def test_raw_weights_are_the_inverse_of_weights(parts: list[float]) -> None:
    weights = np.array(parts) / sum(parts)
    raw = raw_from_weights(weights)
    assert ((raw >= 0) & (raw < 1)).all()
    np.testing.assert_allclose(weights_from_raw(raw), weights, rtol=1e-6)
