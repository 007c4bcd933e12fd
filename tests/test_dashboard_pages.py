"""Pages of optuna-dashboard in a real browser; run this file alone to see only these."""

from __future__ import annotations

import json
import os
import urllib.request
from importlib.util import find_spec

import pytest

from tools.browser import Browser, chromium

if chromium() is None:
    pytest.skip("needs Chromium (apt install chromium)", allow_module_level=True)
if find_spec("optuna_dashboard") is None:
    pytest.skip("needs optuna-dashboard (the extra 'dashboard')", allow_module_level=True)

from optuna_mofs.dashboard import DEFAULT_FIGURES
from tools.dashboard_pages import OURS_IS_DRAWN, WIDE, Dashboard, example_searches, saved_pages

#: Seconds within which a page must answer.
LIMIT = 3.0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    narrow, wide = saved_pages(folder / "pages.db", example_searches(folder))
    with Dashboard(folder / "pages.db") as dashboard, Browser(1400, 900) as browser:
        # The first page of a fresh browser fills its caches; that is not our time.
        dashboard.opening(browser, narrow)
        yield browser, dashboard, {30: narrow, WIDE: wide}


@pytest.mark.parametrize("features", [30, WIDE])
def test_the_server_tells_our_names(site, features):
    _, dashboard, studies = site
    page = f"{dashboard.site}/api/studies/{studies[features]._study_id}?after=0"
    with urllib.request.urlopen(page) as answer:
        told = json.load(answer)
    assert told["objective_names"] == ["error", "fraction"]
    columns = {attribute["key"] for attribute in told["union_user_attrs"]}
    assert {"n_features", "features", "operator"} <= columns


def test_pages_open_in_time_whatever_the_number_of_features(site):
    browser, dashboard, studies = site
    took = {p: dashboard.opening(browser, study) for p, study in studies.items()}
    print(took)
    alone = "PYTEST_XDIST_WORKER" not in os.environ
    if alone and os.getloadavg()[0] <= (os.cpu_count() or 1):
        assert max(opening.seconds for opening in took.values()) < LIMIT
    else:
        # The clock counts what others do; but many features must cost no more than few.
        assert took[WIDE].cpu < 2 * took[30].cpu


@pytest.mark.parametrize("features", [30, WIDE])
def test_the_front_is_shown_with_our_names_and_figures(site, features):
    browser, dashboard, studies = site
    study = studies[features]
    dashboard.opening(browser, study)
    text = browser.evaluate("document.body.innerText")
    assert study.study_name in text
    # The dashboard names the axes of its front in two lists beside it.
    assert "Objective X:" in text
    for name in ("error", "fraction"):
        assert name in text.partition("Objective X:")[2].partition("History")[0]
    browser.wait_for(OURS_IS_DRAWN)
    ours = "document.getElementById('user-defined-plot:mofs-front')"
    for axis, name in (("x", "error"), ("y", "fraction")):
        assert browser.evaluate(f"{ours}.querySelector('.{axis}title').textContent") == name
    hover = browser.evaluate(f"{ours}.data.find(t => t.name == 'front').text.at(-1)")
    assert "feature" in hover
    drawn = browser.evaluate(
        "document.querySelectorAll('[id^=\"user-defined-plot:mofs\"]').length"
    )
    assert drawn == len(DEFAULT_FIGURES)


def test_the_note_says_what_is_optimized(site):
    browser, dashboard, studies = site
    browser.open(dashboard.page(studies[WIDE]) + "/note")
    browser.wait_for("document.body.innerText.includes('Optimized: minimize error')")
    assert "10,935" in browser.evaluate("document.body.innerText")
