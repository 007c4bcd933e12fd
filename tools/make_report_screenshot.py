"""Create the picture of an HTML report in docs/command_line.md.

    python -m tools.make_report_screenshot

Needs Chromium. The study is that of the page: the wine data of scikit-learn and an SVM.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

from optuna_mofs.cli import main as optuna_mofs
from tools.browser import Browser

PICTURE = Path(__file__).parents[1] / "docs" / "figures" / "report.png"
WIDTH, HEIGHT = 1180, 2150

_FIGURES_ARE_DRAWN = (
    "document.readyState == 'complete' && "
    "[...document.querySelectorAll('.js-plotly-plot, .plotly-graph-div')]"
    ".every(figure => figure.querySelector('.main-svg'))"
)


def make_report(folder: Path) -> Path:
    """Run the search and write the report."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.assign(cultivar=y.map(str).radd("cultivar ")).to_csv(folder / "wine.csv", index=False)
    # In the folder, like a reader of the page.
    with contextlib.chdir(folder):
        for argv in (
            ["run", "--data", "wine.csv", "--target", "cultivar", "--trials", "80"],
            ["report", "--output", "wine.html"],
        ):
            if optuna_mofs(argv):
                raise SystemExit(1)
    return folder / "wine.html"


def main() -> None:
    """Create the picture."""
    with tempfile.TemporaryDirectory() as folder, Browser(WIDTH, HEIGHT) as browser:
        browser.open(make_report(Path(folder)).as_uri())
        browser.wait_for(_FIGURES_ARE_DRAWN)
        browser.screenshot(PICTURE)
    print(f"{PICTURE.name}: {PICTURE.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
