"""The options of all commands: types and groups."""

from __future__ import annotations

import argparse
import math
import os
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
from sklearn.metrics import get_scorer_names

from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._settings import CROSS_VALIDATIONS, Settings
from optuna_mofs.filters import DEFAULT_FILTERS, RULE_FILTERS, filter_names
from optuna_mofs.measures import measure_names
from optuna_mofs.spaces import learner_names

STORAGE = "sqlite:///optuna_mofs.db"
_DEFAULTS = Settings()
#: Values of ``--features``.
REPRESENTATIONS = ("auto", "mask", "filter_ensemble", "single_filter", "all")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def _integer(text: str, low: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = low - 1
    if value < low:
        raise ArgumentTypeError(f"expected an integer of at least {low}, got {text!r}")
    return value


positive_int = partial(_integer, low=1)
nonnegative_int = partial(_integer, low=0)


def folds(text: str) -> int | str:
    """Return a number of folds, or a name of a cross-validation.

    Example:
        >>> folds("5"), folds("time")
        (5, 'time')
    """
    return text if text in CROSS_VALIDATIONS else _integer(text, 1)


def storage_url(text: str) -> str:
    """Return a database URL. For a file name, a common mistake, the error shows its URL."""
    if "://" not in text:
        if "@" in text:  # it may contain a password
            raise ArgumentTypeError("expected a database URL such as postgresql://USER@HOST/NAME")
        raise ArgumentTypeError(
            f"expected a database URL, got {text!r}. For a file write "
            f"sqlite:///{text or 'study.db'}"
        )
    return text


def duration(text: str) -> float:
    """Return seconds. The number may have the unit s, m, h or d.

    Example:
        >>> duration("90"), duration("1.5h")
        (90.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", text.strip())
    seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
    if seconds <= 0:
        raise ArgumentTypeError(f"expected a time such as 90, 90s, 15m, 2h or 1d, got {text!r}")
    return seconds


def _known_name(text: str, what: str, names: Callable[[], list[str]]) -> str:
    if text not in names():
        raise ArgumentTypeError(f"expected {what}, got {text!r}.{name_hint(text, names())}")
    return text


scorer_name = partial(_known_name, what="a scorer of scikit-learn", names=get_scorer_names)
filter_name = partial(_known_name, what="a filter", names=filter_names)
measure_name = partial(_known_name, what="a measure", names=measure_names)


def number(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value


def fraction(text: str) -> float | str:
    """Return a fraction from 0 to below 1, or ``"auto"``."""
    if text == "auto":
        return text
    value = number(text)
    if not 0 <= value < 1:
        raise ArgumentTypeError(f"expected 'auto' or a fraction from 0 to below 1, got {text!r}")
    return value


def probability(text: str) -> float:
    """Return a number from 0 to 1."""
    value = number(text)
    if not 0 <= value <= 1:
        raise ArgumentTypeError(f"expected a number from 0 to 1, got {text!r}")
    return value


def number_or_percentage(text: str) -> float | str:
    """Return a number, or the text of a percentage such as ``5%``."""
    value = number(text.removesuffix("%"))
    return text if text.endswith("%") else value


class _CollectPairs(argparse.Action):
    """Collects the pairs of repeated options in one dictionary."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        collected = getattr(namespace, self.dest, None) or {}
        setattr(namespace, self.dest, {**collected, **dict(values)})


def assignments(metavar: str, value_type: Callable[[str], Any]) -> dict[str, Any]:
    """Return the arguments of an option that collects ``NAME=VALUE`` in a dictionary."""

    def pair(text: str) -> tuple[str, Any]:
        # A name may contain '=', a value does not.
        name, _, value = text.rpartition("=")
        if not name:
            raise ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
        return name, value_type(value)

    return {"nargs": "+", "type": pair, "action": _CollectPairs, "metavar": metavar}


def add_storage_option(parser: Any, *, default: str = STORAGE, repeatable: bool = False) -> None:
    """Add ``--storage``; if it is repeatable, its value is a list, or None for the default."""
    parser.add_argument(
        "--storage",
        type=storage_url,
        metavar="URL",
        default=None if repeatable else default,
        action="append" if repeatable else "store",
        help="database of the study: sqlite:///FILE, postgresql://..., mysql+pymysql://... "
        f"(default: {default})" + ("; may be repeated" if repeatable else ""),
    )


def add_study_options(parser: Any) -> None:
    """Add ``--storage`` and ``--study``."""
    add_storage_option(parser)
    parser.add_argument(
        "--study", metavar="NAME", help="name of the study (default: the only study)"
    )


def add_preference_options(parser: Any, *, purpose: str, default: Any = None) -> None:
    """Add ``--priority``, ``--tolerance`` and ``--goal``."""
    add = partial(parser.add_argument, default=default)
    add(
        "--priority",
        dest="priorities",
        nargs="+",
        metavar="METRIC",
        help=f"{purpose}: metrics, the most important first",
    )
    add(
        "--tolerance",
        dest="tolerances",
        help=f"{purpose}: allowed loss in a metric, 0.01 or 5%%",
        **assignments("METRIC=VALUE", number_or_percentage),
    )
    add(
        "--goal",
        dest="goals",
        help=f"{purpose}: values that are good enough",
        **assignments("METRIC=VALUE", number),
    )


def add_data_options(parser: Any) -> None:
    """Add the options for the file and its columns."""
    # An option that is not given is not among the arguments: the study may have its value.
    add = partial(parser.add_argument_group("data").add_argument, default=argparse.SUPPRESS)
    add(
        "--data",
        metavar="FILE",
        type=lambda path: os.path.abspath(path),
        help="table with a header: .csv, .tsv (also .csv.gz), .parquet (needs pyarrow), or .npz "
        "with the arrays X, the target, and optionally feature_names",
    )
    add("--target", metavar="COLUMN", help="the column to predict")
    add(
        "--separator",
        metavar="CHARACTER",
        help="column separator of a text file (default: a comma, in .tsv a tab)",
    )
    add(
        "--decimal",
        metavar="CHARACTER",
        choices=(".", ","),
        help="decimal separator of a text file: '.' or ',' (default: '.')",
    )
    add(
        "--drop",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="columns to ignore, such as row numbers and names",
    )
    add(
        "--group-column",
        metavar="COLUMN",
        help="column with the group of each row (a patient, a site); cross-validation does not "
        "split groups",
    )
    add("--weight-column", metavar="COLUMN", help="column with the weight of each row")
    add(
        "--positive-class",
        metavar="CLASS",
        help="predict this class of the target against all others; the model then predicts 1 for "
        "it and 0 for the others, and scores such as f1, precision and recall are its own",
    )
    add(
        "--task",
        choices=("auto", "classification", "regression"),
        help="type of the task (default: auto, by the values of the target)",
    )


def add_search_options(parser: Any, *, limits: bool = True) -> None:
    """Add the options for learner, evaluation and features.

    ``limits`` are left out where ``--max-features`` picks a trial.
    """
    group = parser.add_argument_group("learner and evaluation")
    add = partial(group.add_argument, default=argparse.SUPPRESS)
    add(
        "--learner",
        choices=learner_names(),
        metavar="NAME",
        help=f"{', '.join(learner_names())} (default: svm up to 2000 rows, else "
        "hist_gradient_boosting, or a linear model for more than 1000 columns)",
    )
    add(
        "--early-stopping",
        action="store_true",
        help="xgboost and lightgbm: choose the number of rounds on a part of the training rows",
    )
    add(
        "--scoring",
        type=scorer_name,
        metavar="NAME",
        help="a scorer of scikit-learn, such as roc_auc, f1_macro or r2 "
        "(default: accuracy, or R² for regression)",
    )
    add(
        "--cv",
        type=folds,
        metavar="N",
        help="number of cross-validation folds; time: train on earlier rows and test on later "
        "ones, for a table in the order of time; group: 5 folds that do not split the groups of "
        f"--group-column (default: {_DEFAULTS.cv})",
    )
    add(
        "--racing",
        action="store_true",
        help="stop trials between folds if they are unlikely to join the front",
    )
    add(
        "--holdout",
        type=fraction,
        metavar="FRACTION",
        help="rows that the search does not use, to show what to expect on new rows; 0 for none "
        "(default: auto, 0.2 if the features are selected with all rows of the search, else 0)",
    )
    add(
        "--fold-seed",
        type=nonnegative_int,
        metavar="N",
        help="seed of folds, filters and learner, not of the search; keep it to compare studies "
        f"(default: {_DEFAULTS.fold_seed})",
    )
    add(
        "--measures",
        type=measure_name,
        nargs="+",
        metavar="NAME",
        help="measures to minimize, such as error, fraction, cost, n_features, fnr, instability "
        "(default: error and fraction, or error and cost with --feature-cost)",
    )
    group = parser.add_argument_group("features")
    add = partial(group.add_argument, default=argparse.SUPPRESS)
    add(
        "--features",
        "--representation",
        dest="representation",
        choices=REPRESENTATIONS,
        help="how feature sets are suggested: any set (mask), the top features of weighted "
        "filters or of one filter, ranked in every training fold, the better of these for the "
        "table (auto), or always all features "
        f"(default: {_DEFAULTS.representation})",
    )
    add(
        "--filters",
        type=filter_name,
        nargs="+",
        metavar="NAME",
        help="filters that rank the features (default: "
        f"{' '.join(DEFAULT_FILTERS)} for masks, else {' '.join(RULE_FILTERS)})",
    )
    add(
        "--fixed-features",
        nargs="+",
        action="extend",
        metavar="FEATURE",
        help="features that every set contains",
    )
    if limits:
        add(
            "--max-features",
            type=positive_int,
            metavar="N",
            help="maximum number of features of every set (default: no limit)",
        )
        add(
            "--min-features",
            type=nonnegative_int,
            metavar="N",
            help=f"minimum number of features of every set (default: {_DEFAULTS.min_features})",
        )
    add(
        "--feature-cost",
        dest="feature_costs",
        help="costs of features (default: 1)",
        **assignments("FEATURE=COST", number),
    )
    group.add_argument(
        "--feature-costs",
        dest="feature_costs_file",
        metavar="FILE.csv",
        help="table of costs, with the columns 'feature' and 'cost'",
    )


def read_feature_costs(arguments: argparse.Namespace) -> None:
    """Add the costs of ``--feature-costs``; those of ``--feature-cost`` take precedence."""
    path = arguments.feature_costs_file
    if path is None:
        return
    try:
        frame = pd.read_csv(path)
        costs = dict(zip(frame["feature"].astype(str), frame["cost"].astype(float)))
    except KeyError as error:
        raise CommandError(
            f"{path} has no column {error}. It needs the columns 'feature' and 'cost'."
        ) from error
    except (OSError, ValueError) as error:
        raise CommandError(f"The costs in {path} cannot be read: {error}") from error
    arguments.feature_costs = {**costs, **getattr(arguments, "feature_costs", {})}
