from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import numpy as np
import optuna
import pytest

import optuna_mofs
from optuna_mofs._optuna import write_study_attr
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._settings import (
    Settings,
    make_objective,
    make_preference,
    make_sampler,
    resolve_learner,
    sampler_names,
)
from optuna_mofs.cli._table import Table


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


@pytest.mark.parametrize(
    ("shape", "classes", "learner"),
    [
        ((50, 3), True, "svm"),
        ((2001, 3), True, "hist_gradient_boosting"),
        ((2001, 1001), True, "logistic_regression"),
        ((2001, 1001), False, "ridge"),
    ],
)
def test_the_default_learner_depends_on_the_size(
    shape: tuple[int, int], classes: bool, learner: str
) -> None:
    y = np.arange(shape[0]) % 2 if classes else np.linspace(0, 1, shape[0])
    table = Table(np.zeros(shape), y, tuple(f"x{j}" for j in range(shape[1])))
    assert resolve_learner(Settings(), table).learner == learner
    assert resolve_learner(Settings(learner="knn"), table).learner == "knn"


def _table(groups: Any = None) -> Table:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    return Table(X, (X[:, 0] > 0).astype(int), ("a", "b", "c"), groups=groups)


def test_cross_validation_in_time_tests_later_rows() -> None:
    settings = Settings(cv="time", learner="ridge", filters=["anova_f"], holdout=0.2)
    objective = make_objective(settings, _table())
    assert objective.holdout_rows is not None
    assert objective.holdout_rows.tolist() == list(range(48, 60))
    assert make_objective(replace(settings, holdout="auto"), _table()).holdout_rows is None
    with pytest.raises(CommandError, match="mutually exclusive"):
        make_objective(settings, _table(np.arange(60) // 6))


def test_cross_validation_by_group_needs_groups() -> None:
    settings = Settings(cv="group", learner="ridge", filters=["anova_f"], holdout=0)
    make_objective(settings, _table(np.arange(60) // 6))
    with pytest.raises(CommandError, match="--cv group needs --group-column"):
        make_objective(settings, _table())
