"""The settings of a run, and the objective and sampler made from them."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from optuna.samplers import BaseSampler, NSGAIISampler, RandomSampler, TPESampler
from optuna.study import Study
from sklearn.model_selection import TimeSeriesSplit

import optuna_mofs
from optuna_mofs import FeatureSelectionObjective, LexicographicPreference
from optuna_mofs._optuna import read_study_attr, write_study_attr
from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._table import Table, read_table
from optuna_mofs.filters import detect_task
from optuna_mofs.spaces import get_learner

_RUN = "run"  # key of the study attribute
#: Up to this many rows, the default learner is a support vector machine.
_MAX_SVM_ROWS = 2000
#: With more rows, it is boosting up to this many columns, else a linear model.
_MAX_BOOSTING_COLUMNS = 1000
#: Values of ``--cv`` besides a number, each with 5 folds.
CROSS_VALIDATIONS = ("time", "group")
_N_NAMED_FOLDS = 5
#: The samplers of this package by name: ``ParEGOSampler`` is called ``parego``.
_OWN_SAMPLERS = {
    name.removeprefix("FilterEnsemble").removesuffix("Sampler").lower(): getattr(optuna_mofs, name)
    for name in optuna_mofs.__all__
    if name.endswith("Sampler")
}
_OPTUNA_SAMPLERS: dict[str, type[BaseSampler]] = {
    "optuna_nsga2": NSGAIISampler,
    "tpe": TPESampler,
    "random": RandomSampler,
}


@dataclass(frozen=True)
class Settings:
    """Everything that defines a search, as JSON values; None means the default."""

    data: str = ""  # absolute path of the file
    target: str = ""
    separator: str | None = None
    decimal: str | None = None
    drop: list[str] = field(default_factory=list)
    group_column: str | None = None
    weight_column: str | None = None
    positive_class: str | None = None
    task: str = "auto"
    learner: str = "auto"  # by the size of the table, see resolve_learner
    early_stopping: bool = False
    scoring: str | None = None
    cv: int | str = 5  # or a name of CROSS_VALIDATIONS
    fold_seed: int = 0  # also of filters and estimator
    holdout: float | str = "auto"  # fraction of the rows; 0 for none
    representation: str = "auto"  # "all" for no selection
    filters: list[str] | None = None
    measures: list[str] | None = None
    fixed_features: list[str] = field(default_factory=list)
    feature_costs: dict[str, float] = field(default_factory=dict)
    min_features: int = 0
    max_features: int | None = None
    racing: bool = False
    sampler: str = "nsga2"
    seed: int = 0  # of the sampler
    n_trials: int | None = None  # as planned for the first run; None if unknown
    priorities: list[str] | None = None
    tolerances: dict[str, float | str] | None = None
    goals: dict[str, float] | None = None

    @classmethod
    def read(cls, study: Study) -> Settings | None:
        """Return the settings in a study, or None if it was not created by ``run``."""
        found: Mapping[str, Any] | None = read_study_attr(study, _RUN)
        if found is None:
            return None
        # Earlier versions held no rows out; a later one may have written further settings.
        found = {"holdout": 0, **found}
        known = {entry.name for entry in fields(cls)}
        return cls(**{name: value for name, value in found.items() if name in known})

    def write(self, study: Study) -> None:
        """Write the settings into a study if they have changed."""
        now = asdict(self)
        if read_study_attr(study, _RUN) != now:
            write_study_attr(study, _RUN, now)

    def updated(self, arguments: argparse.Namespace) -> Settings:
        """Return the settings with the values that were given on the command line."""
        names = [entry.name for entry in fields(self)]
        return replace(self, **{n: getattr(arguments, n) for n in names if hasattr(arguments, n)})


def load_table(settings: Settings) -> Table:
    """Read the table of a search."""
    return read_table(
        settings.data,
        settings.target,
        separator=settings.separator,
        decimal=settings.decimal,
        drop=settings.drop,
        group_column=settings.group_column,
        weight_column=settings.weight_column,
        positive_class=settings.positive_class,
    )


def resolve_learner(settings: Settings, table: Table) -> Settings:
    """Return settings with a learner: the default depends on the size of the table.

    The time of a support vector machine grows with the square of the number of rows; boosting
    takes long for many columns.
    """
    if settings.learner != "auto":
        return settings
    n, p = table.X.shape
    if n <= _MAX_SVM_ROWS:
        return replace(settings, learner="svm")
    if p <= _MAX_BOOSTING_COLUMNS:
        return replace(settings, learner="hist_gradient_boosting")
    is_classes = _task(settings, table) == "classification"
    return replace(settings, learner="logistic_regression" if is_classes else "ridge")


def _task(settings: Settings, table: Table) -> Any:
    return detect_task(table.y) if settings.task == "auto" else settings.task


def _folds(settings: Settings, table: Table) -> Any:
    if settings.cv == "group" and table.groups is None:
        raise CommandError("--cv group needs --group-column with the group of each row.")
    if settings.cv == "time":
        if table.groups is not None:
            raise CommandError("--cv time and --group-column are mutually exclusive. Give one.")
        return TimeSeriesSplit(_N_NAMED_FOLDS)
    return _N_NAMED_FOLDS if settings.cv == "group" else settings.cv


def _holdout(settings: Settings, table: Table) -> Any:
    if settings.cv != "time":
        return settings.holdout or None
    # In time, new rows are the last ones. Random rows would be known from their neighbors.
    if settings.holdout == "auto":
        return None
    n = len(table.y)
    size = round(float(settings.holdout) * n)
    return np.arange(n - size, n) if size else None


def make_objective(settings: Settings, table: Table) -> FeatureSelectionObjective:
    """Return the objective of a search, or raise if learner, columns or measures do not fit."""
    for option, names in (
        ("--fixed-features", settings.fixed_features),
        ("--feature-cost", settings.feature_costs),
    ):
        for name in names:
            if name not in table.names:
                hint = name_hint(name, table.names)
                raise CommandError(f"{option}: no feature is called {name!r}.{hint}")
    settings = resolve_learner(settings, table)
    try:
        estimator, space = get_learner(
            settings.learner,
            _task(settings, table),
            early_stopping=settings.early_stopping,
            one_hot=bool(table.text_columns),
        )
        return FeatureSelectionObjective(
            estimator,
            table.X,
            table.y,
            space=space,
            representation=None if settings.representation == "all" else settings.representation,
            measures=settings.measures,
            cv=_folds(settings, table),
            holdout=_holdout(settings, table),
            scoring=settings.scoring,
            filters="default" if settings.filters is None else settings.filters,
            groups=table.groups,
            sample_weight=table.weights,
            feature_costs=settings.feature_costs or None,
            feature_names=table.names,
            fixed_features=settings.fixed_features,
            min_features=settings.min_features,
            max_features=settings.max_features,
            racing=settings.racing,
            random_state=settings.fold_seed,
        )
    except (ValueError, ImportError) as error:
        raise CommandError(str(error)) from error


def sampler_names() -> list[str]:
    """Return the names for :func:`make_sampler`, the default first."""
    return [*_OWN_SAMPLERS, *_OPTUNA_SAMPLERS]


def make_sampler(settings: Settings, *, n_existing: int, worker: int = 0) -> Any:
    """Return the sampler of a search.

    Args:
        settings: Settings of the search.
        n_existing: Number of trials that the study already has.
        worker: Number of the process.
    """
    if settings.sampler in _OPTUNA_SAMPLERS:
        # Optuna's samplers restart their random stream when a study is reopened and in every
        # worker. With the same seed they would propose the same trials again.
        entropy = [settings.seed, n_existing, worker]
        seed = int(np.random.SeedSequence(entropy).generate_state(1)[0])
        return _OPTUNA_SAMPLERS[settings.sampler](seed=seed)  # type: ignore[call-arg]
    sampler = _OWN_SAMPLERS[settings.sampler]
    options: dict[str, Any] = {"seed": settings.seed}
    parameters = inspect.signature(sampler).parameters
    if "n_trials" in parameters:
        options["n_trials"] = settings.n_trials
    if "preference" in parameters:
        options["preference"] = make_preference(settings)
    return sampler(**options)


def make_preference(settings: Settings) -> LexicographicPreference | None:
    """Return the preference of a search, or None if it has none."""
    given: Any = (settings.priorities, settings.tolerances, settings.goals)
    try:
        return LexicographicPreference(*given) if any(given) else None
    except ValueError as error:
        raise CommandError(str(error)) from error
