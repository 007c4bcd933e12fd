from __future__ import annotations

import math

import numpy as np
import optuna
import pytest
from optuna.samplers import RandomSampler

from optuna_mofs import MOEADSampler, pareto_front
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.fronts import hypervolume
from optuna_mofs.samplers import RandomDesign
from optuna_mofs.samplers.moead import DifferentialVariation, MOEADSettings
from optuna_mofs.samplers.moead._subproblems import neighborhoods, simplex_points
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import conditional, make_study, packed


def curve(trial):
    x = [trial.suggest_float(f"x{i}", 0, 1) for i in range(6)]
    away = 1 + 9 * sum(abs(v - 0.3) for v in x[1:]) / 5
    return x[0], 100 * away * (1 - math.sqrt(x[0] / away))


def volume(sampler, problem=curve, trials=150, reference=(1.1, 500.0)):
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(problem, n_trials=trials)
    return pareto_front(study).hypervolume(reference)


def test_it_searches_better_than_random():
    ours = np.mean([volume(MOEADSampler(seed=s)) for s in range(3)])
    random = np.mean([volume(RandomSampler(seed=s)) for s in range(3)])
    assert ours > 1.05 * random


def test_each_trial_has_its_subproblem_operator_and_parents():
    study = make_study("conditional", sampler=MOEADSampler(seed=0, population_size=6))
    study.optimize(conditional, n_trials=20)
    notes = [frozen_attr(trial, NOTE) for trial in study.trials[1:]]
    assert [note["subproblem"] for note in notes] == [n % 6 for n in range(1, 20)]
    n_parents = {"differential": 3, "random": 0}
    assert all(len(note["parents"]) == n_parents[note["operator"]] for note in notes[-10:])


def test_a_model_of_the_trials_chooses_better_children():
    chosen = np.mean([volume(MOEADSampler(seed=s), trials=100) for s in range(3)])
    first = np.mean([volume(MOEADSampler(seed=s, n_candidates=1), trials=100) for s in range(3)])
    assert chosen > 1.03 * first


def test_the_initial_design_is_a_latin_hypercube():
    study = optuna.create_study(sampler=MOEADSampler(seed=1, population_size=10))
    study.enqueue_trial({"x": 0.05, "y": 0.05})  # so that the parameters are known
    study.optimize(lambda t: t.suggest_float("x", 0, 1) + t.suggest_float("y", 0, 1), n_trials=10)
    cells = [math.floor(10 * t.params["x"]) for t in study.trials[1:]]
    assert len(set(cells)) == 9


def test_masks_are_searched():
    def volumes(sampler):
        study = make_study("packed", sampler=sampler)
        study.optimize(packed, n_trials=100)
        values = np.array([t.values for t in study.trials])
        return hypervolume(values[:20], (2.0, 1.0)), hypervolume(values, (2.0, 1.0))

    start, end = volumes(MOEADSampler(seed=3))
    assert end > 1.02 * start
    assert end > 1.05 * volumes(RandomSampler(seed=3))[1]


def test_from_paper():
    sampler = MOEADSampler.from_paper(population_size=12, seed=3)
    assert (sampler.population_size, sampler.n_startup_trials, sampler.seed) == (12, 12, 3)
    assert sampler.n_candidates == 1
    assert sampler.decomposition == "unbounded_tchebycheff"
    assert sampler.settings == MOEADSettings(
        prob_neighbor_mating=1.0,
        global_replacement=False,
        normalize_objectives=False,
        own_start=True,
        distinct_parents=False,
        variation=DifferentialVariation(
            scale=0.5,
            crossover_prob=0.7,
            force_one=False,
            mutation_prob=0.1,
            eta=20.0,
            jitter=0.0,
            round_categories=True,
        ),
        initial_design=RandomDesign(("ensemble", "prefix", "geometric", "wide"), plain=True),
    )
    assert MOEADSampler.from_paper(n_startup_trials=7, n_neighbors=4).n_startup_trials == 7


def test_the_papers_algorithm_proposes_only_differential_children():
    sampler = MOEADSampler.from_paper(population_size=8, seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(curve, n_trials=24)
    notes = [frozen_attr(trial, NOTE) for trial in study.trials[8:]]
    assert {(note["operator"], len(note["parents"])) for note in notes} == {("differential", 3)}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"population_size": 3}, "population_size.*at least 4.*3"),
        ({"n_neighbors": 1}, "n_neighbors.*at least 2.*1"),
        ({"n_startup_trials": 2.5}, "n_startup_trials.*2.5"),
        ({"n_candidates": 0}, "n_candidates.*at least 1.*0"),
        ({"decomposition": "tchebychef"}, "decomposition.*Did you mean 'tchebycheff'"),
    ],
)
def test_bad_arguments_raise(options, message):
    with pytest.raises(ValueError, match=message):
        MOEADSampler(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_replacements": 0}, "max_replacements.*at least 1.*0"),
        ({"prob_neighbor_mating": 1.5}, "prob_neighbor_mating.*1.5"),
    ],
)
def test_bad_settings_raise(options, message):
    with pytest.raises(ValueError, match=message):
        MOEADSettings(**options)


def test_parents_of_the_paper_are_the_members_of_two_drawn_subproblems():
    sampler = MOEADSampler.from_paper(population_size=6, n_neighbors=3, seed=3)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(curve, n_trials=60)
    weights = simplex_points(6, 2)
    near = neighborhoods(weights, 3)
    values = np.array([trial.values for trial in study.trials])
    members, coincide = list(range(6)), 0
    for number in range(6, 60):
        i, z = number % 6, values[: number + 1].min(axis=0)
        base, first, second = frozen_attr(study.trials[number], NOTE)["parents"]
        assert base == members[i]
        assert {first, second} <= {members[j] for j in near[i]}
        coincide += first == second or base in (first, second)
        for j in near[i]:
            g = [max(weights[j] * abs(values[k] - z)) for k in (number, members[j])]
            members[j] = number if g[0] <= g[1] else members[j]
    assert coincide > 0
