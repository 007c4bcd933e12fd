from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import moocore
import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution
from optuna.trial import Trial, TrialState
from scipy import stats

from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    FilterFeatures,
    SingleFilterFeatures,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.filters import rank_scores
from optuna_mofs.fronts import pareto_front
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers._initial_design import RandomDesign
from optuna_mofs.samplers._mask_operators import BitFlip, FilterEnsembleMutation, HammingPreserving
from optuna_mofs.samplers.nsga2._population import Population, TournamentSelection
from optuna_mofs.samplers.nsga2._sampler import NSGA2Settings
from optuna_mofs.samplers.nsga2._variation import PaperVariation
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_features, suggest_features, suggest_mask
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, make_study

Sampler = FilterEnsembleNSGA2Sampler
#: The genetic algorithm alone.
Genetic = partial(FilterEnsembleNSGA2Sampler, surrogate=None)


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be an integer of at least 1, got 0"),
        ({"population_size": 1}, "population_size must be an integer of at least 2, got 1"),
        ({"population_size": -4}, "population_size must be an integer of at least 2, got -4"),
        ({"n_startup_trials": 1}, "n_startup_trials must be an integer of at least 2, got 1"),
        ({"n_startup_trials": 2.5}, "n_startup_trials must be an integer of at least 2, got 2.5"),
        ({"surrogate": "svm"}, "surrogate must be one of .*, got 'svm'"),
        ({"seed": -1}, "seed must be an integer of at least 0, got -1"),
    ],
)
def test_invalid_arguments_raise(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampler(**options)


@pytest.mark.parametrize("n_offspring", [0, -1])
def test_invalid_settings_raise(n_offspring: int) -> None:
    message = f"n_offspring must be an integer of at least 1, got {n_offspring}"
    with pytest.raises(ValueError, match=message):
        NSGA2Settings(n_offspring=n_offspring)


@pytest.mark.parametrize(
    ("make", "n_trials", "size"),
    [
        (Genetic, None, 40),
        (Genetic, 10, 8),
        (Genetic, 60, 20),
        (Genetic, 5000, 40),
        # A surrogate needs fewer trials.
        (Sampler, None, 16),
        (Sampler, 10, 8),
        (Sampler, 36, 12),
        (Sampler, 5000, 16),
    ],
)
def test_a_small_budget_has_a_short_initial_design(
    make: Any, n_trials: int | None, size: int
) -> None:
    study = make_study("bits", sampler=make(n_trials=n_trials, seed=0))
    study.optimize(PROBLEMS["bits"], n_trials=size + 1)
    operators = [trial.user_attrs["operator"] for trial in study.trials]
    assert [operator.startswith("initial_") for operator in operators] == [True] * size + [False]


def test_arguments_of_from_paper() -> None:
    sampler = Sampler.from_paper("GA-MO", population_size=12, n_startup_trials=9, seed=4)
    assert (sampler.population_size, sampler.n_startup_trials, sampler.seed) == (12, 9, 4)
    assert Sampler.from_paper(population_size=12).n_startup_trials == 12
    assert not sampler.settings.eliminate_duplicates
    assert sampler.surrogate is None


def test_the_population_grows_with_the_history() -> None:
    sizes = [Sampler()._population_size(n) for n in (40, 300, 700, 5000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == 80


# ---- the paper's algorithm ----------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["GA-MO", "GA-MO-FE"])
def test_the_paper_has_generations_of_fifteen_trials(
    variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    populations: dict[int, tuple[int, ...]] = {}
    advance = Population.advance

    def watched(self: Population, history: Any) -> None:
        advance(self, history)
        populations[len(history)] = tuple(history.numbers[self.current.members].tolist())

    monkeypatch.setattr(Population, "advance", watched)
    study = make_study("bits", sampler=Sampler.from_paper(variant, seed=0))
    study.optimize(PROBLEMS["bits"], n_trials=126)
    assert min(populations) == 80, "eighty initial configurations"
    ends = [80, 95, 110, 125]
    for n, members in populations.items():
        last = max(end for end in ends if end <= n)
        assert members == populations[last]
        assert max(members) < last
        assert len(members) == 80
    assert len({populations[end] for end in ends}) == len(ends)
    for trial in study.trials[80:]:
        note = frozen_attr(trial, NOTE)
        assert 1 <= len(note["parents"]) <= 2
        last = max(end for end in ends if end <= trial.number)
        assert set(note["parents"]) <= set(populations[last])


def test_the_current_generation_is_that_of_the_search() -> None:
    sampler = Sampler.from_paper(population_size=10, seed=0)
    study = make_study("packed", sampler=sampler)
    study.optimize(PROBLEMS["packed"], n_trials=9)
    assert sampler.current_generation(study) == [*range(9)]
    study.optimize(PROBLEMS["packed"], n_trials=45)
    found = sampler.current_generation(study)
    assert len(found) == 10
    assert max(found) < 10 + 2 * 15, "the third generation is not complete"
    assert set(found) >= {t.number for t in pareto_front(study, trials=range(40))[:10]}


def test_steady_state_by_default() -> None:
    study = make_study("bits", sampler=Genetic(seed=0, n_startup_trials=8))
    study.optimize(PROBLEMS["bits"], n_trials=60)
    gaps = [t.number - max(frozen_attr(t, NOTE)["parents"]) for t in study.trials[9:]]
    assert min(gaps) == 1, "the newest trial is a parent at once"


# A deliberate change of the algorithm updates these numbers; anything else that changes them is a
# defect: studies that were begun before it would go on differently.
GOLDEN: dict[str, Any] = {
    "mask": 3458833194813642,
    "features": ["f59"],
    "C": 0.3760249822322994,
    "operator": "crossover",
    "parents": [2, 5],
}


def test_golden_seed() -> None:
    sampler = Sampler.from_paper("GA-MO-FE", seed=0, n_startup_trials=10, population_size=10)
    study = make_study("packed", sampler=sampler)
    study.optimize(PROBLEMS["packed"], n_trials=26)
    trial = study.trials[25]
    assert trial.params["mask"] == GOLDEN["mask"]
    assert trial.params["C"] == pytest.approx(GOLDEN["C"], rel=1e-12)
    assert selected_features(study, trial) == GOLDEN["features"]
    note = frozen_attr(trial, NOTE)
    assert (note["operator"], note["parents"]) == (GOLDEN["operator"], GOLDEN["parents"])


# ---- constraints --------------------------------------------------------------------------------


@pytest.mark.parametrize("variant", [None, 6])
def test_feasible_parents_are_preferred(variant: int | None) -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("x is large", 0.6 - x)
        return x, y  # the unconstrained optimum is infeasible

    options: dict[str, Any] = {"seed": 0, "n_startup_trials": 20, "population_size": 8}
    if variant is None:
        sampler = Genetic(**options)
    else:
        settings = replace(Sampler.from_paper(variant).settings, n_offspring=1)
        sampler = Genetic(settings=settings, **options)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=60)
    trials = study.trials
    feasible = {t.number for t in trials if t.params["x"] >= 0.6}
    assert 2 <= len(feasible & set(range(20))) < 18
    parents = [p for t in trials[40:] for p in frozen_attr(t, NOTE)["parents"]]
    assert set(parents) <= feasible
    assert len([n for n in feasible if n >= 40]) >= 12


# ---- feature tables of every kind ---------------------------------------------------------------

RANKS = np.linspace(1, 0, 40)[None, :]


def tables() -> dict[str, FeatureTable]:
    names = tuple(f"f{j}" for j in range(40))
    pairs = tuple((2 * j, 2 * j + 1) for j in range(40))
    ranked = {"filters": ("only",), "ranks": RANKS}
    return {
        "bare": FeatureTable(names),
        "costs": FeatureTable(names, costs=np.where(np.arange(40) < 20, 50.0, 1.0), **ranked),
        "groups": FeatureTable(names, columns=pairs, **ranked),
        "fixed": FeatureTable(names, fixed=(0, 39), **ranked),
        "all fixed": FeatureTable(("a", "b"), fixed=(0, 1)),
        "one": FeatureTable(("a",)),
    }


@pytest.mark.parametrize("variant", ["default", "genetic", 1, 4, 6])
@pytest.mark.parametrize("kind", list(tables()))
def test_feature_tables_of_every_kind_are_searched(kind: str, variant: int | str) -> None:
    table = tables()[kind]
    options: dict[str, Any] = {"seed": 0, "n_startup_trials": 6, "population_size": 6}
    makers: dict[Any, Any] = {"default": Sampler, "genetic": Genetic}
    make = makers.get(variant) or partial(Sampler.from_paper, variant)
    sampler = make(**options)

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table, form="packed")
        assert mask[list(table.fixed)].all()
        return trial.suggest_float("x", 0, 1) - mask.mean(), table.cost(mask)

    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=20)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 20


def test_expensive_features_are_tried_less() -> None:
    table = tables()["costs"]
    share = np.zeros(40)
    for seed in range(3):
        study = optuna.create_study(
            directions=["minimize"] * 2, sampler=Genetic(seed=seed, n_startup_trials=30)
        )
        for _ in range(40):
            trial = study.ask()
            mask = suggest_features(trial, table)
            share += mask
            study.tell(trial, (0.0, 0.0))
    # The filter prefers the first twenty, which cost fifty times as much.
    assert share[:20].sum() < share[20:].sum()


def test_filters_are_followed() -> None:
    table = FeatureTable(tables()["bare"].names, filters=("only",), ranks=RANKS)
    share = np.zeros(40)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=Genetic(seed=0))
    for _ in range(40):
        trial = study.ask()
        share += suggest_features(trial, table)
        study.tell(trial, (0.0, 0.0))
    assert share[:20].sum() > 1.5 * share[20:].sum()


