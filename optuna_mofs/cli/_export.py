"""``optuna-mofs export``: the model of a trial, fitted on all rows, in a file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import Pick, add_pick_options, picked
from optuna_mofs.cli._options import (
    add_data_options,
    add_search_options,
    add_study_options,
    read_costs,
)
from optuna_mofs.cli._output import wrapped, write_file
from optuna_mofs.cli._settings import Settings

if TYPE_CHECKING:
    from optuna.study import Study
    from sklearn.pipeline import Pipeline

    from optuna_mofs import FeatureSelectionObjective
    from optuna_mofs.cli._table import Table

_DESCRIPTION = """\
Fit the model of a trial on all rows and write it to a file. The study remembers data, learner and
scoring of 'optuna-mofs run'; give --data if the file has moved, or to fit the model on other rows
of the same columns. (For a study that was made in Python say what it searches, as for 'run'.)

The model is a scikit-learn pipeline in joblib's format. It finds its columns by name in any table
that has them, whatever else is there, and knows which of them hold words:

  import joblib, pandas
  model = joblib.load("wine.joblib")
  model.predict(pandas.read_csv("new.csv"))

Load such files only from people you trust: they can run any code.

examples:
  optuna-mofs export --study wine --output wine.joblib                     the knee of the front
  optuna-mofs export --study wine --max-features 5 --output small.joblib   the best with 5 features
  optuna-mofs export --study wine --tolerance error=0.01 --output wine.joblib
                                 fewest features with an error within 0.01 of the best
  optuna-mofs export --study wine --trial 42 --data all.csv --output wine.joblib
"""


def add_to(subparsers: Any) -> None:
    """Add the subcommand to the parser."""
    parser = subparsers.add_parser(
        "export",
        help="fit the model of a trial on all rows and write it to a file",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_study_options(parser)
    parser.add_argument(
        "--output", metavar="FILE.joblib", required=True, help="where the model goes"
    )
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_pick_options(parser)
    add_data_options(parser)
    add_search_options(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> None:
    """Fit and write."""
    import joblib
    import optuna

    from optuna_mofs.cli._front import front_of
    from optuna_mofs.cli._settings import load_table, make_objective
    from optuna_mofs.cli._storage import open_storage, open_study, storage_errors

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    read_costs(arguments)
    with storage_errors(arguments.storage):
        storage = open_storage(arguments.storage, create=False)
        study = open_study(storage, arguments.storage, arguments.study)
        remembered = Settings.recall(study)
        pick = picked(front_of(study), arguments, remembered)
        # The preference chooses the trial here, it does not change what is searched.
        settings = _complete((remembered or Settings()).updated(arguments), study)
        table = load_table(settings)
        objective = make_objective(settings, table)
        _check(study, objective)
    model = fitted(objective, table, pick.trial)
    write_file(arguments.output, lambda file: joblib.dump(model, file, compress=3))
    if not arguments.quiet:
        _tell(arguments.output, pick, objective, settings)


def fitted(objective: FeatureSelectionObjective, table: Table, trial: Any) -> Pipeline:
    """The model of a trial, fitted on all rows, which finds its columns by name.

    Raises:
        CommandError: If the trial is of another search, or the learner fails on all rows.
    """
    from sklearn.pipeline import Pipeline

    try:
        estimator = objective.refit(trial).named_steps["estimator"]
        columns = [table.names[j] for j in objective.table.columns_of(objective.mask_for(trial))]
    except ValueError as error:
        raise CommandError(
            f"The model of trial {trial.number} cannot be fitted: {error}"
        ) from error
    return Pipeline([("columns", table.reader(columns)), ("model", estimator)])


def _complete(settings: Settings, study: Study) -> Settings:
    for option in ("data", "target"):
        if not getattr(settings, option):
            raise CommandError(
                f"Study {study.study_name!r} was not made by 'optuna-mofs run' and knows no data: "
                f"--{option} is needed, and --learner, --scoring and so on as the study has them."
            )
    if not Path(settings.data).exists():
        raise CommandError(
            f"The data of study {study.study_name!r}, {settings.data!r}, is not there. "
            "Say where it is by --data."
        )
    return settings


def _check(study: Study, objective: FeatureSelectionObjective) -> None:
    """Other columns are an error; other rows are allowed, and told."""
    from optuna_mofs.study._description import StudyDescription

    known = StudyDescription.read(study)
    try:
        objective.attach(study)
    except ValueError as error:
        mine = None if known is None or known.features is None else known.features.names
        if mine != objective.table.names:
            raise CommandError(str(error)) from error
        print(f"optuna-mofs: note: not what the study searched. {error}", file=sys.stderr)


def _tell(
    output: str, pick: Pick, objective: FeatureSelectionObjective, settings: Settings
) -> None:
    trial = pick.trial
    names = objective.features_for(trial)
    values = ", ".join(
        f"{n} {format_number(v)}" for n, v in zip(objective.metric_names, trial.values)
    )
    n, p = objective.data.shape
    print(f"{output}: {settings.learner} of trial {trial.number}, {pick.how}")
    print(f"  {values}; {len(names)} of {p} features, fitted on {n} rows")
    if names:
        print(wrapped(names))
    for name, value in objective.params_for(trial).items():
        print(f"  {name} = {format_number(value) if isinstance(value, float) else value}")
