"""Pages of optuna-dashboard in a real browser; run this file alone to see only these."""

from __future__ import annotations

import time
from importlib.util import find_spec

import pytest

from tools.browser import Browser, chromium

if chromium() is None:
    pytest.skip("needs Chromium (apt install chromium)", allow_module_level=True)
if find_spec("optuna_dashboard") is None:
    pytest.skip("needs optuna-dashboard (the extra 'dashboard')", allow_module_level=True)

from tools.dashboard_pages import (
    FRONT_IS_DRAWN,
    OURS_IS_DRAWN,
    WIDE,
    address,
    example_pages,
    served,
)

#: Seconds within which a page must answer.
LIMIT = 3.0


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    narrow, wide = example_pages(tmp_path_factory.mktemp("pages"))
    with served(narrow._storage) as url, Browser(1400, 3600) as browser:
        # The first page of a fresh browser fills its caches; that is not our time.
        browser.open(address(url, narrow))
        browser.wait_for(FRONT_IS_DRAWN)
        yield browser, url, {30: narrow, WIDE: wide}


@pytest.mark.parametrize("features", [30, WIDE])
def test_the_front_is_shown_with_our_names_and_figures_in_time(site, features):
    browser, url, studies = site
    study = studies[features]
    seconds = min(_opening(browser, address(url, study)) for _ in range(2))
    assert seconds < LIMIT
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
    assert drawn == 6


def test_the_note_says_what_is_optimised(site):
    browser, url, studies = site
    browser.open(address(url, studies[WIDE]) + "/note")
    browser.wait_for("document.body.innerText.includes('Optimised: minimise error')")
    assert "10,935" in browser.evaluate("document.body.innerText")


def _opening(browser: Browser, page: str) -> float:
    """Seconds from the click to the front.

    On a busy machine the clock counts what others do; then the processor time of the browser and
    of the server (this process) is what the page costs.
    """
    browser.open("about:blank")
    browser.wait_for("location.href == 'about:blank'")
    start, used = time.monotonic(), browser.cpu_seconds() + time.process_time()
    browser.open(page)
    browser.wait_for(FRONT_IS_DRAWN)
    busy = browser.cpu_seconds() + time.process_time() - used
    elapsed = time.monotonic() - start
    print(f"{page}: {elapsed:.2f} s, processor {busy:.2f} s")
    return min(elapsed, busy)
