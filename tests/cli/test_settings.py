from __future__ import annotations

import argparse

import optuna

from optuna_mofs._optuna import write_study_attr
from optuna_mofs.cli.settings import Settings


def test_what_is_remembered_is_recalled() -> None:
    study = optuna.create_study()
    assert Settings.recall(study) is None
    settings = Settings(data="a.csv", costs={f"feature {i}": 2.0 for i in range(5000)})
    settings.remember(study)
    assert Settings.recall(study) == settings


def test_settings_of_a_later_version_are_understood() -> None:
    study = optuna.create_study()
    write_study_attr(study, "run", {"data": "a.csv", "colour": "blue"})
    assert Settings.recall(study) == Settings(data="a.csv")


def test_only_what_is_given_changes() -> None:
    given = argparse.Namespace(learner="knn", seed=7, run=print)
    assert Settings(folds=3).updated(given) == Settings(folds=3, learner="knn", seed=7)
