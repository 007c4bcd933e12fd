from __future__ import annotations

import argparse

import optuna
import pytest

import optuna_mofs
from optuna_mofs._optuna import write_study_attr
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._settings import Settings, make_preference, make_sampler, sampler_names


def test_settings_are_read_as_written() -> None:
    study = optuna.create_study()
    assert Settings.read(study) is None
    settings = Settings(data="a.csv", feature_costs={f"feature {i}": 2.0 for i in range(5000)})
    settings.write(study)
    assert Settings.read(study) == settings


def test_unknown_settings_are_ignored() -> None:
    study = optuna.create_study()
    write_study_attr(study, "run", {"data": "a.csv", "color": "blue"})
    assert Settings.read(study) == Settings(data="a.csv", holdout=0), "written before holdouts"


def test_given_arguments_replace_settings() -> None:
    given = argparse.Namespace(learner="knn", seed=7, run=print)
    assert Settings(cv=3).updated(given) == Settings(cv=3, learner="knn", seed=7)


def test_every_sampler_of_the_package_has_a_name() -> None:
    classes = {
        type(make_sampler(Settings(sampler=name), n_existing=0)) for name in sampler_names()
    }
    own = {getattr(optuna_mofs, name) for name in optuna_mofs.__all__ if name.endswith("Sampler")}
    assert own < classes
    assert optuna.samplers.TPESampler in classes
    assert all(issubclass(kind, optuna.samplers.BaseSampler) for kind in classes)


OWN = [n for n in sampler_names() if n not in ("tpe", "random", "optuna_nsga2")]


@pytest.mark.parametrize("name", OWN)
def test_the_planned_number_of_trials_reaches_every_sampler_that_uses_it(name: str) -> None:
    sampler = make_sampler(Settings(sampler=name, n_trials=40, seed=3), n_existing=0)
    assert sampler.seed == 3
    # The other two adapt to the trials that there are.
    assert getattr(sampler, "n_trials", None) == (None if name in ("moead", "lexiflow") else 40)
    assert len(OWN) == 6


def test_the_preference_reaches_the_sampler() -> None:
    settings = Settings(sampler="lexiflow", tolerances={"error": "5%"}, priorities=["error"])
    assert make_sampler(settings, n_existing=0).preference.tolerances == {"error": "5%"}


@pytest.mark.parametrize("name", ["random", "tpe", "optuna_nsga2"])
def test_optunas_samplers_differ_by_worker_and_start(name: str) -> None:
    def first(seed: int, n_existing: int, worker: int) -> float:
        settings = Settings(sampler=name, seed=seed)
        study = optuna.create_study(
            sampler=make_sampler(settings, n_existing=n_existing, worker=worker)
        )
        return study.ask().suggest_float("x", 0, 1)

    drawn = [first(0, 0, 0), first(0, 0, 1), first(0, 5, 0), first(1, 0, 0)]
    assert len(set(drawn)) == 4
    assert first(0, 0, 1) == drawn[1]


def test_a_bad_preference_is_an_error() -> None:
    with pytest.raises(CommandError, match="tolerance"):
        make_preference(Settings(tolerances={"error": -1.0}))
