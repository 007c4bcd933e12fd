"""Create the screenshots of docs/dashboard.md.

    python -m tools.make_screenshots

Needs Chromium and optuna-dashboard.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import optuna

from tools.browser import Browser
from tools.dashboard_pages import (
    FIGURE_IS_DRAWN,
    Dashboard,
    example_searches,
    saved_pages,
)

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
WIDTH, HEIGHT = 1200, 640
#: Height of a whole study page in pixels.
_PAGE_HEIGHT = 3600


def main() -> None:
    """Create all screenshots."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pages.db"
        narrow, wide = saved_pages(path, example_searches(Path(folder)))
        with Dashboard(path) as site, Browser(WIDTH, _PAGE_HEIGHT) as browser:
            for study, name in ((narrow, "front"), (wide, "wide")):
                site.opening(browser, study)
                browser.wait_for(FIGURE_IS_DRAWN)
                top: dict[str, float] = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}
                _save(browser, f"dashboard_{name}", top)
            site.opening(browser, narrow)
            browser.wait_for(FIGURE_IS_DRAWN)
            _save(browser, "dashboard_figures", _figures_rectangle(browser))


def _figures_rectangle(browser: Browser) -> dict[str, float]:
    """Return the rectangle around the figures of this package."""
    edges = browser.evaluate(
        "(() => { const all = [...document.querySelectorAll('.js-plotly-plot')]"
        ".filter(e => e.id.startsWith('user-defined-plot:mofs'))"
        ".map(e => e.getBoundingClientRect());"
        "return [Math.min(...all.map(r => r.top)), Math.max(...all.map(r => r.bottom))]; })()"
    )
    top = max(0, edges[0] - 10)
    height = edges[1] - top + 20
    return {"x": 60, "y": top, "width": WIDTH - 60, "height": height, "scale": 0.75}


def _save(browser: Browser, name: str, clip: dict[str, float]) -> None:
    path = FOLDER / f"{name}.png"
    browser.screenshot(path, clip)
    print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