@pytest.mark.parametrize(
    ("variant", "mask_sampler", "mutation"),
    [
        # Binder et al. (2020), Table 5: initialization and mutation of the mask.
        (1, "bernoulli", BitFlip(0.1)),
        (2, "uniform", BitFlip(0.1)),
        (3, "geometric", BitFlip(0.1)),
        (4, "geometric", HammingPreserving(0.2)),
        (5, "ensemble", HammingPreserving(0.2)),
        (6, "ensemble", FilterEnsembleMutation(0.1)),
        ("GA-MO", "ensemble", HammingPreserving(0.2)),
        ("GA-MO-FE", "ensemble", FilterEnsembleMutation(0.1)),
    ],
)
def test_variants_are_those_of_table_5(
    variant: int | str, mask_sampler: str, mutation: Any
) -> None:
    settings = Sampler.from_paper(variant).settings
    assert settings.initial_design == RandomDesign(
        (mask_sampler,), plain=True, constant_filter=True
    )
    assert settings.variation == PaperVariation(mask_mutation=mutation, constant_filter=True)


@pytest.mark.parametrize("variant", [1, 4, 6, "GA-MO"])
def test_probabilities_are_those_of_table_1(variant: int | str) -> None:
    sampler = Sampler.from_paper(variant)
    assert (sampler.population_size, sampler.settings.n_offspring) == (80, 15)
    assert sampler.n_startup_trials == 80
    assert sampler.settings.parent_selection == TournamentSelection()
    variation = sampler.settings.variation
    assert isinstance(variation, PaperVariation)
    assert (variation.crossover_prob, variation.mutation_prob) == (0.7, 0.3)
    assert (variation.eta, variation.swapping_prob) == (5.0, 0.5)
    assert variation.per_parameter_prob == 0.1


