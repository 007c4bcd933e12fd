from __future__ import annotations

import inspect
import time
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock

import moocore
import numpy as np
import optuna
import pandas as pd
import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import Trial, create_trial
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from optuna_mofs import (
    FeatureSelectionObjective,
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    ModelTypeObjective,
    ParEGOSampler,
    SMSEGOSampler,
    suggest_features,
)
from optuna_mofs._optuna import frozen_attr
from optuna_mofs.cli._settings import Settings, make_sampler
from optuna_mofs.features import Representation
from optuna_mofs.history._search_space import ConditionalParameters, SearchSpace
from optuna_mofs.samplers import Proposal, ProposalContext, _infill
from optuna_mofs.samplers._candidates import Candidates, best_new_candidate
from optuna_mofs.samplers._gaussian_process import OrdinaryKriging
from optuna_mofs.samplers._infill import best_candidate, fit_surrogate
from optuna_mofs.samplers.model_based import (
    InfillSearch,
    ModelBasedSettings,
    _sampler,
)
from optuna_mofs.study._description import MeasureDescription, StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, suggest_mask
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.testing.problems import PROBLEMS, make_study

BOTH = [ParEGOSampler, SMSEGOSampler]
FAST = ModelBasedSettings(infill_search=InfillSearch(n_points=60, n_neighbors=15))


@pytest.fixture(autouse=True)
def _quiet() -> None:
    optuna.logging.set_verbosity(optuna.logging.ERROR)


def notes(study: optuna.Study) -> list[dict[str, Any]]:
    return [frozen_attr(trial, NOTE) or {} for trial in study.trials]


def plane(trial: Trial) -> tuple[float, float]:
    x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
    off = 4 * (y - 0.8) ** 2
    return x + off, (1 - np.sqrt(x)) + off


@pytest.mark.parametrize("sampler", BOTH)
def test_far_better_than_chance(sampler: Any) -> None:
    volumes = {}
    for name, made in (("ours", sampler(seed=1, settings=FAST)), ("random", None)):
        sampling = made or optuna.samplers.RandomSampler(seed=1)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampling)
        study.optimize(plane, n_trials=30)
        values = np.array([trial.values for trial in study.trials])
        volumes[name] = moocore.hypervolume(values, ref=[1.5, 1.5])
    best = 1.5 * 1.5 - 1 / 3  # all but the area below 1 - sqrt(x)
    assert best - volumes["ours"] < 0.6 * (best - volumes["random"])


@pytest.mark.parametrize("sampler", BOTH)
def test_one_objective(sampler: Any) -> None:
    study = optuna.create_study(sampler=sampler(seed=0, settings=FAST))
    study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 2) ** 2, n_trials=18)
    assert study.best_value < 1e-2


def test_the_start_is_one_latin_hypercube() -> None:
    study = optuna.create_study(sampler=ParEGOSampler(seed=3, n_startup_trials=10))
    for _ in range(10):
        study.enqueue_trial({}, skip_if_exists=False)

    def objective(trial: Trial) -> float:
        return trial.suggest_float("x", 0, 1) + trial.suggest_float("y", 0, 1)

    study.optimize(objective, n_trials=10)
    # Trial 0 met an unknown space; the others have a slice each.
    slices = [int(t.params["x"] * 10) for t in study.trials[1:]]
    assert len(set(slices)) == 9


@pytest.mark.parametrize("sampler", BOTH)
def test_only_active_parameters_are_proposed(sampler: Any) -> None:
    proposed = []

    class Recording(sampler):  # type: ignore[misc]
        def propose(self, ctx: ProposalContext) -> Proposal:
            made = super().propose(ctx)
            proposed.append(ctx.history.space.decode(made.row))
            return made

    study = make_study("conditional", sampler=Recording(seed=0, settings=FAST, n_startup_trials=8))
    study.optimize(PROBLEMS["conditional"], n_trials=14)
    wanted = {"line": {"branch", "slope"}, "curve": {"branch", "power", "width"}}
    for params in proposed[-6:]:
        assert set(params) == wanted[params["branch"]]


