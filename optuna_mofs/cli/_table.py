"""Read a table from a CSV, Parquet or npz file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.columns import typed_columns

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_TEXT_FILES = {".csv": ",", ".tsv": "\t", ".txt": ","}
_DECIMAL_COMMA = r"\s*[-+]?\d*,\d+\s*"
#: A text column may have this many distinct values, or half as many as it has rows. Values that
#: hardly repeat are names or dates, from which no model can learn.
_MAX_DISTINCT_TEXTS = 50


@dataclass(frozen=True)
class Table:
    """The contents of a file, ready for an objective.

    ``X`` is an array of numbers, or a DataFrame if there are text columns.
    """

    X: Any
    y: Any
    names: tuple[str, ...]  # of the columns of X
    text_columns: tuple[str, ...] = ()
    groups: Any = None
    weights: Any = None


def read_table(
    path: str,
    target: str,
    *,
    separator: str | None = None,
    drop: Sequence[str] = (),
    group_column: str | None = None,
    weight_column: str | None = None,
) -> Table:
    """Read a file and separate target, groups and weights from the features.

    Raises:
        CommandError: If the file or a column of it cannot be used.
    """
    frame = read_frame(path, target=target, separator=separator)
    options = [("--target", target)] + [("--drop", name) for name in drop]
    options += [("--group-column", group_column)] if group_column is not None else []
    options += [("--weight-column", weight_column)] if weight_column is not None else []
    for option, name in options:
        if name not in frame.columns:
            hint = name_hint(name, frame.columns)
            raise CommandError(f"{option}: {path} has no column {name!r}.{hint}")
    _check_no_missing(frame[target], path)
    used = {name for _, name in options}
    features = frame[[name for name in frame.columns if name not in used]]
    if features.shape[1] == 0:
        raise CommandError(f"{path} has no columns besides the target {target!r}.")
    text_columns = _text_columns(features)
    X = typed_columns(features, text_columns)
    _check_finite(X, text_columns)
    return Table(
        X=X if text_columns else X.to_numpy(),
        y=_to_array(frame[target]),
        names=tuple(features.columns),
        text_columns=text_columns,
        groups=None if group_column is None else _to_array(frame[group_column]),
        weights=None if weight_column is None else _to_array(frame[weight_column]),
    )


def read_frame(path: str, *, target: str, separator: str | None = None) -> pd.DataFrame:
    """Read all columns of a file, including the target."""
    file = Path(path)
    if not file.exists():
        raise CommandError(f"File {path!r} does not exist.")
    if file.is_dir():
        raise CommandError(f"{path!r} is a folder. Give the path of a file.")
    suffixes = ["", *(suffix.lower() for suffix in file.suffixes)]
    kind = suffixes[-2] if suffixes[-1] in _COMPRESSED else suffixes[-1]
    try:
        if kind in _TEXT_FILES:
            frame = _read_text(path, separator or _TEXT_FILES[kind])
        elif kind in (".parquet", ".pq"):
            frame = _read_parquet(path)
        elif kind == ".npz":
            frame = _read_arrays(path, target)
        else:
            raise CommandError(
                f"The suffix of the file must be .csv, .tsv, .txt (also compressed: .csv.gz), "
                f".parquet or .npz, got {path!r}. Rename the file after its format."
            )
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{path} is not text in UTF-8 ({error}). Save it as UTF-8, or convert it: "
            "iconv -f latin1 -t utf-8."
        ) from error
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    frame.columns = frame.columns.map(str)
    _check_unique(frame.columns.to_series(), path)
    if len(frame) == 0:
        raise CommandError(f"{path} has a header but no rows.")
    return frame


def _check_unique(names: pd.Series[Any], path: str) -> None:
    duplicated = names[names.duplicated()]
    if len(duplicated):
        raise CommandError(f"{path} has two columns {duplicated.iloc[0]!r}. Rename one.")


def _read_text(path: str, separator: str) -> pd.DataFrame:
    # Without low_memory, pandas infers the type of a column from all of its rows.
    frame = pd.read_csv(path, sep=separator, low_memory=False, skipinitialspace=True)
    # The header as written: pandas silently renames the second of two equal names to 'name.1'.
    first = pd.read_csv(
        path, sep=separator, header=None, nrows=1, dtype=str, skipinitialspace=True
    )
    _check_unique(first.iloc[0].dropna(), path)
    if frame.shape[1] == 1:
        name = str(frame.columns[0])
        for other in (";", "\t", "|", ","):
            if other != separator and other in name:
                raise CommandError(
                    f"{path} has only one column when split at {separator!r}, and its header "
                    f"contains {other!r}. Try --separator {other!r}."
                )
    return frame


def _read_parquet(path: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise CommandError(
            f"Reading {path} requires pyarrow. Install it by "
            "pip install 'optuna-mofs[parquet]', or save the table as CSV."
        ) from error


def _read_arrays(path: str, target: str) -> pd.DataFrame:
    """Read the arrays ``X`` and the target, and the names in ``feature_names`` if present."""
    with np.load(path, allow_pickle=False) as arrays:
        for needed in ("X", target):
            if needed not in arrays:
                raise CommandError(
                    f"{path} must have the arrays 'X' (rows and columns) and {target!r} (the "
                    f"target, see --target), got {sorted(arrays)}."
                )
        X, y = arrays["X"], arrays[target]
        if X.ndim != 2 or y.shape != (len(X),):
            raise CommandError(
                f"In {path}, 'X' must have rows and columns and {target!r} one value per row, "
                f"got shapes {X.shape} and {y.shape}."
            )
        names = [f"x{j}" for j in range(X.shape[1])]
        if "feature_names" in arrays:
            names = list(map(str, arrays["feature_names"]))
    if len(names) != X.shape[1]:
        raise CommandError(
            f"{path} has {X.shape[1]} columns in 'X' but {len(names)} names in 'feature_names'."
        )
    frame = pd.DataFrame(X, columns=names)
    if target in frame.columns:
        raise CommandError(f"{path} has a feature with the name of the target, {target!r}.")
    return pd.concat([frame, pd.Series(y, name=target)], axis=1)


def _text_columns(frame: pd.DataFrame) -> tuple[str, ...]:
    """Return the names of the text columns, or raise if a column cannot be used."""
    found = []
    for name, column in frame.items():
        kinds = pd.api.types
        if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
            raise CommandError(
                f"Column {name!r} contains dates. Ignore it by --drop {name!r}, "
                "or convert it to numbers (days since, month, weekday)."
            )
        is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
        if kinds.is_numeric_dtype(column.dtype) and not is_categorical:
            continue
        texts = column.dropna().astype(str)
        if len(texts) and texts.str.fullmatch(_DECIMAL_COMMA).all():
            raise CommandError(
                f"Column {name!r} contains numbers with a decimal comma, for example "
                f"{texts.iloc[0]!r}. Write them with a decimal point."
            )
        distinct = column.nunique()
        if distinct > max(_MAX_DISTINCT_TEXTS, len(column) // 2):
            raise CommandError(
                f"Column {name!r} contains {distinct} different texts in {len(column)} rows, for "
                f"example {str(column.dropna().iloc[0])!r}; no model can learn from that. "
                f"Ignore it by --drop {name!r}, or convert it to numbers or categories."
            )
        found.append(str(name))
    return tuple(found)


def _check_no_missing(y: pd.Series[Any], path: str) -> None:
    missing = np.flatnonzero(y.isna())
    if len(missing):
        raise CommandError(
            f"The target {y.name!r} is missing in {len(missing)} of {len(y)} rows of {path}, "
            f"the first is row {missing[0] + 1}. Remove those rows."
        )


def _check_finite(X: pd.DataFrame, text_columns: Sequence[str]) -> None:
    numbers = X.drop(columns=list(text_columns))
    infinite = np.argwhere(np.isinf(numbers.to_numpy()))
    if len(infinite):
        row, column = infinite[0]
        raise CommandError(
            f"Column {numbers.columns[column]!r} contains infinity in row {row + 1}. "
            "Replace it by a missing value or a large number."
        )


def _to_array(column: pd.Series[Any]) -> Any:
    """Return a NumPy array, also of categories and nullable types."""
    array = column.to_numpy()
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array
