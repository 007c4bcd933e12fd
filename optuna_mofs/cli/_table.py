"""Reading a table from a file: CSV, Parquet or NumPy's npz."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from optuna_mofs.cli._errors import CommandError
from optuna_mofs.columns import NamedColumns, typed_columns

_PACKERS = (".gz", ".bz2", ".xz", ".zip", ".zst")
_TEXT_FILES = {".csv": ",", ".tsv": "\t", ".txt": ","}
_DECIMAL_COMMA = r"\s*[-+]?\d*,\d+\s*"
#: Words that hardly repeat are names or dates, of which nothing can be learned.
_MOST_WORDS = 50


@dataclass(frozen=True)
class Table:
    """What a file holds, ready for the objective.

    Attributes:
        X: Numbers as an array; a DataFrame if some columns hold words.
        y: The target.
        names: Of the columns of X.
        words: Names of the columns that hold words.
        groups: Group of each row, or None.
        weights: Weight of each row, or None.
    """

    X: Any
    y: Any
    names: tuple[str, ...]
    words: tuple[str, ...] = ()
    groups: Any = None
    weights: Any = None

    def reader(self, columns: Sequence[str]) -> NamedColumns:
        """The transformer that finds some of the columns in any table."""
        return NamedColumns(
            list(columns),
            words=[name for name in self.words if name in columns],
            table=list(self.names),
            as_frame=bool(self.words),
        )


def read_table(
    path: str,
    target: str,
    *,
    separator: str | None = None,
    drop: Sequence[str] = (),
    group_column: str | None = None,
    weight_column: str | None = None,
) -> Table:
    """Read a file and tell its target from its features.

    Args:
        path: The file; its ending tells its kind.
        target: Name of the column to predict; in an npz file the name of an array.
        separator: Between the columns of a text file; by default a comma, in .tsv a tab.
        drop: Columns to leave out.
        group_column: Column that says which rows belong together.
        weight_column: Column with the weight of each row.

    Raises:
        CommandError: If the file or a column of it cannot be used.
    """
    frame = read_frame(path, target=target, separator=separator)
    y = _taken(frame, target, "--target", path)
    groups = None if group_column is None else _taken(frame, group_column, "--group-column", path)
    weights = (
        None if weight_column is None else _taken(frame, weight_column, "--weight-column", path)
    )
    for name in drop:
        _taken(frame, name, "--drop", path)
    used = {target, group_column, weight_column, *drop}
    frame = frame[[name for name in frame.columns if name not in used]]
    if frame.shape[1] == 0:
        raise CommandError(f"{path} has no columns besides the target {target!r}.")
    _refuse_missing(y, target, path)
    words = _words(frame)
    X = typed_columns(frame, words)
    _refuse_infinity(X, words)
    return Table(
        X=X if words else X.to_numpy(),
        y=_plain(y),
        names=tuple(frame.columns),
        words=words,
        groups=None if groups is None else _plain(groups),
        weights=None if weights is None else _plain(weights),
    )


def read_frame(path: str, *, target: str, separator: str | None = None) -> pd.DataFrame:
    """All columns of a file, the target among them."""
    file = Path(path)
    if not file.exists():
        raise CommandError(f"There is no file {path!r}.")
    if file.is_dir():
        raise CommandError(f"{path!r} is a folder. Give a file in it.")
    endings = [ending.lower() for ending in file.suffixes]
    kind = endings[-2] if len(endings) > 1 and endings[-1] in _PACKERS else "".join(endings[-1:])
    try:
        if kind in _TEXT_FILES:
            frame = _read_text(path, separator or _TEXT_FILES[kind])
        elif kind in (".parquet", ".pq"):
            frame = _read_parquet(path)
        elif kind == ".npz":
            frame = _read_arrays(path, target)
        else:
            raise CommandError(
                f"The ending of {path!r} is none of .csv, .tsv, .txt (also packed: .csv.gz), "
                ".parquet, .npz. Rename the file after what it holds."
            )
    except UnicodeDecodeError as error:
        raise CommandError(
            f"{path} is not text in UTF-8 ({error}). Save it as UTF-8, or convert it: "
            "iconv -f latin1 -t utf-8."
        ) from error
    except (OSError, ValueError, pd.errors.ParserError) as error:
        raise CommandError(f"{path} cannot be read: {error}") from error
    frame.columns = frame.columns.map(str)
    _refuse_twice(frame.columns.to_series(), path)
    if len(frame) == 0:
        raise CommandError(f"{path} has a header but no rows.")
    return frame


def _refuse_twice(names: pd.Series[Any], path: str) -> None:
    twice = names[names.duplicated()]
    if len(twice):
        raise CommandError(f"{path} has two columns {twice.iloc[0]!r}. Rename one.")


def _read_text(path: str, separator: str) -> pd.DataFrame:
    # All of a column is read before its type is told, so that it has only one.
    frame = pd.read_csv(path, sep=separator, low_memory=False, skipinitialspace=True)
    # The header as it is: pandas calls the second of two equal names 'name.1' without a word.
    first = pd.read_csv(
        path, sep=separator, header=None, nrows=1, dtype=str, skipinitialspace=True
    )
    _refuse_twice(first.iloc[0].dropna(), path)
    if frame.shape[1] == 1:
        name = str(frame.columns[0])
        for other in (";", "\t", "|", ","):
            if other != separator and other in name:
                raise CommandError(
                    f"{path} has one column only when split at {separator!r}; "
                    f"its header holds {other!r}: try --separator {other!r}."
                )
    return frame


def _read_parquet(path: str) -> pd.DataFrame:
    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise CommandError(
            f"Reading {path} needs pyarrow, which is not installed: "
            "pip install 'optuna-mofs[parquet]'. Or save the table as CSV."
        ) from error


def _read_arrays(path: str, target: str) -> pd.DataFrame:
    """Arrays ``X`` and the target; their names in ``feature_names`` if there are any."""
    with np.load(path, allow_pickle=False) as arrays:
        for needed in ("X", target):
            if needed not in arrays:
                raise CommandError(
                    f"{path} has the arrays {sorted(arrays)}; needed are 'X' (rows and columns) "
                    f"and the target {target!r} (choose it by --target)."
                )
        X, y = arrays["X"], arrays[target]
        if X.ndim != 2 or y.shape != (len(X),):
            raise CommandError(
                f"In {path} 'X' has shape {X.shape} and {target!r} {y.shape}; needed are rows and "
                "columns, and a value for each row."
            )
        named = "feature_names" in arrays
        names = list(map(str, arrays["feature_names"])) if named else []
    if named and len(names) != X.shape[1]:
        raise CommandError(
            f"{path} has {X.shape[1]} columns in 'X' but {len(names)} names in 'feature_names'."
        )
    frame = pd.DataFrame(X, columns=names or [f"x{j}" for j in range(X.shape[1])])
    if target in frame.columns:
        raise CommandError(f"{path} has a feature with the name of the target, {target!r}.")
    return pd.concat([frame, pd.Series(y, name=target)], axis=1)


def _taken(frame: pd.DataFrame, name: str, option: str, path: str) -> pd.Series[Any]:
    if name not in frame.columns:
        raise CommandError(f"{option}: {path} has no column {name!r}{guess(name, frame.columns)}")
    return frame[name]


def guess(name: str, known: Iterable[str], limit: int = 8) -> str:
    """The end of a sentence that says what else could be meant."""
    names = list(known)
    close = difflib.get_close_matches(name, names, n=1)
    if close:
        return f"; did you mean {close[0]!r}?"
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return f"; there are {', '.join(map(repr, names[:limit]))}{more}."


def _words(frame: pd.DataFrame) -> tuple[str, ...]:
    """Names of the columns that hold words; those that nothing can be made of are refused."""
    found = []
    for name, column in frame.items():
        kinds = pd.api.types
        if kinds.is_datetime64_any_dtype(column.dtype) or kinds.is_timedelta64_dtype(column.dtype):
            raise CommandError(
                f"Column {name!r} holds dates. Leave it out by --drop {name!r}, "
                "or turn it into numbers (days since, month, weekday)."
            )
        categories = isinstance(column.dtype, pd.CategoricalDtype)
        if kinds.is_numeric_dtype(column.dtype) and not categories:
            continue
        texts = column.dropna().astype(str)
        if len(texts) and texts.str.fullmatch(_DECIMAL_COMMA).all():
            raise CommandError(
                f"Column {name!r} holds numbers with a decimal comma, for example "
                f"{texts.iloc[0]!r}. Write them with a point."
            )
        distinct = column.nunique()
        if distinct > max(_MOST_WORDS, len(column) // 2):
            raise CommandError(
                f"Column {name!r} holds {distinct} different texts in {len(column)} rows, for "
                f"example {str(column.dropna().iloc[0])!r}; no model can learn from that. "
                f"Leave it out by --drop {name!r}, or turn it into numbers or categories."
            )
        found.append(str(name))
    return tuple(found)


def _refuse_missing(y: pd.Series[Any], target: str, path: str) -> None:
    missing = np.flatnonzero(y.isna())
    if len(missing):
        raise CommandError(
            f"The target {target!r} is missing in {len(missing)} of {len(y)} rows of {path}, "
            f"the first is row {missing[0] + 1}. Remove those rows."
        )


def _refuse_infinity(X: pd.DataFrame, words: Sequence[str]) -> None:
    numbers = X.drop(columns=list(words)).to_numpy()
    where = np.argwhere(np.isinf(numbers))
    if len(where):
        row, column = where[0]
        name = X.columns.drop(list(words))[column]
        raise CommandError(
            f"Column {name!r} holds infinity in row {row + 1}. Leave the entry empty, or put a "
            "large number there."
        )


def _plain(column: pd.Series[Any]) -> Any:
    """A plain array: categories and nullable types as what they hold."""
    array = column.to_numpy()
    return np.asarray(array.tolist()) if array.dtype.kind == "O" else array
