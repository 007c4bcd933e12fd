from __future__ import annotations

import optuna
import pytest

import optuna_mofs
from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.settings import Settings
from optuna_mofs.cli.setup import make_sampler, preference, sampler_names


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
