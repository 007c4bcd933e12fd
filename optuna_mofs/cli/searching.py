"""Options that say what is searched: data, learner, features. ``run`` and ``export`` have them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from optuna_mofs.cli.errors import CommandError
from optuna_mofs.cli.options import (
    assigning,
    filter_name,
    measure_name,
    number,
    positive,
    scorer_name,
    seed,
)
from optuna_mofs.cli.settings import Settings

#: What is not given is not among the arguments: the study may remember it.
_ABSENT = argparse.SUPPRESS
_DEFAULTS = Settings()


def add_data_options(parser: Any) -> None:
    """Which file, and what its columns mean."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        metavar="FILE",
        default=_ABSENT,
        type=lambda path: str(Path(path).absolute()),
        help="table with a header: .csv, .tsv (also .csv.gz), .parquet (needs pyarrow), or .npz "
        "with arrays X, the target, and feature_names if wanted",
    )
    group.add_argument(
        "--target",
        metavar="COLUMN",
        default=_ABSENT,
        help="the column to predict",
    )
    group.add_argument(
        "--separator",
        metavar="CHARACTER",
        default=_ABSENT,
        help="between the columns of a text file (default: a comma; a tab in .tsv)",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        default=_ABSENT,
        help="columns to leave out, such as row numbers and names",
    )
    group.add_argument(
        "--group-column",
        metavar="COLUMN",
        default=_ABSENT,
        help="rows of a group (a patient, a site) stay together in cross-validation",
    )
    group.add_argument(
        "--weight-column", metavar="COLUMN", default=_ABSENT, help="weight of each row"
    )
    group.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default=_ABSENT,
        help="what the target is (default: auto, by its values)",
    )


def add_search_options(parser: Any) -> None:
    """Learner, evaluation and features."""
    from optuna_mofs.spaces import learner_names

    group = parser.add_argument_group("learner and evaluation")
    group.add_argument(
        "--learner",
        choices=learner_names(),
        metavar="NAME",
        default=_ABSENT,
        help=f"{', '.join(learner_names())} (default: {_DEFAULTS.learner})",
    )
    group.add_argument(
        "--early-stopping",
        action="store_true",
        default=_ABSENT,
        help="xgboost and lightgbm: part of the training rows choose the number of rounds",
    )
    group.add_argument(
        "--scoring",
        type=scorer_name,
        metavar="NAME",
        default=_ABSENT,
        help="a scorer of scikit-learn, such as roc_auc, f1_macro or r2 "
        "(default: accuracy, or R² for regression)",
    )
    group.add_argument(
        "--folds",
        type=positive,
        metavar="N",
        default=_ABSENT,
        help=f"of the cross-validation (default: {_DEFAULTS.folds})",
    )
    group.add_argument(
        "--fold-seed",
        type=seed,
        metavar="N",
        default=_ABSENT,
        help="seed of folds, filters and learner, not of the search; keep it to compare studies "
        f"(default: {_DEFAULTS.fold_seed})",
    )
    group.add_argument(
        "--measures",
        type=measure_name,
        nargs="+",
        metavar="NAME",
        default=_ABSENT,
        help="what is minimised, such as error, fraction, cost, count, fnr, instability "
        "(default: error and fraction, or cost with --cost)",
    )
    group = parser.add_argument_group("features")
    group.add_argument(
        "--features",
        choices=("mask", "filter_ensemble", "single_filter", "all"),
        default=_ABSENT,
        help="how sets are suggested: any set (mask), the top of weighted filters, the top of one "
        f"filter, or always all (default: {_DEFAULTS.features})",
    )
    group.add_argument(
        "--filters",
        type=filter_name,
        nargs="+",
        metavar="NAME",
        default=_ABSENT,
        help="that rank the features in advance (default: information_gain random_forest jmi "
        "cmim auc)",
    )
    group.add_argument(
        "--fixed",
        nargs="+",
        action="extend",
        metavar="FEATURE",
        default=_ABSENT,
        help="features that are always in",
    )
    group.add_argument(
        "--cost",
        dest="costs",
        nargs="+",
        action=assigning(number),
        metavar="FEATURE=COST",
        default=_ABSENT,
        help="what features cost; those not named cost 1",
    )
    group.add_argument(
        "--costs",
        dest="costs_file",
        metavar="FILE.csv",
        help="costs from a table with the columns 'feature' and 'cost'",
    )


def read_costs(arguments: argparse.Namespace) -> None:
    """Add the costs of ``--costs FILE`` to those given by ``--cost``, which win."""
    if arguments.costs_file is None:
        return
    import pandas as pd

    path = arguments.costs_file
    try:
        frame = pd.read_csv(path)
        costs = dict(zip(frame["feature"].astype(str), frame["cost"].astype(float)))
    except KeyError as error:
        raise CommandError(
            f"{path} has no column {error}: needed are feature and cost."
        ) from error
    except (OSError, ValueError) as error:
        raise CommandError(f"The costs in {path} cannot be read: {error}") from error
    arguments.costs = {**costs, **getattr(arguments, "costs", {})}
