"""The images in the documentation show the figures that the code draws now."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import plotly.graph_objects as go
import pytest

from optuna_mofs import visualization
from tools import example_studies
from tools.browser import Browser, chromium
from tools.make_figures import FIGURES, FOLDER, fingerprint, mark, marked, picture_of

PAGE = (FOLDER.parent / "visualization.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def studies(tmp_path_factory):
    return example_studies.load(tmp_path_factory.mktemp("examples"))


@pytest.mark.parametrize("name", FIGURES)
def test_images_are_up_to_date(name, studies):
    figure = FIGURES[name](studies)
    assert marked(FOLDER / f"{name}.png") == fingerprint(figure), (
        f"docs/figures/{name}.png is out of date: run python -m tools.make_figures {name}"
    )


def test_images_are_small_and_on_the_page():
    for name in FIGURES:
        assert (FOLDER / f"{name}.png").stat().st_size < 200_000
        assert f"(figures/{name}.png)" in PAGE
    shown = set(re.findall(r"\(figures/(\w+)\.png\)", PAGE))
    assert shown == set(FIGURES)


def test_the_page_names_every_figure():
    functions = {n for n in visualization.__all__ if n.startswith("plot_")}
    for name in functions:
        assert f"{name}(" in PAGE, name


def test_fingerprints_ignore_rounding():
    one = go.Figure(go.Scatter(x=[1], y=[0.1 + 0.2]))
    same = go.Figure(go.Scatter(x=[1], y=[0.3]), layout={"template": "plotly_white"})
    other = go.Figure(go.Scatter(x=[1], y=[0.31]))
    assert fingerprint(one) == fingerprint(same) != fingerprint(other)


def test_fingerprints_are_stored_in_images(tmp_path: Path):
    copy = tmp_path / "copy.png"
    unmarked = FOLDER / "front.png"
    data = unmarked.read_bytes()
    start = data.index(b"tEXt") - 4
    (length,) = struct.unpack(">I", data[start : start + 4])
    copy.write_bytes(data[:start] + data[start + 12 + length :])
    assert marked(copy) is None
    mark(copy, "abc")
    assert marked(copy) == "abc"


@pytest.mark.skipif(chromium() is None, reason="needs Chromium (apt install chromium)")
def test_a_browser_draws_an_image(tmp_path: Path):
    path = tmp_path / "figure.png"
    figure = go.Figure(go.Scatter(x=[1, 2], y=[1, 2]), layout={"height": 300})
    with Browser() as browser:
        picture_of(browser, figure, path)
    assert struct.unpack(">II", path.read_bytes()[16:24]) == (860, 300)
    assert path.stat().st_size > 4_000, "an empty page takes less"
