"""Create the screenshots of docs/dashboard.md.

    python -m tools.make_screenshots [NAME ...]

Needs Chromium and optuna-dashboard.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.naive_bayes import GaussianNB

from optuna_mofs import FeatureSelectionObjective, FilterEnsembleNSGA2Sampler
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
        names = names or ["front", "figures", "wide", "table", "trial", *EXAMPLES]
        examples = example_studies.load(Path(folder))
        studies = {name: examples[name if name in EXAMPLES else "breast cancer"] for name in names}
        if "wide" in names:
            studies["wide"] = wide_study()
        trials = {"table", "trial"} & set(names)
        if trials:
            studies |= dict.fromkeys(trials, fresh_study())
        different = list({study.study_name: study for study in studies.values()}.values())
        pages = {study.study_name: study for study in saved_pages(path, different)}
        with Dashboard(path) as site, Browser(WIDTH, _PAGE_HEIGHT) as browser:
            for name in names:
                if name in ("table", "trial"):
                    address = site.page(pages[studies[name].study_name])
                    _save(browser, f"dashboard_{name}", _open_trials(browser, address, name))
                    continue
                site.opening(browser, pages[studies[name].study_name])
                browser.wait_for(FIGURE_IS_DRAWN)
                top: dict[str, float] = {"x": 0, "y": 0, "width": WIDTH, "height": HEIGHT}
                is_top = name in ("front", "wide")
                clip = top if is_top else _figures_rectangle(browser, front=name in EXAMPLES)
                _save(browser, f"dashboard_{name}", clip)


def fresh_study(n_trials: int = 30) -> optuna.Study:
    """Return a study whose trials have the attributes of today."""
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    objective = FeatureSelectionObjective(GaussianNB(), X, y)
    study = objective.create_study(
        study_name="breast cancer, naive Bayes", sampler=FilterEnsembleNSGA2Sampler(seed=0)
    )
    study.optimize(objective, n_trials=n_trials)
    return study


def _open_trials(browser: Browser, address: str, name: str) -> dict[str, float]:
    """Open the page with the trial table or that of a trial, and return what to show of it."""
    if name == "trial":
        browser.open(f"{address}/trials")
        browser.wait_for("document.body.innerText.includes('User Attributes')")
        return {"x": 0, "y": 0, "width": WIDTH, "height": 800}
    browser.open(f"{address}/smartSelection")
    browser.wait_for("document.querySelectorAll('tbody tr').length > 9")
    # The attributes are the last columns.
    browser.evaluate(
        "[...document.querySelectorAll('div')].filter(e => e.querySelector('table') && "
        "e.scrollWidth > e.clientWidth).forEach(e => e.scrollLeft = 1e6)"
    )
    top = browser.evaluate("document.querySelector('table').getBoundingClientRect().top")
    return {"x": 60, "y": top - 10, "width": WIDTH - 60, "height": HEIGHT}


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
