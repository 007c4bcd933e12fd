"""Text tables, messages and atomic files."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
from optuna.trial import FrozenTrial

from optuna_mofs import FeatureSelectionObjective
from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError

_LONG = 10.0  # seconds after which a user asks what is going on


def add_output_options(parser: Any, *, formats: Sequence[str]) -> None:
    """Add ``--format`` and ``--output``."""
    parser.add_argument(
        "--format",
        choices=formats,
        help=f"output format (default: by the suffix of --output, else {formats[0]})",
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of stdout")
    parser.set_defaults(formats=formats)


def output_format(arguments: argparse.Namespace) -> str:
    """Return ``--format``, or the format by the suffix of ``--output``."""
    suffix = Path(arguments.output or "").suffix.removeprefix(".").lower()
    default = suffix if suffix in arguments.formats else arguments.formats[0]
    return str(arguments.format or default)


def csv_text(frame: pd.DataFrame, **options: Any) -> str:
    r"""Return a table as CSV that a spreadsheet does not run.

    A cell of text that begins like a formula gets an apostrophe: names of features and values of
    parameters can come from a stranger.

    Example:
        >>> csv_text(pd.DataFrame({"name": ["=1+1", "age"], "x": [-1, 2]}), index=False)
        "name,x\n'=1+1,-1\nage,2"
    """
    safe = frame.rename(columns=_inert)
    for position, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(position, frame.iloc[:, position].map(_inert).to_numpy())
    return str(safe.to_csv(**options)).rstrip("\n")


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    mark = "'" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
    # pandas does not quote a carriage return, which begins a new row.
    return mark + cell.replace("\r", " ")


def write_text(text: str, path: str | None) -> None:
    """Write a text to a file, or to stdout if the path is None or ``-``."""
    if path is None or path == "-":
        print(text)
        return
    write_file(path, lambda file: file.write_text(text + "\n", encoding="utf-8"))


def write_file(path: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` write a temporary file, then rename it: a failure changes no existing file.

    A device or a pipe, such as ``/dev/stdout``, is written to instead of being replaced.
    """
    try:
        in_place = is_special(path)
        file = Path(path) if in_place else Path(path).resolve()  # the target of a link
        folder = None if in_place else file.parent
        handle, name = tempfile.mkstemp(dir=folder, prefix=f".{file.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            if in_place:
                file.write_bytes(temporary.read_bytes())
                return
            # A temporary file is readable only for its owner; this one is like any new file.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(file)
        finally:
            temporary.unlink(missing_ok=True)
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error


def is_special(path: str) -> bool:
    """Return whether a path is something else than a file, such as a device or a pipe."""
    return Path(path).exists() and not Path(path).is_file()


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Return a table as text, columns aligned to the right.

    Example:
        >>> print(format_table(["error", "trial"], [["0.1", "12"], ["0.25", "3"]], indent=""))
        error  trial
          0.1     12
         0.25      3
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        indent + "  ".join(cell.rjust(width) for cell, width in zip(line, widths))
        for line in lines
    )


def print_status(text: str) -> None:
    """Print to stderr; only results go to stdout."""
    print(text, file=sys.stderr, flush=True)


def print_refit(trial: FrozenTrial) -> None:
    """Print that a trial is fitted again, if that takes long."""
    seconds = 0.0 if trial.duration is None else trial.duration.total_seconds()
    if seconds > _LONG:
        took = format_duration(seconds)
        print_status(f"Fitting trial {trial.number} again, which took {took} in the search ...")


def format_value(value: Any) -> str:
    """Return the value of a parameter as text."""
    return format_number(value) if isinstance(value, float) else str(value)


def format_model(objective: FeatureSelectionObjective, trial: FrozenTrial) -> str:
    """Return the features and hyperparameters of a trial as indented lines."""
    names = objective.features_for(trial)
    lines = [format_list(names) if names else "  no features: all predictions are the same"]
    lines += [f"  {name} = {format_value(v)}" for name, v in objective.params_for(trial).items()]
    return "\n".join(lines)


def format_count(count: int, noun: str) -> str:
    """Return a number with a noun in singular or plural.

    Example:
        >>> format_count(1, "trial"), format_count(80, "trial")
        ('1 trial', '80 trials')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(seconds: float) -> str:
    """Return a time as text.

    Example:
        >>> format_duration(2.34), format_duration(200), format_duration(7380)
        ('2.3 s', '3 min', '2 h 3 min')
    """
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def format_list(items: Sequence[str]) -> str:
    """Return items with commas, in lines that fit the terminal."""
    width = min(99, shutil.get_terminal_size().columns)
    # Line breaks only between items, not within a name of several words.
    glued = ", ".join(item.replace(" ", "\0") for item in items)
    lines = textwrap.wrap(
        glued, width, initial_indent="  ", subsequent_indent="  ", break_long_words=False
    )
    return "\n".join(lines).replace("\0", " ")


def script_path(name: str) -> str:
    """Return a script of this Python environment as it must be typed, activated or not."""
    folder = Path(sys.executable).parent
    if str(folder) in os.environ.get("PATH", "").split(os.pathsep):
        return name
    path = folder / name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def short_param_names(names: Sequence[str]) -> list[str]:
    """Return names of parameters without pipeline steps, if they remain distinct.

    Example:
        >>> short_param_names(["model__tree__max_depth", "model__tree__alpha", "fraction"])
        ['max_depth', 'alpha', 'fraction']
    """
    short = [name.rpartition("__")[2] for name in names]
    return short if len(set(short)) == len(short) and all(short) else list(names)
