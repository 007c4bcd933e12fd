"""How long a study's page takes to open in optuna-dashboard, with and without our figures.

A real optuna-dashboard and a headless Chromium, which must be installed. A page is open when the
dashboard's own front is drawn. Each repetition begins with a new browser, which has to read the
dashboard's program first, and opens the page a second time. No data is needed. On a machine that
has other work to do, give it the right of way, or the clock counts that work too:

    chrt -r 5 python -m benchmarks.dashboard       # some minutes; --quick for a small run
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

#: The bar, in seconds.
MOST_SECONDS = 3.0

FIGURES = {
    "none": [],
    f"{len(DEFAULT_FIGURES)} (default)": list(DEFAULT_FIGURES),
    "all": check_figure_names(None),
}

#: By number of features and figures: each repetition in a new browser, and again in the same.
Took = dict[tuple[int, str], list[tuple[Opening, Opening]]]


def openings(path: Path, study: optuna.Study) -> tuple[Opening, Opening]:
    """Of a study's page in a new browser, and again in the same."""
    with Dashboard(path) as site, Browser(1400, 900) as browser:
        return site.opening(browser, study), site.opening(browser, study)


def table(took: Took) -> str:
    """The figures in Markdown; what counts is the page opened again."""
    rows = []
    for (p, label), pairs in sorted(took.items(), key=lambda entry: entry[0][0]):
        first, again = zip(*pairs)
        seconds = Spread.of([opening.seconds for opening in again])
        rows.append(
            [
                f"{p:,} features, figures: {label}",
                Spread.of([opening.cpu for opening in first]),
                Spread.of([opening.seconds for opening in first]),
                Spread.of([opening.cpu for opening in again]),
                seconds,
                "yes" if seconds.median < MOST_SECONDS else "**no**",
            ]
        )
    header = ["page", "new browser: CPU s", "s", "again: CPU s", "s", f"under {MOST_SECONDS:g} s"]
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
        took: Took = {key: [] for key in pages}
        # In turns, so that all meet the same noise.
        for _ in range(1 if arguments.quick else arguments.seeds):
            for key, (path, study) in pages.items():
                took[key].append(openings(path, study))
                print(key, took[key][-1], f"load {os.getloadavg()[0]:.1f}", flush=True)
    print()
    print(table(took))


if __name__ == "__main__":
    main()
