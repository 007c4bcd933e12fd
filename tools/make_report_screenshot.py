"""Create the pictures of HTML reports in the documentation.

    python -m tools.make_report_screenshot DIR [NAME ...]

Needs Chromium. DIR has sonar.npz and madelon.npz, each with the arrays X and y.
"""

from __future__ import annotations

import contextlib
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_wine

from optuna_mofs.cli import main as optuna_mofs
from tools.browser import Browser

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
WIDTH = 1180
#: Whole page of the wine data, as in docs/command_line.md; what is on top of the others.
HEIGHTS = {"report": 2150}
_TOP = 1060

_FIGURES_ARE_DRAWN = (
    "document.readyState == 'complete' && "
    "[...document.querySelectorAll('.js-plotly-plot, .plotly-graph-div')]"
    ".every(figure => figure.querySelector('.main-svg'))"
)


def _wine(_: Path) -> pd.DataFrame:
    X, y = load_wine(return_X_y=True, as_frame=True)
    return X.assign(cultivar=y.map(str).radd("cultivar "))


def _noise(_: Path) -> pd.DataFrame:
    X = np.random.default_rng(0).normal(size=(100, 500))
    return pd.DataFrame(X).add_prefix("noise ").assign(label=np.arange(100) % 2)


def _stored(name: str, n_rows: int | None = None) -> Callable[[Path], pd.DataFrame]:
    def read(data: Path) -> pd.DataFrame:
        stored = np.load(data / f"{name}.npz", allow_pickle=True)
        rows = np.random.default_rng(0).permutation(len(stored["y"]))[:n_rows]
        return pd.DataFrame(stored["X"][rows]).add_prefix("x").assign(label=stored["y"][rows])

    return read


#: Name of the table and its rows by the name of the picture; the last column is the target.
REPORTS: dict[str, tuple[str, Callable[[Path], pd.DataFrame]]] = {
    "report": ("wine", _wine),
    "report_noise": ("noise", _noise),
    "report_sonar": ("sonar", _stored("sonar")),
    "report_madelon": ("madelon", _stored("madelon", 600)),
}


def make_report(folder: Path, table: str, frame: pd.DataFrame) -> Path:
    """Run the search and write the report."""
    frame.to_csv(folder / f"{table}.csv", index=False)
    target = str(frame.columns[-1])
    # In the folder, like a reader of the page.
    with contextlib.chdir(folder):
        for argv in (
            ["run", "--data", f"{table}.csv", "--target", target, "--trials", "80"],
            ["report", "--output", f"{table}.html"],
        ):
            if optuna_mofs(argv):
                raise SystemExit(1)
    return folder / f"{table}.html"


def main(data: Path, names: list[str]) -> None:
    """Create all pictures, or those named."""
    for name in names or REPORTS:
        table, read = REPORTS[name]
        height = HEIGHTS.get(name, _TOP)
        with tempfile.TemporaryDirectory() as folder, Browser(WIDTH, height) as browser:
            browser.open(make_report(Path(folder), table, read(data)).as_uri())
            browser.wait_for(_FIGURES_ARE_DRAWN)
            browser.screenshot(FOLDER / f"{name}.png")
        print(f"{name}.png: {(FOLDER / f'{name}.png').stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
