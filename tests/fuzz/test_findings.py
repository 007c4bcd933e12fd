"""What fuzzing has found, each as a test that does not depend on the drawn cases."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest

import optuna_mofs
from optuna_mofs import (
    LexicographicPreference,
    features,
    fronts,
    pareto_front,
    spaces,
    stability,
    statistics,
    visualization,
)
from optuna_mofs.columns import ColumnSelector, NamedColumns
from optuna_mofs.filters import FilterEnsemble, detect_task, get_filter, rank_scores
from optuna_mofs.fronts import hypervolume, hypervolume_table
from optuna_mofs.learners import KernelKNeighborsClassifier, KernelKNeighborsRegressor


def _study() -> optuna.Study:
    study = optuna.create_study(
        directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
    )
    study.add_trial(optuna.trial.create_trial(values=[0.5, 0.5]))
    return study


TEXTS = pd.DataFrame({"city": ["Rome", "Oslo"]})
FINDINGS: list[tuple[Callable[[], Any], str]] = [
    (lambda: statistics.friedman([]), "ranks must hold rows of numbers"),
    (lambda: statistics.friedman([[1.0, 2.0]]), "at least two rows and two columns, got 1 × 2"),
    (lambda: statistics.holm([["a"]]), "p_values must be numbers"),
    (lambda: statistics.critical_difference("a", 3), "n_methods must be an integer"),
    (lambda: statistics.nemenyi([1.0, 2.0], 0), "n_blocks must be an integer of at least 1"),
    (lambda: hypervolume([None, []], 1.0), "points must be numbers"),
    (lambda: rank_scores([[1.0], [2.0, 3.0]]), "scores must be numbers"),
    (lambda: detect_task([[1.0], [2.0, 3.0]]), "as many values in each row"),
    (lambda: FilterEnsemble(["auc"]).fit([[0], [1]], [0, 1]).aggregate("a"), "weights must be"),
    (lambda: ColumnSelector("a").fit([[1.0]]), "list of positions"),
    (lambda: NamedColumns(["city"], text_columns=["city"], as_frame=False).transform(TEXTS),
     "'city' holds text, which needs as_frame=True"),
    (lambda: spaces.get_learner("svm", None), "task must be one of"),
    (lambda: pareto_front(_study(), by=[]), "by must be of type str"),
    (lambda: pareto_front(_study()).hypervolume(["a", 1]), "reference must be numbers"),
    (lambda: LexicographicPreference([{}]), "priorities must be a sequence of metrics"),
    (lambda: optuna_mofs.LexicographicStoppingCallback([]), "must be of type LexicographicPref"),
    (lambda: hypervolume_table({"a": None}), "a list of studies for method 'a', got None"),
    (lambda: visualization.plot_attainment(None), "Expected a study"),
    (lambda: visualization.plot_attainment(_study(), levels=0.5), "levels must hold one number"),
    (lambda: visualization.plot_hypervolume(_study(), spread="a"), "spread must be numbers"),
    (lambda: visualization.plot_hypervolume(_study(), spread=[0.5, None]), "two quantiles"),
    (lambda: pareto_front(_study()).best(value_0=[]), "value_0 must hold a number"),
    (lambda: pareto_front(_study()).best(max_features="a"), "max_features must be numbers"),
    (lambda: pareto_front(_study()).lexicographic(priorities=1.0), "priorities must be a seq"),
    (lambda: pareto_front(_study()).lexicographic(goals=["a", 1]), "A goal must be a number"),
    (lambda: pareto_front(_study()).hypervolume([1, [1, 2], {}]), "one value for each of"),
    (lambda: fronts.one_standard_error_index({}, [], []), "errors must be numbers"),
    (lambda: fronts.optimal_rows([0.1, 0.2], [1], 0.0), "one loss and one size per set"),
    (lambda: fronts.pareto_rank([[1, 2]], [0, 0]), "one violation for each of the 1 points"),
    (lambda: fronts.similarities([]), "masks must hold rows of numbers"),
    (lambda: fronts.attainment_surfaces(None), "runs must be a list"),
    (lambda: stability.nogueira_stability([["a"]]), "masks must be numbers"),
    (lambda: stability.nogueira_stability([[2, 0], [1, 0]]), "masks must hold 1 for selected"),
    (lambda: features.group_columns(None, None), "column_names must be a list of strings"),
    (lambda: features.group_columns(["a"], ["a"]), "must be a dict from the name of a group"),
    (lambda: features.group_columns(["a"], {"g": 3}), "Feature group 'g' must be a list"),
    (lambda: features.get_representation({"kind": "mask", "from": 1}), "has no option 'from'"),
    (lambda: optuna_mofs.feature_table([[0], [1]], [0, 1], expected_n_features=[]),
     "expected_n_features must be a number"),
    (lambda: detect_task(["a", {"b": 1}]), r"y mixes strings with other labels: \['a', {"),
    (lambda: KernelKNeighborsRegressor().fit([[0.0], [1.0]], ["a", "b"]), "y must be numbers"),
    (lambda: KernelKNeighborsClassifier().fit([[0.0], [1.0]], np.array(["a", 0], dtype=object)),
     "y mixes strings"),
    (lambda: get_filter("random_forest")([[0], [1]], [0, 1], n_jobs=0), "n_jobs must be an int"),
    (lambda: get_filter("mutual_information")(
        np.arange(90.0)[:, None], np.arange(90), task="classification"),
     "needs a class with at least two rows"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "message"), FINDINGS)
def test_the_error_names_value_and_remedy(run: Callable[[], Any], message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        run()


@pytest.mark.parametrize("name", [n for n in optuna_mofs.__all__ if n.endswith("Sampler")])
def test_settings_of_a_sampler_have_their_type(name: str) -> None:
    with pytest.raises(ValueError, match=r"settings must be of type \w+Settings, got \[\]"):
        getattr(optuna_mofs, name)(settings=[])


@pytest.mark.parametrize("stored", [[0.5], 3, "0.5", {"fit_time": "long"}])
def test_attributes_of_something_else_do_not_stop_a_sampler(stored: Any) -> None:
    study = _study()
    attrs = {"fold_scores": stored, "duplicate_of": stored, "warm_start": stored}
    for number in range(6):
        study.add_trial(optuna.trial.create_trial(values=[number, -number], user_attrs=attrs))
    study.sampler = optuna_mofs.ParEGOSampler(seed=0, n_startup_trials=2)
    study.optimize(lambda trial: (trial.suggest_float("x", 0, 1), 0.0), n_trials=2)
    assert np.isfinite(pareto_front(study).values).all()
    visualization.plot_front(study)