def test_running_trials_have_weights_apart() -> None:
    study = make_study("mixed", sampler=ParEGOSampler(seed=0, settings=FAST, n_startup_trials=8))
    study.optimize(PROBLEMS["mixed"], n_trials=9)
    trials = [study.ask() for _ in range(4)]
    for trial in trials:
        trial.suggest_float("x", -3, 3)
    firsts = sorted(n["objective_weights"][0] for n in notes(study)[-4:])
    assert np.diff(firsts).min() > 0.1


def test_running_trials_count_as_part_of_the_front() -> None:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=SMSEGOSampler(seed=0, n_startup_trials=8)
    )
    study.optimize(plane, n_trials=12)
    trials = [study.ask() for _ in range(3)]
    found = np.array([[t.suggest_float("x", 0, 1), t.suggest_float("y", 0, 1)] for t in trials])
    expected = np.array([n["expected"] for n in notes(study)[-3:]])
    apart = np.abs(found[:, None] - found).max(axis=2)[~np.eye(3, dtype=bool)]
    assert apart.min() > 0.02
    assert np.abs(expected[:, None] - expected).max(axis=2)[~np.eye(3, dtype=bool)].min() > 0.01


@pytest.mark.parametrize("sampler", BOTH)
def test_parallel_workers_with_one_objective_have_different_kappas(sampler: Any) -> None:
    study = optuna.create_study(sampler=sampler(seed=0, n_startup_trials=6, settings=FAST))
    study.optimize(lambda t: (t.suggest_float("x", -5, 5) - 2) ** 2, n_trials=8)
    alone = notes(study)[-1]["kappa"]
    assert alone == 0.25
    for _ in range(4):
        study.ask().suggest_float("x", -5, 5)
    weights = sorted(n["kappa"] / alone for n in notes(study)[-3:])
    assert np.diff(weights).min() > 0.1


@pytest.mark.parametrize("sampler", BOTH)
def test_own_regressor_and_acquisition(sampler: Any) -> None:
    options: dict[str, Any] = {"surrogate": RandomForestRegressor(5), "settings": FAST}
    if sampler is ParEGOSampler:
        options["acquisition"] = lambda mean, sd, best: mean - sd
    study = make_study("mixed", sampler=sampler(seed=0, n_startup_trials=6, **options))
    study.optimize(PROBLEMS["mixed"], n_trials=9)
    assert {n.get("operator") for n in notes(study)[6:]} <= {"focus", "local"}


def test_what_adds_nothing_to_the_front_comes_last() -> None:
    def cliff(trial: Trial) -> tuple[float, float]:
        x, y = trial.suggest_float("x", 0, 1), trial.suggest_float("y", 0, 1)
        t = 2 * x - 1
        # Half of the space has the value of one end of the front.
        return (1.0, 0.0) if t < 0 else (t**2 + (y - 0.3) ** 2, (1 - t) ** 2)

    on_plateau = {}
    for target in ("objectives", "scalarized"):
        settings = replace(FAST, surrogate_target=target, explore_larger_sets=False)
        sampler = ParEGOSampler(seed=2, settings=settings)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.optimize(cliff, n_trials=40)
        on_plateau[target] = sum(trial.values == [1.0, 0.0] for trial in study.trials[8:])
    assert on_plateau["objectives"] < 3 < on_plateau["scalarized"]


@pytest.mark.parametrize(
    ("violations", "expected"),
    [([0, 0, 0], [[0, 0]]), ([1, 0, 0], [[1, 1]]), ([1, 2, 3], [[0, 0]])],
)
def test_only_feasible_trials_are_on_the_front_if_there_are_any(
    violations: list[float], expected: list[list[float]]
) -> None:
    bounds = np.column_stack([np.arange(3.0), np.arange(3.0)])
    history = MagicMock(**{"running_notes.return_value": []})
    data = MagicMock(violations=np.array(violations), is_plain=False)
    surrogates = MagicMock(**{"lower_bounds.return_value": bounds})
    front, _ = ParEGOSampler(seed=0)._front(MagicMock(history=history), data, surrogates)
    assert front.tolist() == expected


