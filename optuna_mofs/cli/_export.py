"""``optuna-mofs export``: fit the model of a trial on all rows and write it to a file."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial
from sklearn.pipeline import Pipeline

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._front import Pick, add_pick_options, pick_trial, read_front
from optuna_mofs.cli._model_file import (
    FORMATS,
    as_frame,
    card_text,
    model_card,
    model_of_table,
    write_onnx,
    write_skops,
)
from optuna_mofs.cli._options import (
    add_data_options,
    add_search_options,
    add_study_options,
    read_feature_costs,
)
from optuna_mofs.cli._output import (
    format_model,
    is_special,
    print_refit,
    print_status,
    write_file,
    write_text,
)
from optuna_mofs.cli._settings import Settings, load_table, make_objective
from optuna_mofs.cli._storage import existing_study
from optuna_mofs.cli._table import Table
from optuna_mofs.study._description import StudyDescription

DESCRIPTION = """\
Fit the model of a trial on all rows and write it to a file. Data, learner and scoring are stored
in the study by 'optuna-mofs run'. Give --data if the file has moved, or to fit the model on other
rows with the same columns. (For a study that was created in Python, give the options of 'run'.)

The model is a scikit-learn pipeline in joblib's format. It selects its columns by name from any
table that contains them, text columns included. A model card next to it says what it was made from
and what to expect of it, as Markdown and JSON (wine.card.md, wine.card.json). If all columns are
numbers, most models load without optuna-mofs; if not, this command and the card say so.

  import joblib, pandas
  model = joblib.load("wine.joblib")
  model.predict(pandas.read_csv("new.csv"))

Load such files only from sources you trust: they can run any code.

examples:
  optuna-mofs export --study wine --output wine.joblib                     the default pick
  optuna-mofs export --study wine --max-features 5 --output small.joblib   the best with 5 features
  optuna-mofs export --study wine --tolerance error=0.01 --output wine.joblib
                                 fewest features with an error within 0.01 of the lowest
  optuna-mofs export --study wine --trial 42 --data all.csv --output wine.joblib
  optuna-mofs export --study wine --output wine.skops
                                 for strangers: loading it runs no code
  optuna-mofs export --study wine --output wine.onnx
                                 for other languages; the input are the columns of the card, in
                                 this order
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_study_options(parser)
    parser.add_argument(
        "--output",
        metavar="FILE",
        required=True,
        help="file for the model: .joblib, .skops (pip install 'optuna-mofs[skops]'), or .onnx "
        "(pip install 'optuna-mofs[onnx]')",
    )
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="format of the model (default: by the suffix of --output, else joblib); loading "
        "skops and onnx runs no code",
    )
    parser.add_argument("--no-card", action="store_true", help="write no model card")
    parser.add_argument("--quiet", action="store_true", help="print nothing but errors")
    add_pick_options(parser)
    add_data_options(parser)
    add_search_options(parser, limits=False)


def run(arguments: argparse.Namespace) -> None:
    """Fit a model and write it."""
    read_feature_costs(arguments)
    with existing_study(arguments.storage, arguments.study) as study:
        stored = Settings.read(study)
        front = read_front(study)
        pick = pick_trial(front, arguments, stored)
        warning = front.honest().warning
        settings = (stored or Settings()).updated(arguments)
        _check_data(settings, study)
        table = load_table(settings)
        objective = make_objective(settings, table)
        _check_columns(study, objective)
    output = arguments.output
    kind = arguments.format or next((f for f in FORMATS if output.endswith(f".{f}")), "joblib")
    if not arguments.quiet:
        print_refit(pick.trial)
    model = _fit(objective, table, pick.trial, named=Path(settings.data).suffix != ".npz")
    if _is_constant(model, table):
        _report_constant(pick, is_chosen=arguments.trial is not None)
    if kind == "onnx":
        names = objective.features_for(pick.trial)
        write_file(output, lambda file: write_onnx(model, names, table, file))
    elif kind == "skops":
        write_file(output, lambda file: write_skops(model, file))
    else:
        write_file(output, lambda file: joblib.dump(model, file, compress=3))
    card = model_card(front, pick, objective, settings, model, output, kind)
    no_card = arguments.no_card or is_special(output)
    cards = [] if no_card else _write_card(card, output)
    if not arguments.quiet:
        _print_summary(output, pick, objective, settings)
        if cards:
            print(f"  model card: {', '.join(cards)}")
        if card["needs_optuna_mofs"]:
            print("  optuna-mofs must be installed where this file is loaded")
        if warning:
            print_status(f"optuna-mofs: warning: {warning}")


