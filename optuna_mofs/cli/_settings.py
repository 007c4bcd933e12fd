"""The settings of a run, and the objective and sampler that they describe."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any

import numpy as np
from optuna.study import Study

import optuna_mofs
from optuna_mofs import FeatureSelectionObjective, LexicographicPreference
from optuna_mofs._optuna import read_study_attr, write_study_attr
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._table import Table, guess, read_table

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


#: Categories of a column of words that get a column of their own; the rare ones share one.
_MOST_CATEGORIES = 20


def load_table(settings: Settings) -> Table:
    """The table that the settings name."""
    return read_table(
        settings.data,
        settings.target,
        separator=settings.separator,
        drop=settings.drop,
        group_column=settings.group_column,
        weight_column=settings.weight_column,
    )


def make_objective(settings: Settings, table: Table) -> FeatureSelectionObjective:
    """The objective of the search.

    Raises:
        CommandError: If learner, columns or measures do not go together.
    """
    from optuna_mofs.filters import DEFAULT_FILTERS, detect_task
    from optuna_mofs.spaces import get_learner

    for option, names in (("--fixed", settings.fixed), ("--cost", settings.costs)):
        for name in names:
            if name not in table.names:
                raise CommandError(
                    f"{option}: there is no feature {name!r}{guess(name, table.names)}"
                )
    try:
        task: Any = detect_task(table.y) if settings.task == "auto" else settings.task
        estimator, space = get_learner(
            settings.learner, task, early_stopping=settings.early_stopping
        )
        if table.words:
            estimator, space = _with_categories(estimator, space)
        return FeatureSelectionObjective(
            estimator,
            table.X,
            table.y,
            space=space,
            representation=None if settings.features == "all" else settings.features,
            measures=settings.measures,
            cv=settings.folds,
            scoring=settings.scoring,
            filters=DEFAULT_FILTERS if settings.filters is None else settings.filters,
            groups=table.groups,
            sample_weight=table.weights,
            feature_costs=settings.costs or None,
            feature_names=table.names,
            fixed_features=settings.fixed,
            random_state=settings.fold_seed,
        )
    except (ValueError, ImportError) as error:
        raise CommandError(str(error)) from error


def sampler_names() -> list[str]:
    """Names that :func:`make_sampler` knows, the default first.

    Example:
        >>> sampler_names()[0], "tpe" in sampler_names()
        ('nsga2', True)
    """
    return [*_own_samplers(), "optuna_nsga2", "tpe", "random"]


def make_sampler(settings: Settings, *, started: int, worker: int = 0) -> Any:
    """The sampler of a search.

    Args:
        settings: Of the search.
        started: Trials that the study has already.
        worker: Number of the process.
    """
    import optuna

    own = _own_samplers().get(settings.sampler)
    if own is None:
        # Optuna's samplers draw from where their seed begins: a study that is reopened, or a
        # second worker, would try the same again.
        drawn = np.random.SeedSequence([settings.seed, started, worker]).generate_state(1)
        kinds = {
            "optuna_nsga2": optuna.samplers.NSGAIISampler,
            "tpe": optuna.samplers.TPESampler,
            "random": optuna.samplers.RandomSampler,
        }
        return kinds[settings.sampler](seed=int(drawn[0]))
    options: dict[str, Any] = {"seed": settings.seed}
    known = inspect.signature(own).parameters
    if "n_trials" in known:
        options["n_trials"] = settings.budget
    if "preference" in known:
        options["preference"] = preference(settings)
    return own(**options)


def preference(settings: Settings) -> LexicographicPreference:
    """What matters first."""
    wanted: dict[str, Any] = {
        "priorities": settings.priorities or None,
        "tolerances": settings.tolerances or None,
        "goals": settings.goals or None,
    }
    try:
        return LexicographicPreference(**wanted)
    except ValueError as error:
        raise CommandError(str(error)) from error


def _own_samplers() -> dict[str, type]:
    """Every public sampler: ``ParEGOSampler`` is called ``parego``."""
    found = [name for name in optuna_mofs.__all__ if name.endswith("Sampler")]
    return {
        name.removeprefix("FilterEnsemble").removesuffix("Sampler").lower(): getattr(
            optuna_mofs, name
        )
        for name in found
    }


def _with_categories(estimator: Any, space: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Put an encoder of words before a learner, whatever columns of the table it gets."""
    from sklearn.compose import ColumnTransformer, make_column_selector
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder

    encoder = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=_MOST_CATEGORIES, sparse_output=False
    )
    encode = ColumnTransformer(
        [("words", encoder, make_column_selector(dtype_exclude="number"))],
        remainder="passthrough",
        sparse_threshold=0,
    )
    if isinstance(estimator, Pipeline):
        return Pipeline([("categories", encode), *estimator.steps]), space
    piped = Pipeline([("categories", encode), ("model", estimator)])
    return piped, {f"model__{name}": values for name, values in space.items()}