@pytest.mark.parametrize(("kappa", "expected"), [(None, 2.0), (0.7, 0.7)])
def test_kappa_of_a_scalarized_target(kappa: float | None, expected: float) -> None:
    settings = replace(FAST, surrogate_target="scalarized")
    sampler = ParEGOSampler(seed=0, n_startup_trials=6, kappa=kappa, settings=settings)
    study = make_study("mixed", sampler=sampler)
    study.optimize(PROBLEMS["mixed"], n_trials=7)
    assert notes(study)[-1]["kappa"] == expected


@pytest.mark.parametrize(
    ("features", "options", "expected"),
    [
        (None, {}, 0.25),
        ("filter_ensemble", {}, 1.0),
        ("mask", {}, 1.0),
        # A forest sees no sets.
        ("mask", {"surrogate": "forest"}, 0.25),
        ("mask", {"kappa": 0.7}, 0.7),
    ],
)
def test_among_feature_sets_uncertainty_attracts_more(
    features: str | None, options: dict[str, Any], expected: float
) -> None:
    X, y = make_classification(60, 8, random_state=0)
    space = {"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)}
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, space=space, representation=features, measures=["error"], cv=2
    )
    study = objective.create_study(
        sampler=ParEGOSampler(seed=0, n_startup_trials=6, settings=FAST, **options)
    )
    study.optimize(objective, n_trials=8)
    assert notes(study)[-1]["kappa"] == expected


def test_expected_improvement_runs() -> None:
    study = make_study(
        "three", sampler=ParEGOSampler(seed=0, acquisition="ei", n_startup_trials=6)
    )
    study.optimize(PROBLEMS["three"], n_trials=9)
    assert len(notes(study)[-1]["objective_weights"]) == 3


def test_few_features_have_as_much_room_as_many() -> None:
    X, y = make_classification(80, 63, n_informative=4, random_state=0)
    for features in ("filter_ensemble", "single_filter"):
        objective = FeatureSelectionObjective(
            GaussianNB(), X, y, representation=features, filters=["auc", "anova_f"], cv=2
        )
        study = objective.create_study(
            sampler=ParEGOSampler(seed=0, n_startup_trials=20, settings=FAST)
        )
        study.optimize(objective, n_trials=24)
        fractions = np.array([t.params["fraction"] for t in study.trials[1:20]])
        # Half of the scale from 0.4 to 63 features are those of up to 5.
        assert 0.3 < (fractions < 5 / 63).mean() < 0.7
        assert fractions.max() > 0.5
        assert {n["operator"] for n in notes(study)[20:]} <= {"focus", "local"}


@pytest.mark.parametrize(("measures", "empty"), [(["error", "fraction"], 1), (["error"], 0)])
def test_the_start_has_the_empty_set_once(measures: list[str], empty: int) -> None:
    X, y = make_classification(60, 12, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        representation="filter_ensemble",
        filters=["auc"],
        cv=2,
        measures=measures,
    )
    study = objective.create_study(sampler=ParEGOSampler(seed=0, n_startup_trials=8))
    study.optimize(objective, n_trials=8)
    fractions = np.array([t.params["fraction"] for t in study.trials])
    assert np.isclose(fractions, 0.4 / 12).sum() == empty
    if empty:
        sizes = [t.user_attrs["n_features"] for t in study.trials]
        assert sizes[int(fractions.argmin())] == 0


