"""Pages of optuna-dashboard in a real browser."""

from __future__ import annotations

import json
import urllib.request
from importlib.util import find_spec

import pytest

from tools.browser import Browser, chromium

if chromium() is None:
    pytest.skip("needs Chromium (apt install chromium)", allow_module_level=True)
if find_spec("optuna_dashboard") is None:
    pytest.skip("needs optuna-dashboard (the extra 'dashboard')", allow_module_level=True)

from optuna_mofs.dashboard import DEFAULT_FIGURES
from tools.dashboard_pages import FIGURE_IS_DRAWN, WIDE, Dashboard, example_searches, saved_pages


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    narrow, wide = saved_pages(folder / "pages.db", example_searches(folder))
    with Dashboard(folder / "pages.db") as dashboard, Browser(1400, 900) as browser:
        # The first page of a new browser also fills its caches.
        dashboard.opening(browser, narrow)
        yield browser, dashboard, {30: narrow, WIDE: wide}


@pytest.mark.parametrize("features", [30, WIDE])
def test_the_server_returns_metric_names_and_attributes(site, features):
    _, dashboard, studies = site
    page = f"{dashboard.site}/api/studies/{studies[features]._study_id}?after=0"
    with urllib.request.urlopen(page) as answer:
        found = json.load(answer)
    assert found["objective_names"] == ["error", "fraction"]
    columns = {attribute["key"] for attribute in found["union_user_attrs"]}
    assert {"n_features", "features", "operator"} <= columns


def test_many_features_do_not_slow_the_page_down(site):
    browser, dashboard, studies = site
    cpu = {p: dashboard.opening(browser, study).cpu for p, study in studies.items()}
    assert cpu[WIDE] < 2 * cpu[30]


@pytest.mark.parametrize("features", [30, WIDE])
def test_the_front_is_shown_with_metric_names_and_figures(site, features):
    browser, dashboard, studies = site
    study = studies[features]
    dashboard.opening(browser, study)
    text = browser.evaluate("document.body.innerText")
    assert study.study_name in text
    # The dashboard names the axes of its front in two lists beside it.
    assert "Objective X:" in text
    for name in ("error", "fraction"):
        assert name in text.partition("Objective X:")[2].partition("History")[0]
    browser.wait_for(FIGURE_IS_DRAWN)
    ours = "document.getElementById('user-defined-plot:mofs-front')"
    error = "error (1 − accuracy)" if features == 30 else "error"
    for axis, name in (("x", f"number of features, of {features:,}"), ("y", error)):
        assert browser.evaluate(f"{ours}.querySelector('.{axis}title').textContent") == name
    title = browser.evaluate(f"{ours}.querySelector('.gtitle').textContent")
    assert ("on new rows" in title) == (features == 30), "known from an objective only"
    hover = browser.evaluate(f"{ours}.data.find(t => t.name == 'cross-validated').text.at(-1)")
    assert "feature" in hover
    drawn = browser.evaluate(
        "document.querySelectorAll('[id^=\"user-defined-plot:mofs\"]').length"
    )
    assert drawn == len(DEFAULT_FIGURES)


def test_the_note_names_the_objectives(site):
    browser, dashboard, studies = site
    browser.open(dashboard.page(studies[WIDE]) + "/note")
    browser.wait_for("document.body.innerText.includes('Optimized: minimize error')")
    assert "10,935" in browser.evaluate("document.body.innerText")


def test_trials_fit_the_window(site):
    browser, dashboard, studies = site
    browser.open(dashboard.page(studies[WIDE]) + "/smartSelection")  # the page of the trial table
    rows = "[...document.querySelectorAll('tbody tr')]"
    browser.wait_for(f"{rows}.length > 9")
    assert browser.evaluate(f"Math.max(...{rows}.map(e => e.offsetHeight))") < 150
    browser.open(dashboard.page(studies[WIDE]) + "/trials")
    browser.wait_for("document.body.innerText.includes('User Attributes')")
    assert browser.evaluate("document.documentElement.scrollWidth") <= 1400
