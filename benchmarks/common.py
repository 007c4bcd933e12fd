"""What the benchmark scripts share: options, data, one thread, and tables in Markdown.

Run a script from the root of the checkout: ``python -m benchmarks.storage --quick``.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

for _variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_variable] = "1"  # read when numpy is loaded, and by child processes

import numpy as np  # noqa: E402
import threadpoolctl  # noqa: E402

# If a script imported numpy before this module, its thread pools are there already.
threadpoolctl.threadpool_limits(1)


def parser(description: str, *, seeds: int = 5) -> argparse.ArgumentParser:
    """A parser with the options that all benchmarks have; add your own to it.

    Args:
        description: What the benchmark shows.
        seeds: Default number of repetitions.
    """
    made = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    made.add_argument(
        "--data", type=Path, metavar="DIR", help="folder with data sets as NAME.npz (X, y)"
    )
    made.add_argument(
        "--seeds", type=int, default=seeds, metavar="N", help="repetitions (default: %(default)s)"
    )
    made.add_argument("--quick", action="store_true", help="a small run that shows it works")
    return made


def load(folder: Path | None, name: str) -> dict[str, np.ndarray]:
    """The arrays of ``NAME.npz``, at least ``X`` and ``y``; stops the script if they are missing.

    Args:
        folder: What ``--data`` gave.
        name: Name of the data set.
    """
    if folder is None:
        sys.exit(f"Data set {name!r} is needed: give its folder with --data DIR.")
    path = folder / f"{name}.npz"
    if not path.is_file():
        found = ", ".join(sorted(p.stem for p in folder.glob("*.npz"))) or "no .npz file at all"
        sys.exit(f"There is no {path}. The folder holds: {found}.")
    with np.load(path, allow_pickle=False) as arrays:
        data = {key: arrays[key] for key in arrays.files}
    lacking = {"X", "y"} - set(data)
    if lacking:
        sys.exit(f"{path} lacks {sorted(lacking)}; it has {sorted(data)}.")
    return data


@dataclass(frozen=True)
class Spread:
    """Median and range of repeated measurements, printed as ``median [least, most]``."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarize some numbers."""
        return cls(statistics.median(values), min(values), max(values))

    @classmethod
    def quartiles(cls, values: Sequence[float]) -> Spread:
        """Summarize many numbers: the range is that of their middle half."""
        low, middle, high = statistics.quantiles(values, n=4)
        return cls(middle, low, high)

    def __str__(self) -> str:
        return f"{number(self.median)} [{number(self.least)}, {number(self.most)}]"


def number(value: float) -> str:
    """A number with three significant digits, without an exponent where it can be read.

    Example:
        >>> number(1234.5), number(0.012345), number(2)
        ('1,234', '0.0123', '2')
    """
    if isinstance(value, int | np.integer) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A Markdown table; the first column is text, the others are aligned to the right."""
    lines = [list(header), ["---", *["--:"] * (len(header) - 1)]]
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return number(float(value) if isinstance(value, float | np.floating) else int(value))
    return str(value)
