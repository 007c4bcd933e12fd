from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import optuna
import pandas as pd
import pytest
from sklearn.datasets import load_wine, make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, pareto_front
from optuna_mofs.cli._diagnostics import (
    Predictions,
    honest_predictions,
    importance,
    load_objective,
    stability,
)
from optuna_mofs.cli._settings import Settings, load_table, make_objective
from tests.cli.tables import write_people
from tests.visualization.helpers import nested_study

BINARY = make_classification(100, 8, n_informative=3, random_state=0)
NUMBERS = make_regression(80, 6, n_informative=3, noise=5, random_state=0)


def searched(
    estimator: Any, X: Any, y: Any, features: str, **options: Any
) -> tuple[FeatureSelectionObjective, optuna.Study]:
    objective = FeatureSelectionObjective(
        estimator, X, y, representation=features, filters=["anova_f"], cv=4, **options
    )
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=8)
    return objective, study


def _titles(found: Predictions) -> list[str]:
    texts = [str(figure.layout.title.text) for figure in found.figures()]
    return [text.partition("</b>")[0].removeprefix("<b>") for text in texts]


def test_every_row_of_the_search_is_predicted_once() -> None:
    objective, study = searched(LogisticRegression(), *BINARY, "filter_ensemble")
    trial = pareto_front(study).pick()
    found = honest_predictions(objective, objective.tested_folds(trial))
    assert found.source == "100 rows of the test folds"
    assert (found.truth != found.predicted).mean() == pytest.approx(trial.values[0])
    assert found.scores is not None
    assert _titles(found) == ["Confusion matrix", "ROC curve"]
    confusion, roc = found.figures()
    assert np.sum(confusion.data[0].text) == 100
    assert f"{trial.values[0]:.1%} of them wrong" in confusion.layout.title.text
    assert (roc.data[1].x[-1], roc.data[1].y[-1]) == (1, 1)


def test_held_out_rows_are_predicted_by_a_model_of_the_others() -> None:
    objective, study = searched(GaussianNB(), *BINARY, "mask")
    front = pareto_front(study)
    found = honest_predictions(objective, objective.tested_folds(front.pick()))
    assert found.source == "20 held-out rows"
    error = float((found.truth != found.predicted).mean())
    assert error == pytest.approx(front.honest().picks["pick"].value)


@pytest.mark.parametrize(
    ("estimator", "data", "titles"),
    [
        (GaussianNB(), load_wine(return_X_y=True), ["Confusion matrix"]),
        (Perceptron(random_state=0), BINARY, ["Confusion matrix", "ROC curve"]),
        (Ridge(), NUMBERS, ["Residuals"]),
    ],
)
def test_figures_by_task(estimator: Any, data: Any, titles: list[str]) -> None:
    objective, study = searched(estimator, *data, "filter_ensemble")
    pick = pareto_front(study).pick()
    found = honest_predictions(objective, objective.tested_folds(pick))
    assert _titles(found) == titles


def test_many_classes_have_no_confusion_matrix() -> None:
    y = np.arange(31)
    assert Predictions("rows", y, y, None, classification=True).figures() == []


def test_residuals_of_many_rows_are_thinned() -> None:
    y = np.arange(5000.0)
    (figure,) = Predictions("rows", y, y - 2.0, None, classification=False).figures()
    assert len(figure.data[0].x) == 2000
    assert set(figure.data[0].y) == {2.0}
    assert "root mean squared error 2" in figure.layout.title.text


def test_stability_over_training_folds() -> None:
    objective, study = searched(LogisticRegression(), *BINARY, "filter_ensemble")
    front = pareto_front(study)
    trial = front.pick()
    found = stability(front, trial, objective)
    assert found is not None
    assert (found.n_sets, found.source) == (4, "training folds")
    masks = np.array(objective.fold_masks_for(trial))
    names = objective.features_for(trial)
    assert set(found.counts) == set(names)
    for name in names:
        assert found.counts[name] == masks[:, objective.table.position[name]].sum()
    assert list(found.counts.values()) == sorted(found.counts.values(), reverse=True)
    assert found.index <= 1.0


def test_stability_over_similar_trials_of_the_front() -> None:
    folds = [[0.5, 0.5], [0.1, 0.4], [0.0, 0.25], [0.0, 0.125], [0.9, 0.9]]
    study = nested_study(sizes=(1, 2, 4, 8), fold_scores=folds)
    front = pareto_front(study)
    found = stability(front, study.trials[2], None)
    # The trials with 2, 4 and 8 features are within one standard error (0.125) of 0.125.
    assert found is not None
    assert found.counts == {"<f0>": 3, "<f1>": 3, "<f2>": 2, "<f3>": 2}
    assert found.source == "trials of the front with about this error"
    assert stability(front, study.trials[0], None) is None, "no other set"


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("a,b\n1,2\n3,4\n")])
def test_data_that_is_gone_or_has_changed(
    change: Callable[[Path], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_people(tmp_path)
    settings = Settings(
        str(path), "risk", drop=["name"], learner="ridge", filters=["anova_f"], cv=3
    )
    objective = make_objective(settings, load_table(settings))
    study = objective.create_study(sampler=optuna.samplers.RandomSampler(seed=0))
    study.optimize(objective, n_trials=2)
    front = pareto_front(study)
    assert load_objective(front, settings) is not None
    assert load_objective(front, None) is None
    frame = pd.read_csv(path)
    frame.assign(dose=1.0).to_csv(path, index=False)
    assert load_objective(front, settings) is None, "other rows"
    change(path)
    assert load_objective(front, settings) is None


@pytest.mark.parametrize("holdout", [None, 0.25])
def test_permuting_what_decides_makes_the_model_worse(holdout: float | None) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    objective, study = searched(
        LogisticRegression(), X, (X[:, 2] > 0).astype(int), "filter_ensemble", holdout=holdout
    )
    trial = next(t for t in study.trials if t.user_attrs.get("n_features") == 4)
    found = importance(objective, trial, objective.tested_folds(trial))
    assert found is not None
    assert next(iter(found.drops)) == "x2"
    assert found.drops["x2"] > 0.3
    assert max(abs(value) for name, value in found.drops.items() if name != "x2") < 0.1
    figure = found.figure()
    assert figure.data[0].x[0] == found.drops["x2"]
    source = "test folds" if holdout is None else "held-out rows"
    assert source in figure.layout.title.text


def test_the_importance_of_very_many_features_is_not_computed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    objective, study = searched(LogisticRegression(), *BINARY, "filter_ensemble")
    trial = max(study.trials, key=lambda trial: trial.user_attrs["n_features"])
    monkeypatch.setattr("optuna_mofs.cli._diagnostics._MAX_PERMUTED", 1)
    assert importance(objective, trial, objective.tested_folds(trial)) is None
