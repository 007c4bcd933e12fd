from __future__ import annotations

from typing import Any

import numpy as np
import optuna
import pytest
from optuna.trial import Trial, TrialState

from optuna_mofs._optuna import frozen_attr
from optuna_mofs.features._mask_sampling import (
    sample_bernoulli_mask,
    sample_ensemble_mask,
    sample_geometric_mask,
    sample_uniform_mask,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler
from optuna_mofs.samplers._mask_operators import BitFlip, FilterEnsembleMutation, HammingPreserving
from optuna_mofs.samplers.nsga2._population import Population, tournament_parents
from optuna_mofs.samplers.nsga2._sampler import paper_settings
from optuna_mofs.samplers.nsga2._variation import PaperVariation
from optuna_mofs.study._feature_sets import selected_features, suggest_features
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, make_study

Sampler = FilterEnsembleNSGA2Sampler


# ---- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_trials": 0}, "n_trials must be at least 1, but is 0"),
        ({"population_size": 1}, "population_size must be at least 2, but is 1"),
        ({"population_size": -4}, "population_size must be at least 2, but is -4"),
        ({"offspring_size": -1}, "offspring_size must be at least 1, but is -1"),
        ({"start_size": 1}, "start_size must be at least 2, but is 1"),
        ({"start_size": 0}, "start_size must be at least 2, but is 0"),
        ({"offspring_size": 0}, "offspring_size must be at least 1, but is 0"),
        ({"population_size": 0}, "population_size must be at least 2, but is 0"),
        ({"variant": 9}, "variant must be one of .* but is 9"),
        ({"variant": "GA"}, "variant must be one of .* but is 'GA'"),
        ({"seed": -1}, "seed must be None or an integer"),
    ],
)
def test_bad_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Sampler(**options)


@pytest.mark.parametrize(("n_trials", "size"), [(None, 40), (10, 8), (60, 20), (5000, 40)])
def test_a_small_budget_has_a_short_start(n_trials: int | None, size: int) -> None:
    assert Sampler(n_trials=n_trials).start_size == size


def test_arguments_override_a_variant() -> None:
    sampler = Sampler(variant="GA-MO", population_size=12, start_size=9, unique=True)
    assert (sampler.population_size, sampler.start_size, sampler.offspring_size) == (12, 9, 15)
    assert sampler.unique
    assert not Sampler(variant="GA-MO").unique


def test_the_population_grows_with_the_history() -> None:
    sizes = [Sampler()._mu(n) for n in (40, 300, 700, 5000)]
    assert sizes == sorted(sizes)
    assert sizes[0] < sizes[-1] == 80


# ---- the paper's algorithm ----------------------------------------------------------------------


@pytest.mark.parametrize("variant", ["GA-MO", "GA-MO-FE"])
def test_generations_of_fifteen(variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    populations: dict[int, tuple[int, ...]] = {}
    of = Population.of

    def watched(self: Population, numbers: Any, values: Any, violations: Any) -> Any:
        found = of(self, numbers, values, violations)
        populations[len(numbers)] = tuple(numbers[found[0]].tolist())
        return found

    monkeypatch.setattr(Population, "of", watched)
    study = make_study("bits", sampler=Sampler(variant=variant, seed=0))
    study.optimize(PROBLEMS["bits"], n_trials=126)
    assert min(populations) == 80, "eighty first configurations"
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


def test_steady_state_by_default() -> None:
    study = make_study("bits", sampler=Sampler(seed=0, start_size=8))
    study.optimize(PROBLEMS["bits"], n_trials=60)
    gaps = [t.number - max(frozen_attr(t, NOTE)["parents"]) for t in study.trials[9:]]
    assert min(gaps) == 1, "the newest trial is a parent at once"


# A deliberate change of the algorithm updates these numbers; anything else that changes them is a
# defect: studies that were begun before it would go on differently.
GOLDEN: dict[str, Any] = {
    "mask": 3229238880845540,
    "features": ["f3", "f7", "f11", "f12", "f59"],
    "C": 1.6312380266063309,
    "operator": "crossover+mutation",
    "parents": [9, 23],
}


def test_golden_seed() -> None:
    sampler = Sampler(variant="GA-MO-FE", seed=0, start_size=10, population_size=10)
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

    sampler = Sampler(variant=variant, seed=0, start_size=20, population_size=8, offspring_size=1)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=60)
    trials = study.trials
    feasible = {t.number for t in trials if t.params["x"] >= 0.6}
    assert 2 <= len(feasible & set(range(20))) < 18
    parents = [p for t in trials[40:] for p in frozen_attr(t, NOTE)["parents"]]
    assert set(parents) <= feasible
    assert len([n for n in feasible if n >= 40]) >= 12