def test_two_of_three_trials_of_the_start_are_near_the_defaults() -> None:
    X, y = make_classification(60, 12, random_state=0)
    objective = FeatureSelectionObjective(
        make_pipeline(StandardScaler(), SVC()),
        X,
        y,
        space={
            "svc__C": FloatDistribution(1e-6, 1e6, log=True),
            "svc__gamma": FloatDistribution(1e-6, 1e6, log=True),
            "svc__kernel": CategoricalDistribution(("rbf", "linear", "poly")),
        },
        representation=FilterEnsembleFeatures(ranks="all"),
        filters=["auc"],
        cv=2,
    )
    study = objective.create_study(sampler=ParEGOSampler(seed=0, n_startup_trials=24))
    study.optimize(objective, n_trials=24)
    params = pd.DataFrame([trial.params for trial in study.trials])
    sizes = np.array([trial.user_attrs["n_features"] for trial in study.trials])
    near = np.arange(24) % 3 > 0
    assert set(params["svc__kernel"][near]) == {"rbf"}
    assert len(set(params["svc__kernel"][~near])) == 3
    for away in (params["svc__C"], params["svc__gamma"] * np.maximum(1, sizes)):
        orders = np.abs(np.log10(away))
        assert orders[near].mean() < 1.5 < 2 < orders[~near].mean()


def test_a_start_near_the_defaults_leaves_inactive_parameters_out() -> None:
    X, y = make_classification(60, 6, random_state=0)
    wide = FloatDistribution(1e-6, 1e6, log=True)
    objective = ModelTypeObjective(
        {"svm": (SVC(), {"C": wide}), "line": (LogisticRegression(), {"C": wide})},
        X,
        y,
        representation="filter_ensemble",
        filters=["auc"],
        cv=2,
    )
    sampler = ParEGOSampler(seed=0, n_startup_trials=9)
    study = objective.create_study(sampler=sampler)
    study.optimize(objective, n_trials=9)
    for trial in study.trials:
        own = trial.params["learner"] + "__C"
        assert {name for name in trial.params if name.endswith("__C")} == {own}
        if trial.number % 3:
            assert abs(np.log10(trial.params[own])) < 4


@pytest.mark.parametrize("seed", [2, 5])
def test_trials_of_another_objective_without_a_rule(seed: int) -> None:
    # Such as those of an earlier version: a fraction then looks like a conditional parameter.
    table = FeatureTable(tuple("abcdef"), filters=("one",), ranks=np.linspace(0, 1, 6)[None])
    bound = FilterEnsembleFeatures(ranks="all", redundancy_penalty=False).bind(table)
    space = {"kind": CategoricalDistribution(("k", "l")), "C": FloatDistribution(0, 1)}
    study = optuna.create_study(directions=["minimize"] * 2, sampler=ParEGOSampler(seed=seed))
    measures = (MeasureDescription("error"), MeasureDescription("fraction"))
    StudyDescription(table, bound, space, measures).write(study)
    params = {"kind": "k", "C": 0.5}
    for _ in range(3):
        study.add_trial(create_trial(params=params, distributions=space, values=[1.0, 1.0]))

    def objective(trial: Trial) -> tuple[float, float]:
        mask, _ = suggest_mask(trial, bound)
        trial.suggest_categorical("kind", ("k", "l"))
        return trial.suggest_float("C", 0, 1), float(mask.mean())

    study.optimize(objective, n_trials=4)
    assert all("fraction" in trial.params for trial in study.trials[3:])


@pytest.mark.parametrize("sampler", BOTH)
def test_masks_of_any_size(sampler: Any) -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 3000)
        return 1 - mask[:5].mean(), float(mask.mean())

    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=sampler(seed=0, n_startup_trials=6)
    )
    study.optimize(objective, n_trials=9)
    assert all(n["parents"] for n in notes(study)[7:])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_startup_trials": 0}, "n_startup_trials must be an integer of at least 1, got 0"),
        ({"n_trials": -3}, "n_trials must be an integer of at least 1, got -3"),
        ({"kappa": -1.0}, "kappa must be a number of at least 0, got -1.0"),
        ({"surrogate": "svm"}, "surrogate must be one of .*, got 'svm'"),
        ({"acquisition": "pi"}, "acquisition must be one of 'lcb', 'ei', got 'pi'"),
    ],
)
def test_invalid_arguments_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ParEGOSampler(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"surrogate_target": "weights"}, "surrogate_target must be one of .*, got 'weights'"),
        ({"rho": -0.1}, "rho must be a number of at least 0, got -0.1"),
    ],
)
def test_invalid_settings_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ModelBasedSettings(**options)