@pytest.mark.parametrize("variant", [0, 7, "GA", "6", "ga-mo", 2.5])
def test_unknown_variants_raise(variant: Any) -> None:
    with pytest.raises(ValueError, match=r"variant must be one of .*GA-MO-FE.* got"):
        Sampler.from_paper(variant)


# ---- rules --------------------------------------------------------------------------------------

ENSEMBLE = FilterEnsembleFeatures(ranks="all", redundancy_penalty=False)


def rule_study(
    features: FilterFeatures, sampler: Sampler, n_trials: int, p: int = 30
) -> tuple[optuna.Study, list[tuple[int, ...]]]:
    """Return a study of rules on ten useful features, and the feature set of each trial."""
    scores = np.random.default_rng(0).random((3, p))
    scores[0, :10] += 1
    names, filters = tuple(f"f{j}" for j in range(p)), ("good", "b", "c")
    table = FeatureTable(names, filters=filters, ranks=rank_scores(scores))
    bound = features.bind(table)
    space = {"C": FloatDistribution(1e-3, 1e3, log=True)}
    measures = (MeasureDescription("error", worst=2.0), MeasureDescription("fraction", worst=1.0))
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    StudyDescription(table, bound, space, measures, defaults={"C": 1.0}).write(study)
    sets = []

    def objective(trial: Trial) -> tuple[float, float]:
        mask, _ = suggest_mask(trial, bound)
        C = trial.suggest_float("C", 1e-3, 1e3, log=True)
        sets.append(tuple(np.flatnonzero(mask).tolist()))
        wrong = 1 - mask[:10].mean() + 0.1 * mask[10:].sum() / p
        return float(wrong + (np.log10(C) - 0.5) ** 2 / 10), float(mask.mean())

    study.optimize(objective, n_trials=n_trials)
    return study, sets