# ---- what tables may hold -----------------------------------------------------------------------

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


@pytest.mark.parametrize("variant", [None, 1, 4, 6])
@pytest.mark.parametrize("kind", list(tables()))
def test_tables_of_every_kind(kind: str, variant: int | None) -> None:
    table = tables()[kind]
    sampler = Sampler(variant=variant, seed=0, start_size=6, population_size=6)

    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, table, form="packed")
        assert mask[list(table.fixed)].all()
        return trial.suggest_float("x", 0, 1) - mask.mean(), table.cost(mask)

    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=20)
    assert [t.state for t in study.trials] == [TrialState.COMPLETE] * 20


def test_dear_features_are_tried_less() -> None:
    table = tables()["costs"]
    share = np.zeros(40)
    for seed in range(3):
        study = optuna.create_study(
            directions=["minimize"] * 2, sampler=Sampler(seed=seed, start_size=30)
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
    study = optuna.create_study(directions=["minimize"] * 2, sampler=Sampler(seed=0))
    for _ in range(40):
        trial = study.ask()
        share += suggest_features(trial, table)
        study.tell(trial, (0.0, 0.0))
    assert share[:20].sum() > 1.5 * share[20:].sum()


@pytest.mark.parametrize(
    ("variant", "start", "mutation"),
    [
        # Binder et al. (2020), Table 5: initialization and mutation of the mask.
        (1, sample_bernoulli_mask, BitFlip(0.1)),
        (2, sample_uniform_mask, BitFlip(0.1)),
        (3, sample_geometric_mask, BitFlip(0.1)),
        (4, sample_geometric_mask, HammingPreserving(0.2)),
        (5, sample_ensemble_mask, HammingPreserving(0.2)),
        (6, sample_ensemble_mask, FilterEnsembleMutation(0.1)),
        ("GA-MO", sample_ensemble_mask, HammingPreserving(0.2)),
        ("GA-MO-FE", sample_ensemble_mask, FilterEnsembleMutation(0.1)),
    ],
)
def test_table_5(variant: int | str, start: Any, mutation: Any) -> None:
    found = paper_settings(variant)
    assert found["start"].masks == (start,)
    assert found["variation"] == PaperVariation(mask_mutation=mutation)


@pytest.mark.parametrize("variant", [1, 4, 6, "GA-MO"])
def test_table_1(variant: int | str) -> None:
    found = paper_settings(variant)
    assert (found["population_size"], found["offspring_size"]) == (80, 15)
    assert found["start_size"] == 80
    assert found["parents"] is tournament_parents
    variation = found["variation"]
    assert (variation.crossover_prob, variation.mutation_prob) == (0.7, 0.3)
    assert (variation.eta, variation.swap, variation.per_parameter) == (5.0, 0.5, 0.1)


@pytest.mark.parametrize("variant", [0, 7, "GA", "6", "ga-mo", 2.5])
def test_unknown_variants(variant: Any) -> None:
    with pytest.raises(ValueError, match=r"variant must be one of .*GA-MO-FE.* but is"):
        paper_settings(variant)