def test_hypervolume_gains_have_no_scalarized_target() -> None:
    with pytest.raises(
        ValueError, match="surrogate_target must be one of 'objectives', got 'scalarized'"
    ):
        SMSEGOSampler(settings=ModelBasedSettings(surrogate_target="scalarized"))


@pytest.mark.parametrize("sampler", BOTH)
def test_the_planned_number_of_trials_is_an_explicit_argument(sampler: Any) -> None:
    # The command line passes its budget to samplers whose signature has `n_trials`.
    assert "n_trials" in inspect.signature(sampler).parameters
    assert (
        make_sampler(
            Settings(sampler=sampler.__name__.removesuffix("Sampler").lower(), n_trials=7),
            n_existing=0,
        ).n_trials
        == 7
    )


def test_the_papers_algorithms() -> None:
    parego, smsego = ParEGOSampler.from_paper(seed=1), SMSEGOSampler.from_paper(seed=1)
    assert parego.settings.surrogate_target == "scalarized"
    assert smsego.settings.surrogate_target == "objectives"
    for sampler in (parego, smsego):
        settings, search = sampler.settings, sampler.settings.infill_search
        assert sampler.surrogate == "paper_forest"
        assert not settings.explore_larger_sets
        assert settings.plain_start
        assert settings.plain_training
        assert (search.n_restarts, search.n_rounds, search.n_points) == (3, 3, 1000)
        assert search.step_sizes == ()
    mixed = ParEGOSampler.from_paper("mixed").settings
    assert [s.batch_size for s in (parego.settings, mixed, smsego.settings)] == [15, 4, 1]
    assert [s.startup_factor for s in (parego.settings, mixed, smsego.settings)] == [4, 10, 10]
    with pytest.raises(ValueError, match="variant must be one of"):
        SMSEGOSampler.from_paper("BO-MO-FE")


# ---- the papers' algorithms against transcriptions ----------------------------------------------


class Plane:
    """A surrogate that both sides can compute: least squares, and a fixed standard deviation."""

    def fit(self, X: Any, y: Any) -> Plane:
        self.slopes = np.linalg.lstsq(np.c_[X, np.ones(len(X))], y, rcond=None)[0]
        return self

    def predict(self, X: Any) -> tuple[Any, Any]:
        return np.c_[X, np.ones(len(X))] @ self.slopes, 0.01 + 0.1 * X[:, 0]


def mixed_objective(trial: Trial) -> tuple[float, float]:
    kind = trial.suggest_categorical("kind", ["linear", "tree"])
    x = trial.suggest_float("x", 0.5, 4)
    if kind == "linear":
        return x + trial.suggest_float("C", 0, 1), 10 * x
    return 5 - x, 10 * x - trial.suggest_int("depth", 1, 9)


def captured_acquisitions(
    sampler: Any, objective: Any, n_trials: int, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[ProposalContext, Any, Any]]:
    """The context, training data and acquisition function of each model-based trial."""
    found = []

    def watched(ctx: ProposalContext, data: Any, acquisition: Any, search: Any) -> Any:
        found.append((ctx, data, acquisition))
        return best_candidate(ctx, data, acquisition, search)

    monkeypatch.setattr(_sampler, "best_candidate", watched)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=n_trials)
    return found


def literal_inputs(history: Any, rows: Any, n: int) -> Any:
    """Section II b of Horn and Bischl (2016): numbers out of range, categories with a level."""
    columns = []
    for j in range(rows.shape[1]):
        known, column = history.rows[:n, j], rows[:, j]
        if history.space.categorical[j]:
            columns.append(column == 1)
            continue
        low, high = np.nanmin(known), np.nanmax(known)
        columns.append(np.where(np.isnan(column), high + 2 * (high - low), column))
    numbers = [c for c, is_category in zip(columns, history.space.categorical) if not is_category]
    categories = [c for c, is_category in zip(columns, history.space.categorical) if is_category]
    return np.column_stack(numbers + categories).astype(float)