@pytest.mark.parametrize("features", [ENSEMBLE, SingleFilterFeatures(ranks="all")])
def test_a_feature_set_is_tried_again_only_with_other_hyperparameters(
    features: FilterFeatures,
) -> None:
    study, sets = rule_study(features, Genetic(seed=0, n_startup_trials=12), 80)
    tried = [(chosen, t.params["C"]) for chosen, t in zip(sets, study.trials)]
    assert len(set(tried)) == len(tried)
    assert sets.count(()) == 1
    by_parent = 0
    for trial, chosen in zip(study.trials[12:], sets[12:]):
        if chosen in sets[: trial.number]:
            note = frozen_attr(trial, NOTE)
            # A child that keeps the set of its first parent and changes the hyperparameters.
            assert sets[note["parents"][0]] == chosen
            assert note["operator"].split("+")[-1] in ("gaussian", "sbx")
            by_parent += 1
    assert by_parent > 5


@pytest.mark.parametrize("make", [Sampler, Genetic])
def test_a_rule_of_one_feature_is_searched(make: Any) -> None:
    # Two feature sets in all: repetitions are allowed after some attempts.
    sampler = make(seed=0, n_startup_trials=12)
    study, sets = rule_study(SingleFilterFeatures(ranks="all"), sampler, 30, p=1)
    assert set(sets) == {(), (0,)}
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 30


def test_rules_are_searched_better_than_at_random() -> None:
    def hypervolume(sampler: Any) -> float:
        study, _ = rule_study(ENSEMBLE, sampler, 60)
        values = np.array([trial.values for trial in study.trials])
        return float(moocore.hypervolume(values, ref=[1.5, 1.0]))

    seeds = range(3)
    chance = [hypervolume(optuna.samplers.RandomSampler(seed=seed)) for seed in seeds]
    for make in (Sampler, Genetic):
        assert min(hypervolume(make(seed=seed)) for seed in seeds) > max(chance)


@pytest.mark.parametrize(
    ("make", "n_trials", "size"),
    [
        (Genetic, None, 24),
        (Genetic, 10, 8),
        (Genetic, 60, 20),
        (Sampler, None, 16),
        (Sampler, 36, 12),
    ],
)
def test_a_rule_has_a_shorter_initial_design(make: Any, n_trials: int | None, size: int) -> None:
    study, _ = rule_study(ENSEMBLE, make(n_trials=n_trials, seed=0), size + 1)
    with_parents = [bool(frozen_attr(t, NOTE).get("parents")) for t in study.trials]
    assert with_parents == [False] * size + [True]


def test_the_start_of_a_rule_is_near_the_defaults_and_of_all_sizes() -> None:
    study, sets = rule_study(ENSEMBLE, Sampler(seed=0, n_startup_trials=24), 24)
    orders = np.abs(np.log10([trial.params["C"] for trial in study.trials]))
    near = np.arange(24) % 3 > 0
    assert orders[near].mean() < 0.75 < orders[~near].mean()
    sizes = [len(chosen) for chosen in sets]
    assert sizes[1] == 0
    assert sizes.count(0) == 1
    assert min(sizes[2:]) <= 2 < 20 < max(sizes)


@pytest.mark.parametrize("features", [FilterEnsembleFeatures.from_paper(), ENSEMBLE])
def test_the_paper_starts_at_random(features: FilterFeatures) -> None:
    sampler = Sampler.from_paper(seed=0, population_size=60)
    study, sets = rule_study(features, sampler, 60)
    log = features.scale == "log"
    fractions = np.array([trial.params["fraction"] for trial in study.trials])
    unit = np.log(fractions * 30 / 0.4) / np.log(30 / 0.4) if log else fractions
    orders = np.array([np.log10(trial.params["C"]) for trial in study.trials])
    for drawn in (unit, (orders + 3) / 6):
        assert stats.kstest(drawn, "uniform").pvalue > 0.01
        # Consecutive trials are independent.
        assert abs(np.corrcoef(drawn[1:], drawn[:-1])[0, 1]) < 0.3
    if not log:
        assert [len(chosen) for chosen in sets] == np.ceil(30 * fractions).tolist()


def test_the_paper_may_repeat_feature_sets() -> None:
    sampler = Sampler.from_paper(seed=0, population_size=10)
    study, sets = rule_study(FilterEnsembleFeatures.from_paper(), sampler, 60)
    assert len(set(sets)) < len(sets)
    # Crossover of all parameters or none, of the rule as of the hyperparameters.
    operators = {trial.user_attrs["operator"] for trial in study.trials[10:]}
    assert operators <= {"copy", "crossover", "mutation", "crossover+mutation"}
