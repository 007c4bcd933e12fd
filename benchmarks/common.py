"""Shared parts of the benchmark scripts: options, data, a single thread, Markdown tables.

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

# If a script imported numpy before this module, its thread pools already exist.
threadpoolctl.threadpool_limits(1)


def parser(description: str, *, seeds: int = 5) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks.

    Args:
        description: Description of the benchmark.
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
    made.add_argument("--quick", action="store_true", help="small run, to check that it works")
    return made


def load(folder: Path | None, name: str) -> dict[str, np.ndarray]:
    """Return the arrays of ``NAME.npz``, or exit if there is no ``X`` or ``y``.

    Args:
        folder: Value of ``--data``.
        name: Name of the data set.
    """
    if folder is None:
        sys.exit(f"The data set {name!r} is required. Pass its folder as --data DIR.")
    path = folder / f"{name}.npz"
    if not path.is_file():
        found = ", ".join(sorted(p.stem for p in folder.glob("*.npz"))) or "no .npz file"
        sys.exit(f"{path} does not exist. The folder contains: {found}.")
    with np.load(path, allow_pickle=False) as arrays:
        data = {key: arrays[key] for key in arrays.files}
    lacking = {"X", "y"} - set(data)
    if lacking:
        sys.exit(f"{path} must contain X and y, got {sorted(data)}.")
    return data


@dataclass(frozen=True)
class Spread:
    """Median and range of repeated measurements, printed as ``median [min, max]``."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Summarize some numbers."""
        return cls(statistics.median(values), min(values), max(values))

    @classmethod
    def quartiles(cls, values: Sequence[float]) -> Spread:
        """Summarize many numbers by median and quartiles."""
        low, middle, high = statistics.quantiles(values, n=4)
        return cls(middle, low, high)

    def __str__(self) -> str:
        return f"{number(self.median)} [{number(self.low)}, {number(self.high)}]"


def number(value: float) -> str:
    """Return a number with three significant digits as text.

    Example:
        >>> number(1234.5), number(0.012345), number(2)
        ('1,234', '0.0123', '2')
    """
    if isinstance(value, int | np.integer) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Return a Markdown table; all columns but the first are aligned to the right."""
    lines = [list(header), ["---", *["--:"] * (len(header) - 1)]]
    lines += [[_cell(cell) for cell in row] for row in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, float | int | np.number) and not isinstance(value, bool):
        return number(float(value) if isinstance(value, float | np.floating) else int(value))
    return str(value)
