"""Plain text for a terminal: tables, wrapped lists, commands that can be typed as printed."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path


def table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Columns aligned to the right.

    Example:
        >>> print(table(["error", "trial"], [["0.1", "12"], ["0.25", "3"]], indent=""))
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


def counted(number: int, what: str) -> str:
    """A number of things.

    Example:
        >>> counted(1, "trial"), counted(80, "trial")
        ('1 trial', '80 trials')
    """
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def wrapped(items: Sequence[str], indent: str = "  ") -> str:
    """Items with commas, broken between them to fit the terminal."""
    width = min(99, shutil.get_terminal_size().columns)
    # A name of several words stays in one piece.
    glued = ", ".join(item.replace(" ", "\0") for item in items)
    lines = textwrap.wrap(
        glued, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )
    return "\n".join(lines).replace("\0", " ")


def script(name: str) -> str:
    """How to type a script of this Python's environment, activated or not."""
    folder = Path(sys.executable).parent
    if str(folder) in os.environ.get("PATH", "").split(os.pathsep):
        return name
    path = folder / name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def without_steps(names: Sequence[str]) -> list[str]:
    """Names of parameters without the pipeline's steps before them, if they still differ.

    Example:
        >>> without_steps(["model__booster__max_depth", "model__booster__subsample", "fraction"])
        ['max_depth', 'subsample', 'fraction']
        >>> without_steps(["svm__C", "ridge__C"])
        ['svm__C', 'ridge__C']
    """
    short = [name.rpartition("__")[2] for name in names]
    return short if len(set(short)) == len(short) and all(short) else list(names)


def number(value: float) -> str:
    """A number as people read it, four significant digits.

    Example:
        >>> number(0.123456), number(12.0)
        ('0.1235', '12')
    """
    whole = float(value).is_integer() and abs(value) < 1e9
    return f"{int(value):,}" if whole else f"{value:.4g}"
