"""Every sampler keeps the limits of the number of features, in every representation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from optuna.samplers import BaseSampler
from optuna.study import Study
from optuna.trial import Trial

from optuna_mofs import (
    FeatureTable,
    FilterEnsembleFeatures,
    MaskFeatures,
    SingleFilterFeatures,
    enqueue_features,
    selected_mask,
    suggest_features,
)
from optuna_mofs._optuna import write_trial_attrs
from optuna_mofs.features import Representation
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import feature_attrs, suggest_mask
from tests.samplers.golden import SAMPLERS

OWN = ("nsga2", "moead", "lexiflow", "parego", "smsego", "ghga", "ghga_from_paper")
OPTUNA: dict[str, Callable[[], BaseSampler]] = {
    "random": lambda: optuna.samplers.RandomSampler(seed=1),
    "tpe": lambda: optuna.samplers.TPESampler(seed=1),
    "optuna_nsga2": lambda: optuna.samplers.NSGAIISampler(population_size=8, seed=1),
}
REPRESENTATIONS: dict[str, Callable[[], Representation]] = {
    "bits": lambda: MaskFeatures(form="bits"),
    "packed": lambda: MaskFeatures(form="packed"),
    "rule": lambda: FilterEnsembleFeatures(ranks="all", redundancy_penalty=False, exceptions=2),
    "single": lambda: SingleFilterFeatures(ranks="all"),
}
FIXED = (3, 8)


def make_table(p: int, low: int = 0, high: int | None = None) -> FeatureTable:
    """Return features of two columns each, of which two are fixed, ranked by two filters."""
    place = np.arange(p)[::-1] / (p - 1)
    return FeatureTable(
        names=tuple(f"f{j}" for j in range(p)),
        columns=tuple((2 * j, 2 * j + 1) for j in range(p)),
        fixed=FIXED,
        filters=("first", "second"),
        ranks=np.array([place, place[::-1]]),
        min_features=low,
        max_features=high,
    )


def run(sampler: BaseSampler, table: FeatureTable, chosen: Representation, n: int) -> Study:
    useful = np.arange(len(table)) % 7 == 0

    def objective(trial: Trial) -> tuple[float, float]:
        if StudyDescription.read(trial.study) is None:
            StudyDescription(table, chosen.bind(table)).write(trial.study)
        described = StudyDescription.require(trial.study)
        assert described.representation is not None
        mask, system = suggest_mask(trial, described.representation)
        full = table.full_mask(mask)
        C = trial.suggest_float("C", 0.01, 100, log=True)
        user = feature_attrs(table, full)
        write_trial_attrs(trial.study, trial, system=system, user=user)
        missed = np.count_nonzero(useful & ~full) / np.count_nonzero(useful)
        return float(missed + abs(np.log10(C)) / 10), float(full.mean())

    study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
    study.optimize(objective, n_trials=n)
    return study


def check(study: Study, low: int, high: int) -> None:
    for trial in study.trials:
        full = selected_mask(study, trial)
        assert full is not None
        assert full[list(FIXED)].all()
        assert full.sum() == trial.user_attrs["n_features"]
        assert low <= full.sum() <= high, trial.number


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("sampler", OWN)
def test_no_trial_of_our_samplers_is_beyond_the_limits(sampler: str, representation: str) -> None:
    table = make_table(40, 3, 5)
    study = run(SAMPLERS[sampler](), table, REPRESENTATIONS[representation](), 40)
    check(study, 3, 5)
    assert {trial.user_attrs["n_features"] for trial in study.trials} == {3, 4, 5}
    if representation in ("bits", "packed"):
        # The limits do not make the search repeat itself.
        found = {str(selected_mask(study, trial)) for trial in study.trials}
        assert len(found) >= 20


@pytest.mark.parametrize("representation", ["packed", "rule"])
@pytest.mark.parametrize("sampler", OWN)
def test_with_thousands_of_features(sampler: str, representation: str) -> None:
    study = run(
        SAMPLERS[sampler](), make_table(2_000, 0, 5), REPRESENTATIONS[representation](), 30
    )
    check(study, 2, 5)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@pytest.mark.parametrize("sampler", OPTUNA)
def test_no_trial_of_samplers_of_optuna_is_beyond_the_limits(
    sampler: str, representation: str
) -> None:
    study = run(OPTUNA[sampler](), make_table(40, 3, 5), REPRESENTATIONS[representation](), 30)
    check(study, 3, 5)


@pytest.mark.parametrize("sampler", OWN)
def test_a_small_space_is_searched_to_the_last_set(sampler: str) -> None:
    def objective(trial: Trial) -> tuple[float, float]:
        mask = suggest_features(trial, 6, max_features=1)
        return float(abs(np.flatnonzero(mask).sum() - 4)), float(mask.sum())

    study = optuna.create_study(directions=["minimize"] * 2, sampler=SAMPLERS[sampler]())
    study.optimize(objective, n_trials=7)
    sets = {tuple(trial.params.values()) for trial in study.trials}
    assert len(sets) == 7
    study.optimize(objective, n_trials=2)  # nothing is left, but the study goes on
    assert all(trial.user_attrs["n_features"] <= 1 for trial in study.trials)


@pytest.mark.parametrize("form", ["bits", "packed"])
def test_enqueued_sets_beyond_the_limits_are_refused(form: str) -> None:
    def objective(trial: Trial) -> float:
        return float(suggest_features(trial, 20, max_features=2, form=form).sum())

    study = optuna.create_study(sampler=SAMPLERS["nsga2"]())
    study.optimize(objective, n_trials=1)
    with pytest.raises(ValueError, match=r"enqueued set has 3 features.*allows 0 to 2"):
        enqueue_features(study, ["x1", "x2", "x3"])
    enqueue_features(study, ["x1", "x2"])
    study.optimize(objective, n_trials=1)
    found = selected_mask(study, study.trials[1])
    assert found is not None
    assert np.flatnonzero(found).tolist() == [1, 2]


def test_enqueued_parameters_beyond_the_limits_are_refused() -> None:
    def objective(trial: Trial) -> float:
        return float(suggest_features(trial, 5, max_features=2).sum())

    study = optuna.create_study(sampler=SAMPLERS["nsga2"]())
    study.enqueue_trial({f"x{j}": True for j in range(5)})
    with pytest.raises(ValueError, match="enqueued set has 5 features"):
        study.optimize(objective, n_trials=1)
    # Of a part of the bits, the sampler completes a set within the limits.
    study.enqueue_trial({"x1": True})
    study.optimize(objective, n_trials=1)
    assert study.trials[-1].value <= 2

    def check_rule(params: dict[str, Any]) -> None:
        table = make_table(40, 0, 5)
        rules = optuna.create_study(directions=["minimize"] * 2, sampler=SAMPLERS["nsga2"]())
        rules.enqueue_trial(params)
        chosen = REPRESENTATIONS["rule"]().bind(table)
        StudyDescription(table, chosen).write(rules)
        suggest_mask(rules.ask(), chosen)

    with (
        pytest.warns(UserWarning, match="out of range"),
        pytest.raises(ValueError, match=r"enqueued fraction 0\.9 is not in"),
    ):
        check_rule({"fraction": 0.9})


def test_other_limits_are_another_study() -> None:
    study = optuna.create_study(sampler=SAMPLERS["nsga2"]())
    study.optimize(lambda t: float(suggest_features(t, 9, max_features=2).sum()), n_trials=1)
    with pytest.raises(ValueError, match="0 to 2 features in the study, 1 to 9 now"):
        suggest_features(study.ask(), 9, min_features=1)
    with pytest.raises(ValueError, match="has its own limits"):
        suggest_features(study.ask(), FeatureTable(("a", "b")), max_features=1)
