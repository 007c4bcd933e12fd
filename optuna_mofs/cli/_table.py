"""Read a table from a CSV, Parquet or npz file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs.cli._errors import CommandError, name_hint
from optuna_mofs.columns import is_date, typed_columns

_COMPRESSED = (".gz", ".bz2", ".xz", ".zip", ".zst")
_TEXT_FILES = {".csv": ",", ".tsv": "\t", ".txt": ","}
_SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods")
_DECIMAL_COMMA = r"\s*[-+]?\d*,\d+\s*"
#: A text column may have this many distinct values, or half as many as it has rows. Values that
#: hardly repeat are names or dates, from which no model can learn.
_MAX_DISTINCT_TEXTS = 50
_MAX_LISTED = 8  # columns in one message


@dataclass(frozen=True)
class Table:
    """The contents of a file, ready for an objective.

    ``X`` is an array of numbers, or a DataFrame if there are text columns.
    """

    X: Any
    y: Any
    names: tuple[str, ...]  # of the columns of X
    text_columns: tuple[str, ...] = ()
    date_columns: tuple[str, ...] = ()  # days since 1970 in X
    groups: Any = None
    weights: Any = None


def read_table(
    path: str,
    target: str,
    *,
    separator: str | None = None,
    decimal: str | None = None,
    drop: Sequence[str] = (),
    group_column: str | None = None,
    weight_column: str | None = None,
    positive_class: str | None = None,
) -> Table:
    """Read a file and separate target, groups and weights from the features.

    Raises:
        CommandError: If the file or columns of it cannot be used; it names all such columns.
    """
    frame = read_frame(path, target=target, separator=separator, decimal=decimal)
    options = [("--target", target)] + [("--drop", name) for name in drop]
    options += [("--group-column", group_column)] if group_column is not None else []
    options += [("--weight-column", weight_column)] if weight_column is not None else []
    unknown = [
        f"{option}: {path} has no column {name!r}.{name_hint(name, frame.columns)}"
        for option, name in options
        if name not in frame.columns
    ]
    if unknown:
        raise CommandError(" ".join(unknown))
    used = {name for _, name in options}
    features = frame[[name for name in frame.columns if name not in used]]
    if features.shape[1] == 0:
        raise CommandError(f"{path} has no columns besides the target {target!r}.")
    problems = _ColumnProblems()
    problems.check_target(frame[target], path)
    date_columns = tuple(name for name in features.columns if is_date(features[name]))
    text_columns = problems.text_columns(features.drop(columns=list(date_columns)))
    problems.check_finite(features)
    problems.raise_if_any()
    X = typed_columns(features, text_columns)
    return Table(
        X=X if text_columns else X.to_numpy(),
        y=_target(frame[target], positive_class),
        names=tuple(features.columns),
        text_columns=text_columns,
        date_columns=date_columns,
        groups=None if group_column is None else _to_array(frame[group_column]),
        weights=None if weight_column is None else _to_array(frame[weight_column]),
    )


def read_frame(
    path: str, *, target: str, separator: str | None = None, decimal: str | None = None
) -> pd.DataFrame:
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
            frame = _read_text(path, separator or _TEXT_FILES[kind], decimal or ".")
        elif kind in (".parquet", ".pq"):
            frame = _read_parquet(path)
        elif kind == ".npz":
            frame = _read_arrays(path, target)
        elif kind in _SPREADSHEETS:
            raise CommandError(
                f"{path} is a spreadsheet. Save its sheet as CSV: 'Save as' in the spreadsheet "
                "program, or in Python with openpyxl installed: "
                f"pandas.read_excel({file.name!r}).to_csv({file.stem + '.csv'!r}, index=False)."
            )
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


def _read_text(path: str, separator: str, decimal: str) -> pd.DataFrame:
    # Without low_memory, pandas infers the type of a column from all of its rows.
    frame = pd.read_csv(
        path, sep=separator, decimal=decimal, low_memory=False, skipinitialspace=True
    )
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


class _ColumnProblems:
    """Collects what is wrong with the columns of a table, to report it in one message."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._decimal_commas: list[str] = []
        self._infinite: list[str] = []
        self._without_repeats: list[tuple[str, str]] = []  # names, and what they hold

    def raise_if_any(self) -> None:
        """Raise one error for all problems, with the options that solve them."""
        texts, add = list(self._texts), []
        if self._decimal_commas:
            listed = _listed(self._decimal_commas)
            texts.append(f"Numbers with a decimal comma: {listed}. Use --decimal ','.")
            add += ["--decimal", ","]
        if self._infinite:
            listed = _listed(self._infinite)
            texts.append(f"Infinity: {listed}. Replace it by a missing value or a large number.")
        if self._without_repeats:
            listed = _listed([text for _, text in self._without_repeats])
            texts.append(
                f"Texts that hardly repeat, from which no model can learn: {listed}. Ignore them "
                "with --drop, or convert them to numbers or categories (dates: write 2026-01-31)."
            )
            add += ["--drop", *(name for name, _ in self._without_repeats)]
        if texts:
            raise CommandError(" ".join(texts), add=add)

    def check_target(self, y: pd.Series[Any], path: str) -> None:
        """Check that each row has a target."""
        missing = np.flatnonzero(y.isna())
        if len(missing):
            self._texts.append(
                f"The target {y.name!r} is missing in {len(missing)} of {len(y)} rows of {path}, "
                f"the first is row {missing[0] + 1}. Remove those rows."
            )

    def check_finite(self, frame: pd.DataFrame) -> None:
        """Check that no number is infinite."""
        for name, column in frame.select_dtypes("number").items():
            infinite = np.flatnonzero(np.isinf(column.to_numpy(dtype=float, na_value=np.nan)))
            if len(infinite):
                self._infinite.append(f"column {name!r} in row {infinite[0] + 1}")

    def text_columns(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """Return the names of the columns of categories."""
        found = []
        for name, column in frame.items():
            is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
            if pd.api.types.is_numeric_dtype(column.dtype) and not is_categorical:
                continue
            if not self._is_unusable(str(name), column):
                found.append(str(name))
        return tuple(found)

    def _is_unusable(self, name: str, column: pd.Series[Any]) -> bool:
        """Return whether a column of texts cannot be used as categories."""
        texts = column.dropna().astype(str)
        if len(texts) and texts.str.fullmatch(_DECIMAL_COMMA).all():
            self._decimal_commas.append(f"column {name!r} (for example {texts.iloc[0]!r})")
            return True
        distinct = column.nunique()
        if distinct <= max(_MAX_DISTINCT_TEXTS, len(column) // 2):
            return False
        found = f"{distinct} in {len(column)} rows, for example {texts.iloc[0]!r}"
        self._without_repeats.append((name, f"column {name!r} ({found})"))
        return True


def _listed(texts: list[str]) -> str:
    more = f" and {len(texts) - _MAX_LISTED} more" if len(texts) > _MAX_LISTED else ""
    return f"{', '.join(texts[:_MAX_LISTED])}{more}"


def _target(column: pd.Series[Any], positive_class: str | None) -> Any:
    """Return the target; with a positive class, 1 for it and 0 for all others."""
    y = _to_array(column)
    if positive_class is None:
        return y
    classes = [str(value) for value in np.unique(y)]
    if positive_class not in classes or len(classes) < 2:
        raise CommandError(
            f"--positive-class: the target {column.name!r} has no class {positive_class!r}."
            f"{name_hint(positive_class, classes)}"
        )
    return (y.astype(str) == positive_class).astype(int)


def _to_array(column: pd.Series[Any]) -> Any:
    """Return a NumPy array, also of categories and nullable types."""
    array = column.to_numpy()
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array
