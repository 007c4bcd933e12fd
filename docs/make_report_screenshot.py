"""Make the picture of an HTML report in docs/images.

``python docs/make_report_screenshot.py`` needs Chromium. The study is that of
docs/command_line.md: scikit-learn's wine data, an SVM.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import tempfile
from pathlib import Path

from sklearn.datasets import load_wine

from optuna_mofs.cli import main

IMAGES = Path(__file__).parent / "images"
SIZE = (1180, 2050)


def make_report(folder: Path) -> Path:
    """Search, and write the report."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    X.assign(cultivar=y.map(str).radd("cultivar ")).to_csv(folder / "wine.csv", index=False)
    # In the folder, as a reader of the page would be.
    with contextlib.chdir(folder):
        for argv in (
            ["run", "--data", "wine.csv", "--target", "cultivar", "--trials", "80"],
            ["report", "--output", "wine.html"],
        ):
            if main(argv):
                raise SystemExit(1)
    return folder / "wine.html"


def take_picture(page: Path, picture: Path) -> None:
    """Let Chromium show the page."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        raise SystemExit("Chromium is needed: apt install chromium")
    options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--virtual-time-budget=10000"]
    size = "--window-size={},{}".format(*SIZE)
    subprocess.run(
        [browser, *options, size, f"--screenshot={picture}", page.as_uri()],
        check=True,
        capture_output=True,
    )


if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        take_picture(make_report(Path(folder)), IMAGES / "report.png")
    print(IMAGES / "report.png")
