from __future__ import annotations

import argparse

import optuna
import pytest

import optuna_mofs
from optuna_mofs._optuna import write_study_attr
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._settings import Settings, make_sampler, preference, sampler_names


def test_what_is_remembered_is_recalled() -> None:
    study = optuna.create_study()
    assert Settings.recall(study) is None
    settings = Settings(data="a.csv", costs={f"feature {i}": 2.0 for i in range(5000)})
    settings.remember(study)
    assert Settings.recall(study) == settings


def test_settings_of_a_later_version_are_understood() -> None:
    study = optuna.create_study()
    write_study_attr(study, "run", {"data": "a.csv", "color": "blue"})
    assert Settings.recall(study) == Settings(data="a.csv")


def test_only_what_is_given_changes() -> None:
    given = argparse.Namespace(learner="knn", seed=7, run=print)
    assert Settings(folds=3).updated(given) == Settings(folds=3, learner="knn", seed=7)


def test_every_sampler_of_the_package_has_a_name() -> None:
    classes = {type(make_sampler(Settings(sampler=name), started=0)) for name in sampler_names()}
    own = {getattr(optuna_mofs, name) for name in optuna_mofs.__all__ if name.endswith("Sampler")}
    assert own < classes
    assert optuna.samplers.TPESampler in classes
    assert all(issubclass(kind, optuna.samplers.BaseSampler) for kind in classes)


def test_a_planned_budget_and_a_preference_reach_the_sampler() -> None:
    settings = Settings(sampler="nsga2", budget=40, seed=3)
    assert make_sampler(settings, started=0).n_trials == 40
    settings = Settings(sampler="lexiflow", tolerances={"error": "5%"}, priorities=["error"])
    assert make_sampler(settings, started=0).preference.tolerances == {"error": "5%"}


@pytest.mark.parametrize("name", ["random", "tpe", "optuna_nsga2"])
def test_optunas_samplers_differ_by_worker_and_start(name: str) -> None:
    def first(seed: int, started: int, worker: int) -> float:
        settings = Settings(sampler=name, seed=seed)
        study = optuna.create_study(sampler=make_sampler(settings, started=started, worker=worker))
        return study.ask().suggest_float("x", 0, 1)

    drawn = [first(0, 0, 0), first(0, 0, 1), first(0, 5, 0), first(1, 0, 0)]
    assert len(set(drawn)) == 4
    assert first(0, 0, 1) == drawn[1]


def test_a_bad_preference_is_told() -> None:
    with pytest.raises(CommandError, match="tolerance"):
        preference(Settings(tolerances={"error": -1.0}))
