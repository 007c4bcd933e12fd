"""What ``run`` was asked to search, remembered in the study for the other commands."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

from optuna.study import Study

from optuna_mofs._optuna import read_study_attr, write_study_attr

_KEY = "run"


@dataclass(frozen=True)
class Settings:
    """Everything that data and a study need to become a search; JSON values only.

    Attributes:
        data: Absolute path of the file.
        target: Column to predict.
        separator: Of the columns in a text file.
        drop: Columns left out.
        group_column: Column that says which rows belong together.
        weight_column: Column with the weight of each row.
        task: ``"auto"``, ``"classification"`` or ``"regression"``.
        learner: Name of a ready learner.
        early_stopping: For boosting.
        scoring: Name of a scorer.
        folds: Of the cross-validation.
        fold_seed: Seed of folds, filters and estimator.
        features: How a feature set is suggested; ``"all"`` for no selection.
        filters: Names; None for the default ones.
        measures: Names; None for the default ones.
        fixed: Features that are always in.
        costs: Cost by feature.
        sampler: Name of a sampler.
        seed: Of the sampler.
        budget: Trials that the search was planned for.
        priorities: Of metrics, for samplers that go by them.
        tolerances: By metric.
        goals: By metric.
    """

    data: str = ""
    target: str = ""
    separator: str | None = None
    drop: list[str] = field(default_factory=list)
    group_column: str | None = None
    weight_column: str | None = None
    task: str = "auto"
    learner: str = "svm"
    early_stopping: bool = False
    scoring: str | None = None
    folds: int = 5
    fold_seed: int = 0
    features: str = "mask"
    filters: list[str] | None = None
    measures: list[str] | None = None
    fixed: list[str] = field(default_factory=list)
    costs: dict[str, float] = field(default_factory=dict)
    sampler: str = "nsga2"
    seed: int = 0
    budget: int | None = None
    priorities: list[str] | None = None
    tolerances: dict[str, float | str] | None = None
    goals: dict[str, float] | None = None

    @classmethod
    def recall(cls, study: Study) -> Settings | None:
        """What a study remembers, or None if it was not made by ``run``."""
        found: Mapping[str, Any] | None = read_study_attr(study, _KEY)
        if found is None:
            return None
        # A study of a later version may know more.
        known = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in found.items() if name in known})

    def remember(self, study: Study) -> None:
        """Write into the study what is not there already."""
        now = asdict(self)
        if read_study_attr(study, _KEY) != now:
            write_study_attr(study, _KEY, now)

    def updated(self, arguments: argparse.Namespace) -> Settings:
        """With the values that were given on the command line (absent ones are not there)."""
        names = [entry.name for entry in fields(self)]
        return replace(self, **{n: getattr(arguments, n) for n in names if hasattr(arguments, n)})
