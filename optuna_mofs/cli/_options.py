"""The options of all commands: types and groups."""

from __future__ import annotations

import argparse
import math
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.cli._settings import Settings

STORAGE = "sqlite:///optuna_mofs.db"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def positive_int(text: str) -> int:
    """Return an integer of at least 1.

    Example:
        >>> positive_int("80")
        80
    """
    return _integer(text, low=1)


def nonnegative_int(text: str) -> int:
    """Return an integer of at least 0."""
    return _integer(text, low=0)


def storage_url(text: str) -> str:
    """Return a database URL. For a file name, a common mistake, the error shows its URL.

    Example:
        >>> storage_url("sqlite:///study.db")
        'sqlite:///study.db'
    """
    if "://" not in text:
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
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise ArgumentTypeError(f"expected a time such as 90, 90s, 15m, 2h or 1d, got {text!r}")
    return seconds


def scorer_name(text: str) -> str:
    """Return the name of a scikit-learn scorer."""
    from sklearn.metrics import get_scorer_names

    return _one_of(text, get_scorer_names(), "a scorer of scikit-learn")


def filter_name(text: str) -> str:
    """Return the name of a filter."""
    from optuna_mofs.filters import filter_names

    return _one_of(text, filter_names(), "a filter")


def measure_name(text: str) -> str:
    """Return the name of a measure."""
    from optuna_mofs.measures import measure_names

    return _one_of(text, measure_names(), "a measure")


def _one_of(text: str, known: list[str], what: str) -> str:
    if text not in known:
        raise ArgumentTypeError(f"expected {what}, got {text!r}.{name_hint(text, known)}")
    return text


def number_or_percentage(text: str) -> float | str:
    """Return a number, or the text of a percentage such as ``5%``."""
    value = number(text.removesuffix("%"))
    return text if text.endswith("%") else value


def number(text: str) -> float:
    """Return a finite number."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if not math.isfinite(value):
        raise ArgumentTypeError(f"expected a finite number, got {text!r}")
    return value


def assignments(value_type: Callable[[str], Any]) -> type[argparse.Action]:
    """Return an action that collects ``NAME=VALUE`` in a dictionary.

    Args:
        value_type: Type of the values.
    """

    class Assign(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: Any,
            option_string: str | None = None,
        ) -> None:
            collected = dict(getattr(namespace, self.dest, None) or {})
            for text in values:
                # A name may contain '=', a value does not.
                name, _, value = text.rpartition("=")
                try:
                    if not name:
                        raise ArgumentTypeError(f"expected NAME=VALUE, got {text!r}")
                    collected[name] = value_type(value)
                except ArgumentTypeError as error:
                    raise argparse.ArgumentError(self, str(error)) from error
            setattr(namespace, self.dest, collected)

    return Assign


def add_study_options(parser: Any, *, several: bool = False) -> None:
    """Add ``--storage`` and ``--study``."""
    parser.add_argument(
        "--storage",
        type=storage_url,
        metavar="URL",
        default=None if several else STORAGE,
        action="append" if several else "store",
        help="database of the study: sqlite:///FILE, postgresql://..., mysql+pymysql://... "
        f"(default: {STORAGE})" + ("; may be repeated" if several else ""),
    )
    if not several:
        parser.add_argument(
            "--study", metavar="NAME", help="name of the study (default: the only study)"
        )


def add_preference_options(parser: Any, *, purpose: str, default: Any = None) -> None:
    """Add ``--priority``, ``--tolerance`` and ``--goal``."""
    parser.add_argument(
        "--priority",
        dest="priorities",
        nargs="+",
        metavar="METRIC",
        default=default,
        help=f"{purpose}: metrics, the most important first",
    )
    parser.add_argument(
        "--tolerance",
        dest="tolerances",
        nargs="+",
        action=assignments(number_or_percentage),
        metavar="METRIC=VALUE",
        default=default,
        help=f"{purpose}: allowed loss in a metric, 0.01 or 5%%",
    )
    parser.add_argument(
        "--goal",
        dest="goals",
        nargs="+",
        action=assignments(number),
        metavar="METRIC=VALUE",
        default=default,
        help=f"{purpose}: values that are good enough",
    )


def _integer(text: str, *, low: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = low - 1
    if number < low:
        raise ArgumentTypeError(f"expected an integer of at least {low}, got {text!r}")
    return number


#: An option that is not given is not among the arguments: the study may have its value.
_ABSENT = argparse.SUPPRESS
_DEFAULTS = Settings()


def add_data_options(parser: Any) -> None:
    """Add the options for the file and its columns."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        metavar="FILE",
        default=_ABSENT,
        type=lambda path: str(Path(path).absolute()),
        help="table with a header: .csv, .tsv (also .csv.gz), .parquet (needs pyarrow), or .npz "
        "with the arrays X, the target, and optionally feature_names",
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
        help="column separator of a text file (default: a comma; a tab in .tsv)",
    )
    group.add_argument(
        "--drop",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        default=_ABSENT,
        help="columns to ignore, such as row numbers and names",
    )
    group.add_argument(
        "--group-column",
        metavar="COLUMN",
        default=_ABSENT,
        help="column with the group of each row (a patient, a site); cross-validation does not "
        "split groups",
    )
    group.add_argument(
        "--weight-column",
        metavar="COLUMN",
        default=_ABSENT,
        help="column with the weight of each row",
    )
    group.add_argument(
        "--task",
        choices=("auto", "classification", "regression"),
        default=_ABSENT,
        help="type of the task (default: auto, by the values of the target)",
    )


def add_search_options(parser: Any) -> None:
    """Add the options for learner, evaluation and features."""
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
        help="xgboost and lightgbm: choose the number of rounds on a part of the training rows",
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
        "--cv",
        type=positive_int,
        metavar="N",
        default=_ABSENT,
        help=f"number of cross-validation folds (default: {_DEFAULTS.cv})",
    )
    group.add_argument(
        "--fold-seed",
        type=nonnegative_int,
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
        help="measures to minimize, such as error, fraction, cost, n_features, fnr, instability "
        "(default: error and fraction, or error and cost with --feature-cost)",
    )
    group = parser.add_argument_group("features")
    group.add_argument(
        "--representation",
        choices=("mask", "filter_ensemble", "single_filter", "all"),
        default=_ABSENT,
        help="how feature sets are suggested: any set (mask), the top features of weighted "
        "filters or of one filter, or always all features "
        f"(default: {_DEFAULTS.representation})",
    )
    group.add_argument(
        "--filters",
        type=filter_name,
        nargs="+",
        metavar="NAME",
        default=_ABSENT,
        help="filters that rank the features before the search (default: information_gain "
        "random_forest jmi cmim auc)",
    )
    group.add_argument(
        "--fixed-features",
        nargs="+",
        action="extend",
        metavar="FEATURE",
        default=_ABSENT,
        help="features that every set contains",
    )
    group.add_argument(
        "--feature-cost",
        dest="feature_costs",
        nargs="+",
        action=assignments(number),
        metavar="FEATURE=COST",
        default=_ABSENT,
        help="costs of features (default: 1)",
    )
    group.add_argument(
        "--feature-costs",
        dest="feature_costs_file",
        metavar="FILE.csv",
        help="table of costs, with the columns 'feature' and 'cost'",
    )


def read_feature_costs(arguments: argparse.Namespace) -> None:
    """Add the costs in ``--feature-costs`` to those of ``--feature-cost``, which take priority."""
    if arguments.feature_costs_file is None:
        return
    import pandas as pd

    path = arguments.feature_costs_file
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