def test_parego_of_the_papers_is_its_transcription(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = ParEGOSampler.from_paper(
        "mixed", n_startup_trials=12, surrogate=Plane, batch_size=4, seed=3
    )
    found = captured_acquisitions(sampler, mixed_objective, 22, monkeypatch)
    weights = [acquisition.note.objective_weights for _, _, acquisition in found]
    assert len(set(weights)) == len(weights) == 10
    for ctx, data, acquisition in found:
        n = 12 + (ctx.trial_number - 12) // 4 * 4  # the trials before its batch
        history = ctx.history
        Y = history.values[:n]
        scaled = (Y - Y.min(axis=0)) / (Y.max(axis=0) - Y.min(axis=0))
        w = np.array(acquisition.note.objective_weights)
        y = (w * scaled).max(axis=1) + 0.05 * (w * scaled).sum(axis=1)
        model = Plane().fit(literal_inputs(history, history.rows[:n], n), y)
        rows = history.rows
        mean, sd = model.predict(literal_inputs(history, rows, n))
        lower = mean - 2 * sd  # a mixed space
        candidates = Candidates(rows, np.full((len(rows), 1), -1), np.full(len(rows), ""))
        values = acquisition.values(data.encode(candidates))
        np.testing.assert_allclose(values, lower, atol=2e-5)


def test_smsego_of_the_paper_is_its_transcription(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = SMSEGOSampler.from_paper(n_startup_trials=10, surrogate=Plane, n_trials=16, seed=3)
    for ctx, data, acquisition in captured_acquisitions(sampler, mixed_objective, 16, monkeypatch):
        history, n = ctx.history, ctx.trial_number  # the history has grown since
        Y, rows = history.values[:n], history.rows[:n]
        X = literal_inputs(history, rows, n)
        lower = np.empty((n, 2))
        for j in range(2):
            mean, sd = Plane().fit(X, Y[:, j]).predict(X)
            lower[:, j] = mean - 2 * sd
        front = [y for y in Y if not any((z <= y).all() and (z < y).any() for z in Y)]
        front = np.unique(front, axis=0)
        reference = Y.max(axis=0) + 1
        spread = front.max(axis=0) - front.min(axis=0)
        epsilon = spread / (len(front) + 0.75 * (16 - n))
        expected = []
        for point in lower:
            depth = [
                np.prod(1 + np.maximum(point - f, 0)) - 1
                for f in front
                if (f <= point + epsilon).all()
            ]
            if depth:
                expected.append(max([*depth, 1e-9]))
            else:
                before = moocore.hypervolume(front, ref=reference)
                after = moocore.hypervolume(np.vstack([front, point]), ref=reference)
                expected.append(before - after)
        candidates = Candidates(rows, np.full((n, 1), -1), np.full(n, ""))
        values = acquisition.values(data.encode(candidates))
        np.testing.assert_allclose(values, expected, atol=2e-5)


@pytest.mark.parametrize(("objective", "kappa"), [(plane, 1.0), (mixed_objective, 2.0)])
def test_kappa_of_the_papers_is_1_on_numbers_and_2_on_mixed_spaces(
    objective: Any, kappa: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in (ParEGOSampler, SMSEGOSampler):
        sampler = kind.from_paper("mixed", n_startup_trials=6, surrogate=Plane, seed=0)
        for _, _, acquisition in captured_acquisitions(sampler, objective, 8, monkeypatch):
            assert acquisition.note.kappa == kappa


def test_the_papers_gaussian_process_has_a_small_nugget(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []

    def recorded(**options: Any) -> OrdinaryKriging:
        used.append(options)
        return OrdinaryKriging(**options)

    monkeypatch.setattr(_infill, "OrdinaryKriging", recorded)
    sampler = SMSEGOSampler.from_paper(surrogate="gaussian_process", n_startup_trials=6, seed=0)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(plane, n_trials=7)
    assert used == [{"scales": None, "plain": True}] * 2


def test_the_papers_initial_designs_have_4_trials_per_parameter_or_10_per_number() -> None:
    for variant, count in (("BO-MO-FE", 16), ("mixed", 30)):
        sampler = ParEGOSampler.from_paper(variant, surrogate=Plane, seed=0)
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        StudyDescription(
            space={
                "kind": CategoricalDistribution(["linear", "tree"]),
                "x": FloatDistribution(0.5, 4),
                "C": FloatDistribution(0, 1),
                "depth": IntDistribution(1, 9),
            }
        ).write(study)
        study.optimize(mixed_objective, n_trials=count + 1)
        # Of BO-MO-FE, four parameters; of the mixed space, three numbers.
        operators = [trial.user_attrs["operator"] for trial in study.trials]
        assert operators[:count] == ["initial_design"] * count
        assert operators[count] == "focus"


def test_trials_of_a_batch_learn_from_the_same_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    sampler = ParEGOSampler.from_paper(n_startup_trials=5, surrogate=Plane, batch_size=3, seed=0)
    found = captured_acquisitions(sampler, plane, 14, monkeypatch)
    assert [len(data.positions) for _, data, _ in found] == [5] * 3 + [8] * 3 + [11] * 3


def test_the_number_of_features_is_modeled_as_in_the_papers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    X, y = make_classification(40, 8, random_state=0)
    objective = FeatureSelectionObjective(
        GaussianNB(), X, y, representation=FilterEnsembleFeatures.from_paper(), cv=2
    )
    seen = []
    fit = ParEGOSampler.fit_acquisition

    def watched(self: Any, ctx: ProposalContext, data: Any) -> Any:
        seen.append((data.modeled, data.is_plain))
        return fit(self, ctx, data)

    monkeypatch.setattr(ParEGOSampler, "fit_acquisition", watched)
    sampler = ParEGOSampler.from_paper(n_startup_trials=8, surrogate=Plane, seed=0)
    objective.create_study(sampler=sampler).optimize(objective, n_trials=11)
    assert seen == [([0, 1], True)] * 3


def test_focus_search_is_algorithm_2() -> None:
    space = SearchSpace(
        {
            "x": FloatDistribution(0, 1),
            "k": CategoricalDistribution([*"abcd"]),
            "z": FloatDistribution(0, 1),
        }
    )
    conditional = ConditionalParameters(space, space.sample(np.random.default_rng(0), 5), {})

    def g(rows: Any) -> Any:
        return (rows[:, 0] - 0.3) ** 2 + (rows[:, 2] - rows[:, 0]) ** 2 + 0.1 * (rows[:, 1] != 2)

    search = InfillSearch(n_restarts=1, n_rounds=4, n_points=30, step_sizes=())
    starts = Candidates(space.sample(np.random.default_rng(1)), np.array([[-1]]), np.array([""]))
    candidates, values = search(
        np.random.default_rng(7), space, conditional, lambda c: g(c.rows), starts
    )
    # The transcription, with r = (upper - lower) / 4 from the bounds before the step.
    rng = np.random.default_rng(7)
    low, high, choices = np.zeros(3), np.ones(3), [0, 1, 2, 3]
    found = []
    for _ in range(4):
        unit = rng.random((1, 30, 3))[0]
        drawn = low + (high - low) * unit
        drawn[:, 1] = [choices[int(u * len(choices))] for u in unit[:, 1]]
        found.append(drawn)
        best = drawn[g(drawn).argmin()]
        r = (high - low) / 4
        for j in (0, 2):
            low[j], high[j] = max(low[j], best[j] - r[j]), min(high[j], best[j] + r[j])
        if len(choices) > 2:
            others = [c for c in choices if c != int(best[1])]
            choices.remove(others[int(rng.integers(len(others)))])
    np.testing.assert_allclose(candidates.rows, np.concatenate(found))
    assert values.tolist() == g(candidates.rows).tolist()


@pytest.mark.parametrize("sampler", BOTH)
def test_a_trial_fits_its_surrogates_once(sampler: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fits = []

    class Counted(sampler):  # type: ignore[misc]
        def fit_acquisition(self, *args: Any) -> Any:
            fits.append("acquisition")
            return super().fit_acquisition(*args)

    def counted(*args: Any) -> Any:
        fits.append("surrogate")
        return fit_surrogate(*args)

    monkeypatch.setattr(_infill, "fit_surrogate", counted)
    attempts = []

    def known_first(ctx: ProposalContext, *args: Any) -> Any:
        found = best_candidate(ctx, *args)
        attempts.append(len(ctx.history))
        if len(attempts) == 1 and found is not None:
            # The first attempt proposes a configuration that a trial has.
            return Proposal(ctx.history.rows[0], None, found[0].note), found[1]
        return found

    study = make_study("mixed", sampler=Counted(seed=0, n_startup_trials=8, settings=FAST))
    study.optimize(PROBLEMS["mixed"], n_trials=9)
    fits.clear()
    monkeypatch.setattr(_sampler, "best_candidate", known_first)
    study.optimize(PROBLEMS["mixed"], n_trials=1)
    assert len(attempts) == 2
    assert sorted(fits) == ["acquisition", "surrogate", "surrogate"]


@pytest.mark.parametrize("sampler", BOTH)
def test_a_proposal_at_trial_400_is_cheap(sampler: Any) -> None:
    names = [f"x{j}" for j in range(10)]
    distribution = optuna.distributions.FloatDistribution(0, 1)
    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler(seed=0))
    rng = np.random.default_rng(0)
    study.add_trials(
        [
            create_trial(
                params=dict(zip(names, x.tolist())),
                distributions=dict.fromkeys(names, distribution),
                values=[float(x[0]), float(((x - 0.3) ** 2).sum())],
            )
            for x in rng.random((400, 10))
        ]
    )
    spent = []
    for _ in range(4):
        trial = study.ask()
        before = time.thread_time()
        trial.suggest_float("x0", 0, 1)
        spent.append(time.thread_time() - before)
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    # The bar is 0.15 s on an idle core; a busy one may take longer.
    assert min(spent) < 0.4


@pytest.mark.parametrize("features", [FilterEnsembleFeatures(ranks="all"), MaskFeatures()])
@pytest.mark.parametrize("surrogate", ["auto", "forest"])
def test_a_study_does_not_try_the_same_feature_alone_again_and_again(
    features: Representation, surrogate: str
) -> None:
    X, y = make_classification(
        80, 12, n_informative=1, n_redundant=0, n_clusters_per_class=1, random_state=0
    )
    objective = FeatureSelectionObjective(
        GaussianNB(),
        X,
        y,
        representation=features,
        cv=2,
        filters=["auc", "anova_f"],
        space={"var_smoothing": FloatDistribution(1e-9, 1.0, log=True)},
    )
    study = objective.create_study(
        sampler=ParEGOSampler(seed=0, n_startup_trials=8, surrogate=surrogate)
    )
    study.optimize(objective, n_trials=30)
    masks = [selected_mask(study, trial) for trial in study.trials[8:]]
    alone = [mask.tobytes() for mask in masks if mask is not None and mask.sum() == 1]
    assert len(set(alone)) == len(alone)


def test_at_most_100_candidates_per_number_of_features_are_considered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    considered = []

    def recorded(history: Any, candidates: Any, values: np.ndarray, **options: Any) -> Any:
        sizes = candidates.masks.sum(axis=1)[candidates.mask_index]
        for size in np.unique(sizes):
            of_size = values[sizes == size]
            considered.append(np.isfinite(of_size).sum())
            assert considered[-1] == min(len(of_size), 100)
        return best_new_candidate(history, candidates, values, **options)

    monkeypatch.setattr(_infill, "best_new_candidate", recorded)
    study = make_study("packed", sampler=ParEGOSampler(seed=0, n_startup_trials=8))
    study.optimize(PROBLEMS["packed"], n_trials=12)
    assert max(considered) == 100
