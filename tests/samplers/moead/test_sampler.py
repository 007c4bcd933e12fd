from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler

from optuna_mofs import MOEADSampler, pareto_front
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.fronts import hypervolume
from optuna_mofs.samplers.moead._offspring import DifferentialVariation
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import conditional, make_study, packed


@pytest.fixture(autouse=True)
def _quiet():
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def curve(trial):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
    away = 1 + 9 * sum(abs(v - 0.3) for v in x[1:]) / 5
    return x[0], 100 * away * (1 - math.sqrt(x[0] / away))


def volume(sampler, problem=curve, trials=150, reference=(1.1, 500.0)):
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(problem, n_trials=trials)
    return pareto_front(study).hypervolume(reference)


def test_it_searches_better_than_chance():
    ours = np.mean([volume(MOEADSampler(seed=s)) for s in range(3)])
    chance = np.mean([volume(RandomSampler(seed=s)) for s in range(3)])
    assert ours > 1.05 * chance


def test_each_trial_says_its_subproblem_operator_and_parents():
    study = make_study("conditional", sampler=MOEADSampler(seed=0, population_size=6))
    study.optimize(conditional, n_trials=20)
    notes = [frozen_attr(trial, NOTE) for trial in study.trials[1:]]
    assert [note["subproblem"] for note in notes] == [n % 6 for n in range(1, 20)]
    made_of = {"differential": 3, "anywhere": 0}
    assert all(len(note["parents"]) == made_of[note["operator"]] for note in notes[-10:])


def test_a_model_of_the_trials_chooses_better_children():
    judged = np.mean([volume(MOEADSampler(seed=s), trials=100) for s in range(3)])
    first = np.mean([volume(MOEADSampler(seed=s, candidates=1), trials=100) for s in range(3)])
    assert judged > 1.03 * first


def test_the_start_is_a_latin_hypercube():
    study = optuna.create_study(sampler=MOEADSampler(seed=1, population_size=10))
    study.enqueue_trial({"x": 0.05, "y": 0.05})  # tells the sampler of the parameters
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=10)
    cells = [math.floor(10 * t.params["x"]) for t in study.trials[1:]]
    assert len(set(cells)) == 9


def test_masks_are_searched():
    study = make_study("packed", sampler=MOEADSampler(seed=2))
    study.optimize(packed, n_trials=100)
    values = np.array([t.values for t in study.trials])
    reference = (2.0, 1.0)
    assert hypervolume(values, reference) > 1.05 * hypervolume(values[:20], reference)


def test_the_paper_is_reachable():
    sampler = MOEADSampler(paper=True)
    assert sampler.normalize is False
    assert sampler.candidates == 1
    assert sampler.anywhere == 0.0
    assert sampler.variation == DifferentialVariation(
        scale=0.5, rate=0.7, mutation_rate=0.1, eta=20.0, drift=0.0, rounded=True
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_size": 3}, "population_size.*at least 4.*3"),
        ({"neighbors": 1}, "neighbors.*at least 2.*1"),
        ({"replaced": 0}, "replaced.*0"),
        ({"start_size": 2.5}, "start_size.*2.5"),
        ({"candidates": 0}, "candidates.*at least 1.*0"),
        ({"anywhere": 1.5}, "anywhere.*1.5"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        MOEADSampler(**options)


@pytest.mark.parametrize("options", [{"scale": 2.0}, {"eta": 0}, {"drift": -1}, {"rate": -0.1}])
def test_bad_variations_are_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        DifferentialVariation(**options)
