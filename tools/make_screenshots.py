"""Create the screenshots of docs/dashboard.md.

    python -m tools.make_screenshots [NAME ...]

Needs Chromium and optuna-dashboard.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import optuna

from tools import example_studies
from tools.browser import Browser
from tools.dashboard_pages import (
    FIGURE_IS_DRAWN,
    Dashboard,
    saved_pages,
    wide_study,
)

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
WIDTH, HEIGHT = 1200, 640
#: Studies whose front is shown as the dashboard draws it.
EXAMPLES = ("noise", "sonar", "madelon")
#: Height of a whole study page in pixels.
_PAGE_HEIGHT = 3600


def main(names: list[str]) -> None:
    """Create all screenshots, or those named."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.db"
        names = names or ["front", "figures", "wide", *EXAMPLES]
        examples = example_studies.load(Path(folder))
        studies = {name: examples[name if name in EXAMPLES else "breast cancer"] for name in names}
        if "wide" in names:
            studies["wide"] = wide_study()
        different = list({study.study_name: study for study in studies.values()}.values())
        pages = {study.study_name: study for study in saved_pages(path, different)}
        with Dashboard(path) as site, Browser(WIDTH, _PAGE_HEIGHT) as browser:
            for name in names:
                site.opening(browser, pages[studies[name].study_name])
                browser.wait_for(FIGURE_IS_DRAWN)
                top: dict[str, float] = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}
                is_top = name in ("front", "wide")
                clip = top if is_top else _figures_rectangle(browser, front=name in EXAMPLES)
                _save(browser, f"dashboard_{name}", clip)


def _figures_rectangle(browser: Browser, *, front: bool) -> dict[str, float]:
    """Return the rectangle around the figures of this package, or around the front."""
    prefix = "user-defined-plot:mofs" + ("-front" if front else "")
    edges = browser.evaluate(
        "(() => { const all = [...document.querySelectorAll('.js-plotly-plot')]"
        f".filter(e => e.id.startsWith('{prefix}'))"
        ".map(e => e.getBoundingClientRect());"
        "return [Math.min(...all.map(r => r.top)), Math.max(...all.map(r => r.bottom)),"
        "Math.max(...all.map(r => r.right))]; })()"
    )
    top = max(0, edges[0] - 10)
    width, height = (edges[2] if front else WIDTH) - 60, edges[1] - top + 20
    return {"x": 60, "y": top, "width": width, "height": height, "scale": 1 if front else 0.75}


def _save(browser: Browser, name: str, clip: dict[str, float]) -> None:
    path = FOLDER / f"{name}.png"
    browser.screenshot(path, clip)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
