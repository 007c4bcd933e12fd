"""Time until the page of a study opens in optuna-dashboard, with and without saved figures.

Uses optuna-dashboard and a headless Chromium, which must be installed. A page is open when the
front of the dashboard is drawn. Each repetition starts a new browser, which has to load the
dashboard's scripts first, and opens the page twice. No data is needed. If other processes use the
machine, run it with a real-time priority:

    chrt -r 5 python -m benchmarks.dashboard       # a few minutes; --quick for a small run
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import optuna

from benchmarks.common import Spread, markdown_table, parser  # first: it sets threads
from optuna_mofs.dashboard import DEFAULT_FIGURES
from optuna_mofs.visualization._registry import check_figure_names
from tools.browser import Browser
from tools.dashboard_pages import (
    WIDE,
    Dashboard,
    Opening,
    example_searches,
    saved_pages,
)

#: Limit for a page that is opened again.
MAX_SECONDS = 3.0

FIGURES = {
    "none": [],
    f"{len(DEFAULT_FIGURES)} (default)": list(DEFAULT_FIGURES),
    "all": check_figure_names(None),
}

#: By number of features and figures, one pair per repetition: new browser, same browser again.
Openings = dict[tuple[int, str], list[tuple[Opening, Opening]]]


def openings(path: Path, study: optuna.Study) -> tuple[Opening, Opening]:
    """Open the page of a study in a new browser, and again in the same one."""
    with Dashboard(path) as site, Browser(1400, 900) as browser:
        return site.opening(browser, study), site.opening(browser, study)


def table(measured: Openings) -> str:
    """Return the times as Markdown; the limit is for the page that is opened again."""
    rows = []
    for (p, label), pairs in sorted(measured.items(), key=lambda entry: entry[0][0]):
        first, again = zip(*pairs)
        seconds = Spread.of([opening.seconds for opening in again])
        rows.append(
            [
                f"{p:,} features, figures: {label}",
                Spread.of([opening.cpu for opening in first]),
                Spread.of([opening.seconds for opening in first]),
                Spread.of([opening.cpu for opening in again]),
                seconds,
                "yes" if seconds.median < MAX_SECONDS else "**no**",
            ]
        )
    header = ["page", "new browser: CPU s", "s", "again: CPU s", "s", f"under {MAX_SECONDS:g} s"]
    return markdown_table(header, rows)


def main() -> None:
    arguments = parser(__doc__ or "", seeds=5).parse_args()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        searches = example_searches(folder)
        pages: dict[tuple[int, str], tuple[Path, optuna.Study]] = {}
        for i, (label, names) in enumerate(FIGURES.items()):
            path = folder / f"{i}.db"
            copies = saved_pages(path, searches, figures=names)
            pages |= {(p, label): (path, study) for p, study in zip((30, WIDE), copies)}
        measured: Openings = {key: [] for key in pages}
        # In turns, so that all are measured under the same load.
        for _ in range(1 if arguments.quick else arguments.seeds):
            for key, (path, study) in pages.items():
                measured[key].append(openings(path, study))
                print(key, measured[key][-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    print()
    print(table(measured))


if __name__ == "__main__":
    main()
