"""``optuna-mofs delete``: delete a study."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import optuna

from optuna_mofs._optuna import trials_of
from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._options import add_storage_option
from optuna_mofs.cli._output import format_count, print_status
from optuna_mofs.cli._storage import existing_study, open_storage

DESCRIPTION = """\
Delete a study with all of its trials, for example to use its name again. The command asks first,
unless --yes is given. Exported models and reports are not touched.

examples:
  optuna-mofs delete --study wine
  optuna-mofs delete --study wine --yes
"""


def add_options(parser: Any) -> None:
    """Add the options of the command."""
    add_storage_option(parser)
    # No default: the only study must not be deleted by a forgotten option.
    parser.add_argument("--study", metavar="NAME", required=True, help="name of the study")
    parser.add_argument("--yes", action="store_true", help="do not ask")


def run(arguments: argparse.Namespace) -> None:
    """Delete a study."""
    with existing_study(arguments.storage, arguments.study) as study:
        name, trials = study.study_name, format_count(len(trials_of(study)), "trial")
        if not arguments.yes:
            if not sys.stdin.isatty():
                raise CommandError(f"Study {name!r} has {trials}. Confirm with --yes.")
            if input(f"Delete study {name!r} with {trials}? [y/N] ").strip().lower() != "y":
                raise CommandError("Nothing was deleted.")
        opened = open_storage(arguments.storage)
        optuna.delete_study(study_name=name, storage=opened)
    print_status(f"Study {name!r} with {trials} deleted.")
