"""Types and groups of all options."""

from __future__ import annotations

import argparse
import difflib
import re
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optuna_mofs.cli._errors import CommandError
from optuna_mofs.cli._settings import Settings

STORAGE = "sqlite:///optuna_mofs.db"
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


def positive(text: str) -> int:
    """An integer of at least 1.

    Example:
        >>> positive("80")
        80
    """
    return _integer(text, least=1)


def seed(text: str) -> int:
    """An integer of at least 0."""
    return _integer(text, least=0)


def storage_url(text: str) -> str:
    """A database URL; a bare file name is the usual slip, so it is told how to write one.

    Example:
        >>> storage_url("sqlite:///study.db")
        'sqlite:///study.db'
    """
    if "://" not in text:
        raise ArgumentTypeError(
            f"{text!r} is no database URL; for a file write sqlite:///{text or 'study.db'}"
        )
    return text


def duration(text: str) -> float:
    """Seconds, with a unit if wanted: s, m, h or d.

    Example:
        >>> duration("90"), duration("1.5h")
        (90.0, 5400.0)
    """
    found = re.fullmatch(r"(\d+\.?\d*|\.\d+)([smhd]?)", text.strip())
    seconds = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if seconds <= 0:
        raise ArgumentTypeError(f"{text!r} is no time: write 90, 90s, 15m, 2h or 1d")
    return seconds


def scorer_name(text: str) -> str:
    """Name of one of scikit-learn's scorers."""
    from sklearn.metrics import get_scorer_names

    return _one_of(text, get_scorer_names(), "scorer of scikit-learn")


def filter_name(text: str) -> str:
    """Name of a filter."""
    from optuna_mofs.filters import filter_names

    return _one_of(text, filter_names(), "filter")


def measure_name(text: str) -> str:
    """Name of a measure."""
    from optuna_mofs.measures import measure_names

    return _one_of(text, measure_names(), "measure")


def _one_of(text: str, known: list[str], what: str) -> str:
    if text in known:
        return text
    close = difflib.get_close_matches(text, known, n=1)
    hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
    raise ArgumentTypeError(f"{text!r} is no {what}; {hint}")


def amount(text: str) -> float | str:
    """A number, or a share such as ``5%``."""
    share = text.removesuffix("%")
    value = number(share)
    return value if share == text else text


def number(text: str) -> float:
    """A finite number."""
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value != value or value in (float("inf"), float("-inf")):
        raise ArgumentTypeError(f"{text!r} is no number")
    return value


def assigning(value: Callable[[str], Any]) -> type[argparse.Action]:
    """An action that gathers ``NAME=VALUE`` in a dictionary.

    Args:
        value: Type of the values.
    """

    class Assign(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: Any,
            option_string: str | None = None,
        ) -> None:
            gathered = dict(getattr(namespace, self.dest, None) or {})
            for text in values:
                # A name may hold '=', a value does not.
                name, found, written = text.rpartition("=")
                try:
                    if not (found and name):
                        raise ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
                    gathered[name] = value(written)
                except ArgumentTypeError as error:
                    raise argparse.ArgumentError(self, str(error)) from error
            setattr(namespace, self.dest, gathered)

    return Assign


def add_study_options(parser: Any, *, several: bool = False) -> None:
    """``--storage`` and ``--study``, as all commands have them."""
    parser.add_argument(
        "--storage",
        type=storage_url,
        metavar="URL",
        default=None if several else STORAGE,
        action="append" if several else "store",
        help="database of the study: sqlite:///FILE, postgresql://..., mysql+pymysql://... "
        f"(default: {STORAGE})" + ("; may be given several times" if several else ""),
    )
    if not several:
        parser.add_argument(
            "--study", metavar="NAME", help="name of the study (default: the only one there is)"
        )


def add_preference_options(parser: Any, *, purpose: str, default: Any = None) -> None:
    """``--priority``, ``--tolerance`` and ``--goal``."""
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
        action=assigning(amount),
        metavar="METRIC=VALUE",
        default=default,
        help=f"{purpose}: what may be given up of a metric, 0.01 or 5%%",
    )
    parser.add_argument(
        "--goal",
        dest="goals",
        nargs="+",
        action=assigning(number),
        metavar="METRIC=VALUE",
        default=default,
        help=f"{purpose}: values that are good enough",
    )


def _integer(text: str, *, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise ArgumentTypeError(f"{text!r} is no integer of at least {least}")
    return number


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
        help="what is minimized, such as error, fraction, cost, n_features, fnr, instability "
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
