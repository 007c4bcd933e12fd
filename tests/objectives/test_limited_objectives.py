"""Limits of the number of features in objectives and on the command line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from optuna.samplers import RandomSampler
from sklearn.tree import DecisionTreeClassifier

from optuna_mofs import (
    FeatureSelectionObjective,
    FilterEnsembleFeatures,
    FilterEnsembleNSGA2Sampler,
    ModelTypeObjective,
)
from optuna_mofs.cli._main import main

from .wine import DEPTH, TREE, X, Y, objective

GROUPS = {"first": ["x0", "x1"], "second": ["x4", "x5", "x6"]}


@pytest.mark.parametrize("representation", ["mask", "filter_ensemble", "single_filter", "folds"])
def test_every_fold_keeps_the_limits(representation: Any) -> None:
    if representation == "folds":
        representation = FilterEnsembleFeatures(exceptions=1, redundancy_penalty=True)
    found = objective(
        representation=representation,
        feature_groups=GROUPS,
        fixed_features=["second"],
        min_features=2,
        max_features=4,
        space=DEPTH,
    )
    study = found.create_study(sampler=FilterEnsembleNSGA2Sampler(seed=0))
    study.optimize(found, n_trials=25)
    sizes = {trial.user_attrs["n_features"] for trial in study.trials}
    assert sizes == {2, 3, 4}
    for trial in study.trials:
        assert "second" in found.features_for(trial)
        assert len(found.features_for(trial)) == trial.user_attrs["n_features"]
        assert all(2 <= mask.sum() <= 4 for mask in found.fold_masks_for(trial))


def test_a_choice_of_learners_has_limits_too() -> None:
    tree: Any = (DecisionTreeClassifier(max_depth=2), None)
    found = ModelTypeObjective(
        {"tree": tree, "stump": (DecisionTreeClassifier(max_depth=1), None)},
        X,
        Y,
        representation="mask",
        filters=[],
        measures=["error", "n_features"],
        cv=3,
        max_features=2,
    )
    study = found.create_study(sampler=RandomSampler(seed=0))
    study.optimize(found, n_trials=10)
    assert {trial.values[1] for trial in study.trials} <= {0, 1, 2}


def test_impossible_limits_are_refused_before_any_trial() -> None:
    with pytest.raises(ValueError, match="max_features is 1, but 2 features are fixed"):
        objective(max_features=1, fixed_features=["x0", "x1"])
    with pytest.raises(ValueError, match=r"all 13 features are kept \(representation=None\)"):
        FeatureSelectionObjective(TREE, X, Y, representation=None, max_features=5)
    with pytest.raises(ValueError, match="min_features is 14, but there are 13 features"):
        objective(min_features=14)


def test_command_line(tmp_path: Any, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    header = ",".join([*(f"x{j}" for j in range(13)), "kind"])
    np.savetxt("wine.csv", np.column_stack([X, Y]), delimiter=",", header=header, comments="")
    options = ["--learner", "decision_tree", "--cv", "3", "--trials", "6", "--quiet"]
    options += ["--max-features", "3", "--min-features", "2"]
    assert main(["run", "--data", "wine.csv", "--target", "kind", *options]) == 0
    assert main(["front", "--format", "json"]) == 0
    assert main(["run", "--trials", "1", "--max-features", "4"]) == 1
    assert "2 to 3 features in the study, 2 to 4 now" in capsys.readouterr().err
