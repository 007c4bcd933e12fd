"""Baselines are stored part by part."""

from __future__ import annotations

import math

import optuna
import pytest
from optuna.study import Study

from optuna_mofs.study._baselines import Baselines, NoiseFloor, write_baselines


@pytest.fixture
def study() -> Study:
    return optuna.create_study(sampler=optuna.samplers.RandomSampler(seed=0))


def test_a_study_without_baselines_has_empty_ones(study: Study) -> None:
    assert Baselines.read(study) == Baselines()


def test_parts_are_read_back(study: Study) -> None:
    floor = NoiseFloor(20, sizes=(0, 2, 10), values=(0.5, 0.41, 0.4))
    write_baselines(study, constant=(0.5, 0.0), noise_floor=floor)
    assert Baselines.read(study) == Baselines(constant=(0.5, 0.0), noise_floor=floor)


def test_writing_one_part_leaves_the_others(study: Study) -> None:
    write_baselines(study, constant=(0.5, 0.0))
    write_baselines(study, all_features=(0.1, 1.0))
    assert Baselines.read(study) == Baselines(constant=(0.5, 0.0), all_features=(0.1, 1.0))
    write_baselines(study, constant=None)
    assert Baselines.read(study) == Baselines(all_features=(0.1, 1.0))


def test_an_undefined_value_is_kept(study: Study) -> None:
    write_baselines(study, constant=(math.nan, 0.0))
    constant = Baselines.read(study).constant
    assert constant is not None
    assert math.isnan(constant[0])
    assert constant[1] == 0.0


def test_unknown_parts_are_refused(study: Study) -> None:
    with pytest.raises(ValueError, match=r"baselines of a study are .*'constant'.* got 'mean'"):
        write_baselines(study, mean=(0.5,))


def test_a_noise_floor_has_one_value_per_size() -> None:
    with pytest.raises(ValueError, match="same length"):
        NoiseFloor(20, sizes=(0, 1), values=(0.5,))
