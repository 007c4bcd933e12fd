"""Proposals of FilterEnsembleNSGA2Sampler by its surrogates."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import moocore
import numpy as np
import optuna
import pytest
from optuna.distributions import FloatDistribution, IntDistribution
from optuna.trial import Trial, TrialState
from sklearn.datasets import make_classification
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import FeatureSelectionObjective, ModelTypeObjective
from optuna_mofs._optuna import frozen_attr, write_trial_attrs
from optuna_mofs.features._representation import (
    FilterEnsembleFeatures,
    MaskFeatures,
    Representation,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.filters import rank_scores
from optuna_mofs.history._history import History
from optuna_mofs.samplers import FilterEnsembleNSGA2Sampler, _infill
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._infill_search import InfillSearch
from optuna_mofs.samplers._set_search import FeatureSetSearch
from optuna_mofs.samplers._surrogates import Forest
from optuna_mofs.samplers._training_data import TrainingData
from optuna_mofs.samplers.nsga2._sampler import NSGA2Settings
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, suggest_features, suggest_mask
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, make_study
from tests.samplers.context import make_context

#: A small search, for tests of what is proposed rather than how good it is.
FAST = NSGA2Settings(
    infill_search=InfillSearch(n_points=40, n_neighbors=10, n_local_starts=4),
    set_search=FeatureSetSearch(n_sets=48, n_rounds=2),
)
Sampler = partial(FilterEnsembleNSGA2Sampler, seed=0, n_startup_trials=8, settings=FAST)
#: Operators of the searches for the best candidate.
OF_SETS = {"add_drop", "drop", "prefix", "crossover", "filter_ensemble", "resample"}
OF_SETS |= {"hyperparameters"}
OF_ROWS = {"focus", "local"}


def notes(study: optuna.Study) -> list[dict[str, Any]]:
    return [frozen_attr(trial, NOTE) or {} for trial in study.trials]


def study_of(sampler: Any, n_values: int = 2) -> optuna.Study:
    return optuna.create_study(directions=["minimize"] * n_values, sampler=sampler)


def plane(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    off = 4 * (y - 0.8) ** 2
    return x + off, (1 - np.sqrt(x)) + off


def planted_study(
    features: Representation, sampler: Any, n_trials: int
) -> tuple[optuna.Study, float]:
    """Return a study with ten useful of sixty features, and its hypervolume.

    Two filters agree with the features' use in part, and a hyperparameter matters too.
    """
    p, rng = 60, np.random.default_rng(0)
    use = np.zeros(p)
    use[rng.permutation(p)[:10]] = np.linspace(0.15, 0.05, 10)
    scores = np.array([use + 0.05 * rng.random(p), use + 0.15 * rng.random(p), rng.random(p)])
    table = FeatureTable(
        tuple(f"f{j}" for j in range(p)), filters=("a", "b", "c"), ranks=rank_scores(scores)
    )
    bound = features.bind(table)
    measures = (MeasureDescription("error", worst=1.5), MeasureDescription("fraction", worst=1.0))
    study = study_of(sampler)
    StudyDescription(table, bound, measures=measures).write(study)

    def objective(trial: Trial) -> tuple[float, float]:
        mask, system = suggest_mask(trial, bound)
        write_trial_attrs(study, trial, system=system)
        C = trial.suggest_float("C", 1e-4, 1e4, log=True)
        error = 1 - use[mask].sum() + 0.2 * mask.mean() + (np.log10(C) - 1) ** 2 / 50
        return float(error), float(mask.mean())

    study.optimize(objective, n_trials=n_trials)
    values = np.array([trial.values for trial in study.trials])
    return study, float(moocore.hypervolume(values, ref=[1.5, 1.0]))


@pytest.mark.parametrize(
    "features",
    [FilterEnsembleFeatures(ranks="all", redundancy_penalty=False), MaskFeatures()],
    ids=["rule", "mask"],
)
def test_better_than_the_genetic_algorithm(features: Representation) -> None:
    def volumes(**options: Any) -> np.ndarray:
        made = partial(FilterEnsembleNSGA2Sampler, n_startup_trials=15, **options)
        found = [planted_study(features, made(seed=seed), 45)[1] for seed in range(6)]
        return np.array(found)

    # The rest of what can be reached, of which random search leaves most. Single seeds can go
    # either way, depending on the last bits of a machine.
    best = 1.5
    with_surrogate, without = best - volumes(), best - volumes(surrogate=None)
    assert with_surrogate.mean() < 0.95 * without.mean()


@pytest.mark.parametrize(
    ("problem", "operators"),
    [
        ("bits", OF_SETS),
        ("packed", OF_SETS),
        ("mixed", OF_ROWS),
        ("conditional", OF_ROWS),
        ("single", OF_ROWS),
        ("three", OF_ROWS),
    ],
)
def test_trials_after_the_start_are_the_best_candidates(problem: str, operators: set[str]) -> None:
    study = make_study(problem, sampler=Sampler())
    study.optimize(PROBLEMS[problem], n_trials=14)
    found = notes(study)
    assert not any("expected" in note for note in found[:8])
    assert {note["operator"] for note in found[8:]} <= operators
    n_values = len(study.directions)
    assert all(len(note["expected"]) == n_values for note in found[8:])
    assert len({str(trial.params) for trial in study.trials}) == 14


def test_only_active_parameters_are_proposed() -> None:
    proposed = []

    class Recording(FilterEnsembleNSGA2Sampler):
        def propose(self, ctx: ProposalContext) -> Proposal:
            made = super().propose(ctx)
            proposed.append(ctx.history.space.decode(made.row))
            return made

    sampler = Recording(seed=0, n_startup_trials=8, settings=FAST)
    study = make_study("conditional", sampler=sampler)
    study.optimize(PROBLEMS["conditional"], n_trials=14)
    wanted = {"line": {"branch", "slope"}, "curve": {"branch", "power", "width"}}
    for params in proposed[-6:]:
        assert set(params) == wanted[params["branch"]]


def test_one_objective() -> None:
    study = study_of(Sampler(), 1)
    study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 2) ** 2, n_trials=16)
    assert study.best_value < 1e-2


@pytest.mark.parametrize("n_values", [2, 3])
def test_far_better_than_chance(n_values: int) -> None:
    def objective(trial: Trial) -> tuple[float, ...]:
        x, y, z = (trial.suggest_float(name, 0, 1) for name in "xyz")
        off = 4 * (z - 0.8) ** 2
        values = (x + off, y + off, 2 - x - y + off)
        return values if n_values == 3 else (values[0] + y, values[2])

    gaps = {}
    for name, sampler in (("ours", Sampler()), ("random", optuna.samplers.RandomSampler(seed=0))):
        study = study_of(sampler, n_values)
        study.optimize(objective, n_trials=30)
        values = np.array([trial.values for trial in study.trials])
        gaps[name] = 2.5**n_values - moocore.hypervolume(values, ref=[2.5] * n_values)
    best = np.array(
        [(x, y, 2 - x - y) for x in np.linspace(0, 1, 12) for y in np.linspace(0, 1, 12)]
    )
    if n_values == 2:
        best = np.column_stack([best[:, 0] + best[:, 1], best[:, 2]])
    rest = 2.5**n_values - moocore.hypervolume(best, ref=[2.5] * n_values)
    assert gaps["ours"] - rest < 0.6 * (gaps["random"] - rest)


def test_constraints() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        trial.set_constraint("x is large", 0.6 - x)
        return x, y  # the unconstrained optimum is infeasible

    study = study_of(Sampler())
    study.optimize(objective, n_trials=28)
    late = [trial.params for trial in study.trials[16:]]
    assert sum(params["x"] >= 0.6 for params in late) >= 8
    assert min(p["x"] + p["y"] for p in late if p["x"] >= 0.6) < 0.7


def test_only_infeasible_trials() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        x = trial.suggest_float("x", 0, 1)
        trial.set_constraint("impossible", 1 + x)
        return x, 1 - x

    study = study_of(Sampler())
    study.optimize(objective, n_trials=12)
    assert all("expected" in note for note in notes(study)[8:])


def test_directions_only_change_the_sign() -> None:
    def negative(trial: Trial) -> tuple[float, float]:
        values = plane(trial)
        return -values[0], values[1]

    minimized = study_of(Sampler())
    minimized.optimize(plane, n_trials=13)
    mixed = optuna.create_study(directions=["maximize", "minimize"], sampler=Sampler())
    mixed.optimize(negative, n_trials=13)
    assert [t.params for t in mixed.trials] == [t.params for t in minimized.trials]
    # Expected values are those of minimization.
    assert notes(mixed)[-1]["expected"] == notes(minimized)[-1]["expected"]


@pytest.mark.parametrize("problem", ["mixed", "packed"])
def test_parallel_workers_propose_different_points(problem: str) -> None:
    study = make_study(problem, sampler=Sampler())
    study.optimize(PROBLEMS[problem], n_trials=12)
    for trial in [study.ask() for _ in range(4)]:
        PROBLEMS[problem](trial)
    running = study.trials[12:]
    assert {trial.state for trial in running} == {TrialState.RUNNING}
    assert len({str(trial.params) for trial in running}) == 4
    # Each worker counts on what the others expect: they do not all go to one place.
    expected = np.array([note["expected"] for note in notes(study)[12:]])
    span = np.ptp([trial.values for trial in study.trials[:12]], axis=0)
    apart = np.abs((expected[:, None] - expected) / span).max(axis=2)
    assert apart.max() > 0.1


def test_expected_values_of_running_trials_change_the_proposal() -> None:
    def proposed(n_running: int) -> dict[str, Any]:
        study = study_of(Sampler())
        study.optimize(plane, n_trials=10)
        asked = [study.ask() for _ in range(n_running)]
        for trial in asked:
            plane(trial)
        # Trial 11 in both cases: the generator is the same.
        if n_running == 0:
            study.tell(study.ask(), state=TrialState.FAIL)
        trial = study.ask()
        plane(trial)
        assert trial.number == 11
        return trial.params

    alone, beside = proposed(0), proposed(1)
    assert max(abs(alone[name] - beside[name]) for name in alone) > 0.01


def test_many_columns_have_a_forest(monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []
    fit = Forest.fit

    def counted(self: Forest, X: np.ndarray, y: np.ndarray) -> Forest:
        fits.append(X.shape[1])
        return fit(self, X, y)

    monkeypatch.setattr(Forest, "fit", counted)

    def objective(trial: Trial) -> tuple[float, float]:
        x = [trial.suggest_float(f"x{j}", 0, 1) for j in range(201)]
        return x[0] + x[1], 2 - x[0]

    study = study_of(Sampler())
    study.optimize(objective, n_trials=10)
    assert fits == [201] * 4
    assert {note["operator"] for note in notes(study)[8:]} <= OF_ROWS


@pytest.mark.parametrize("surrogate", ["forest", "gaussian_process"])
def test_the_surrogate_can_be_chosen(surrogate: str) -> None:
    study = make_study("packed", sampler=Sampler(surrogate=surrogate))
    study.optimize(PROBLEMS["packed"], n_trials=10)
    assert all("expected" in note for note in notes(study)[8:])


def test_an_exhausted_space() -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, ["a", "b", "c"])
        return 1 - mask[0], float(mask.sum())

    study = study_of(Sampler(n_startup_trials=4))
    study.optimize(objective, n_trials=11)
    assert len({str(trial.params) for trial in study.trials[:8]}) == 8
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


def test_nothing_to_suggest() -> None:
    study = study_of(Sampler())
    study.optimize(lambda trial: (1.0, 2.0), n_trials=10)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


@pytest.mark.parametrize("value", [np.inf, -np.inf, 1e308])
def test_infinite_and_huge_values(value: float) -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        first, second = plane(trial)
        return (value if trial.number % 4 == 1 else first), second

    study = study_of(Sampler())
    study.optimize(objective, n_trials=14)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}
    assert np.isfinite([note["expected"] for note in notes(study)[8:]]).all()
    assert len({str(trial.params) for trial in study.trials}) == 14


def test_an_objective_of_infinite_values_only() -> None:
    study = study_of(Sampler())
    study.optimize(lambda t: (np.inf, plane(t)[1]), n_trials=12)
    assert {trial.state for trial in study.trials} == {TrialState.COMPLETE}


@pytest.mark.parametrize("features", ["mask", "rule"])
def test_a_resumed_study_continues_exactly(features: str) -> None:
    chosen: Representation = FilterEnsembleFeatures(ranks="all", redundancy_penalty=False)
    if features == "mask":
        chosen = MaskFeatures()
    whole, _ = planted_study(chosen, Sampler(), 14)

    class Renewed(FilterEnsembleNSGA2Sampler):
        """A sampler without memory."""

        def propose(self, ctx: ProposalContext) -> Proposal:
            ctx._study_cache.clear()
            return super().propose(ctx)

    resumed, _ = planted_study(chosen, Renewed(seed=0, n_startup_trials=8, settings=FAST), 14)
    assert [t.params for t in resumed.trials] == [t.params for t in whole.trials]
    masks = [selected_mask(whole, trial) for trial in whole.trials]
    assert len({mask.tobytes() for mask in masks if mask is not None}) > 7


def test_repeated_attempts_fit_the_surrogates_once(monkeypatch: pytest.MonkeyPatch) -> None:
    study = make_study("mixed", sampler=Sampler())
    study.optimize(PROBLEMS["mixed"], n_trials=9)
    real = FilterEnsembleNSGA2Sampler._best_candidate
    fit_surrogate = _infill.fit_surrogate
    attempts, fits = [], []

    def known_first(self: Any, ctx: ProposalContext) -> Any:
        found = real(self, ctx)
        attempts.append(ctx.attempt)
        if len(attempts) == 1 and found is not None:
            # The first attempt proposes a configuration that a trial has.
            return Proposal(ctx.history.rows[0], None, found.note)
        return found

    def counted(*args: Any) -> Any:
        fits.append("surrogate")
        return fit_surrogate(*args)

    monkeypatch.setattr(_infill, "fit_surrogate", counted)
    monkeypatch.setattr(FilterEnsembleNSGA2Sampler, "_best_candidate", known_first)
    study.optimize(PROBLEMS["mixed"], n_trials=1)
    assert attempts == [0, 1]
    assert len(fits) == 2


@pytest.mark.parametrize("surrogate", ["gaussian_process", "forest"])
def test_the_gain_per_second_prefers_cheap_trials(surrogate: str) -> None:
    """Two regions are equally good, and one takes a hundred times as long."""

    def objective(trial: Trial) -> tuple[float, float]:
        x, slow = trial.suggest_float("x", 0, 1), trial.suggest_float("slow", 0, 1)
        seconds = 10.0 if slow > 0.5 else 0.1
        trial.set_user_attr("fold_scores", {"fit_time": [seconds] * 3})
        return x, 1 - np.sqrt(x)

    found = {}
    for rate in (False, True):
        settings = replace(FAST, gain_per_second=rate)
        study = study_of(Sampler(surrogate=surrogate, settings=settings))
        study.optimize(objective, n_trials=26)
        found[rate] = np.mean([t.params["slow"] <= 0.5 for t in study.trials[8:]])
    assert found[True] >= 0.9
    assert found[True] > found[False]


@pytest.mark.parametrize("representation", ["filter_ensemble", "single_filter", "mask", None])
@pytest.mark.parametrize(
    ("measures", "options", "modeled"),
    [
        (("error", "cost"), {"feature_costs": np.linspace(0.1, 5, 14), "max_features": 4}, [0]),
        (("fnr", "fpr", "fraction"), {"min_features": 2}, [0, 1]),
        (("error", "n_features", "instability"), {}, [0, 2]),
        (("error",), {"fixed_features": ["x3"]}, [0]),
    ],
    ids=["cost", "rates", "three", "one"],
)
def test_every_representation_and_measure_is_modeled(
    representation: str | None, measures: Any, options: dict[str, Any], modeled: list[int]
) -> None:
    if representation is None:
        # All features are kept: only what they do to the error is left to model.
        options, measures = {}, tuple(m for m in measures if m in _PREDICTIVE)
        modeled = list(range(len(measures)))
    X, y = make_classification(60, 14, n_informative=4, random_state=0)
    objective = FeatureSelectionObjective(
        DecisionTreeClassifier(random_state=0),
        X,
        y,
        space={"max_depth": IntDistribution(1, 6), "ccp_alpha": FloatDistribution(0, 0.1)},
        representation=representation,
        measures=measures,
        filters=["auc", "anova_f"] if representation else "default",
        cv=2,
        **options,
    )
    study = objective.create_study(sampler=Sampler())
    study.optimize(objective, n_trials=14)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    expected = OF_ROWS if representation is None else OF_SETS
    assert {note["operator"] for note in notes(study)[8:]} <= expected
    sizes = [trial.user_attrs.get("n_features", 14) for trial in study.trials]
    assert max(sizes) <= options.get("max_features", 14)
    assert min(sizes) >= options.get("min_features", 0)
    history = History(StudyDescription.read(study))
    history.update(study)
    assert TrainingData(make_context(history)).modeled == modeled


_PREDICTIVE = ("error", "fnr", "fpr")


def test_a_rule_finds_cheap_features() -> None:
    """Five features are clean and dear, five others tell nearly the same and are cheap."""
    rng = np.random.default_rng(0)
    signal = rng.normal(size=(150, 5))
    X = np.hstack([signal, signal + 0.3 * rng.normal(size=(150, 5)), rng.normal(size=(150, 20))])
    y = (signal.sum(axis=1) > 0).astype(int)
    costs = np.r_[np.full(5, 100.0), np.full(25, 1.0)]
    volumes = []
    for tilt in (False, True):
        objective = FeatureSelectionObjective(
            GaussianNB(),
            X,
            y,
            representation=FilterEnsembleFeatures(redundancy_penalty=False, cost_tilt=tilt),
            feature_costs=costs,
            filters=["auc", "anova_f"],
            cv=3,
        )
        study = objective.create_study(sampler=Sampler())
        study.optimize(objective, n_trials=30)
        values = np.array([trial.values for trial in study.trials]) / [1.0, costs.sum()]
        volumes.append(moocore.hypervolume(values, ref=[0.5, 0.05]))
    assert volumes[1] > 2 * volumes[0]


def test_model_types_are_modeled() -> None:
    X, y = make_classification(60, 8, n_informative=4, random_state=0)
    learners = {
        "tree": (DecisionTreeClassifier(random_state=0), None),
        "bayes": (GaussianNB(), None),
    }
    objective = ModelTypeObjective(learners, X, y, representation="mask", filters=["auc"], cv=2)
    study = objective.create_study(sampler=Sampler())
    study.optimize(objective, n_trials=14)
    assert all(trial.state == TrialState.COMPLETE for trial in study.trials)
    assert {note["operator"] for note in notes(study)[8:]} <= OF_SETS