def _write_card(card: dict[str, Any], output: str) -> list[str]:
    """Write the model card next to the model, and return the names of its files."""
    stem = output.removesuffix(Path(output).suffix)
    texts = {".card.md": card_text(card), ".card.json": json.dumps(card, indent=2)}
    for suffix, text in texts.items():
        write_text(text, stem + suffix)
    return [stem + suffix for suffix in texts]


def _fit(
    objective: FeatureSelectionObjective, table: Table, trial: FrozenTrial, *, named: bool
) -> Pipeline:
    """Fit the model of a trial on all rows; it selects its columns by name."""
    try:
        estimator = objective.refit(trial).named_steps["estimator"]
        names = [table.names[j] for j in objective.table.columns_of(objective.mask_for(trial))]
    except ValueError as error:
        raise CommandError(
            f"The model of trial {trial.number} cannot be fitted: {error}"
        ) from error
    return model_of_table(estimator, table, names, named=named)


def _is_constant(model: Pipeline, table: Table) -> bool:
    """Return whether a model predicts the same for all rows."""
    predicted = np.asarray(model.predict(as_frame(table)))
    return len(np.unique(predicted)) == 1


def _report_constant(pick: Pick, *, is_chosen: bool) -> None:
    """Raise for a model that predicts a constant, or warn if it was chosen by number."""
    text = (
        f"The model of trial {pick.trial.number} ({pick.description}) predicts the same for every "
        "row: no feature set is clearly better than a constant."
    )
    if is_chosen:
        print_status(f"optuna-mofs: warning: {text}")
        return
    raise CommandError(
        f"{text} Search with another --scoring, such as balanced_accuracy or roc_auc if one class "
        f"is rare, pick another trial, or export it anyway with --trial {pick.trial.number}."
    )


def _check_data(settings: Settings, study: Study) -> None:
    for option in ("data", "target"):
        if not getattr(settings, option):
            raise CommandError(
                f"Study {study.study_name!r} was not created by 'optuna-mofs run' and does not "
                f"contain the path of its data. Give --{option}, and --learner, --scoring and "
                "other options as they were in the study."
            )
    if not Path(settings.data).exists():
        raise CommandError(
            f"The data of study {study.study_name!r}, {settings.data!r}, does not exist. "
            "Give its path with --data."
        )


def _check_columns(study: Study, objective: FeatureSelectionObjective) -> None:
    """Raise if the columns differ from those of the study; print a note if only rows differ."""
    description = StudyDescription.read(study)
    try:
        objective.attach(study)
    except ValueError as error:
        features = None if description is None else description.features
        if features is None or features.names != objective.table.names:
            raise CommandError(str(error)) from error
        print_status(f"optuna-mofs: note: the data differs from the study's. {error}")


def _print_summary(
    output: str, pick: Pick, objective: FeatureSelectionObjective, settings: Settings
) -> None:
    trial = pick.trial
    values = ", ".join(
        f"{n} {format_number(v)}" for n, v in zip(objective.metric_names, trial.values)
    )
    n, p = objective.all_data.shape
    count = len(objective.features_for(trial))
    print(f"{output}: {settings.learner} of trial {trial.number}, {pick.description}")
    print(f"  {values}; {count} of {p} features, fitted on {n} rows")
    if pick.expected is not None:
        print(f"  expect {objective.metric_names[0]} {pick.expected} on new rows")
    print(format_model(objective, trial))
