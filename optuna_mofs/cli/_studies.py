"""``optuna-mofs studies``: list the studies of a database."""

from __future__ import annotations

import argparse
import json
from typing import Any

import optuna
from optuna.trial import TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._options import add_storage_option
from optuna_mofs.cli._output import add_output_options, format_table, output_format, write_text
from optuna_mofs.cli._settings import Settings
from optuna_mofs.cli._storage import open_storage, storage_errors

DESCRIPTION = """\
List the studies of a database: completed, stopped, failed and running trials, learner and data.

examples:
  optuna-mofs studies
  optuna-mofs studies --storage sqlite:///other.db --format json
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_storage_option(parser)
    add_output_options(parser, formats=("table", "json"))


def run(arguments: argparse.Namespace) -> None:
    """Print the studies."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with storage_errors(arguments.storage):
        opened = open_storage(arguments.storage, create=False)
        rows = [
            _row(optuna.load_study(study_name=name, storage=opened))
            for name in sorted(optuna.get_all_study_names(opened))
        ]
    if output_format(arguments) == "json":
        text = json.dumps(rows, indent=2, ensure_ascii=False)
    elif rows:
        text = format_table(list(rows[0]), [[str(v) for v in row.values()] for row in rows])
    else:
        text = "No studies."
    write_text(text, arguments.output)


def _row(study: optuna.Study) -> dict[str, Any]:
    states = [trial.state for trial in trials_of(study)]
    settings = Settings.read(study)
    return {
        "study": study.study_name,
        "completed": states.count(TrialState.COMPLETE),
        "stopped": states.count(TrialState.PRUNED),
        "failed": states.count(TrialState.FAIL),
        "running": states.count(TrialState.RUNNING),
        "learner": "-" if settings is None else settings.learner,
        "data": "-" if settings is None else settings.data,
    }
