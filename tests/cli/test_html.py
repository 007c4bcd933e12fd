from __future__ import annotations

from html.parser import HTMLParser

import plotly.graph_objects as go

from optuna_mofs.cli import _html as html

BAD = "<i>&\"'"


class Loaded(HTMLParser):
    """Collects the addresses that a browser would load, and the open tags."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.addresses += [str(value) for name, value in attrs if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_nothing_is_loaded_and_every_tag_is_closed() -> None:
    parts = [
        html.tiles({"trials": "5"}),
        html.section("Front", html.table(["a", "b"], [[1, ["x"] * 20]], text=[1], chosen=0)),
        html.columns(html.chips([f"feature {i}" for i in range(50)])),
        html.figure(go.Figure(go.Scatter(x=[1], y=[1]))),
        html.figure(go.Figure(go.Scatter(x=[1], y=[2]))),
    ]
    text = html.page("A title", "one line", parts, has_figures=True)
    found = Loaded()
    found.feed(text)
    found.close()
    assert found.addresses == []
    assert found.open == []
    assert text.count("plotly.js v") == 1, "the library is there once"
    assert text.count("Plotly.newPlot(") >= 2
    assert "14 more" in text
    assert 'class="chosen"' in text


def test_texts_are_escaped() -> None:
    parts = [
        html.tiles({BAD: BAD}),
        html.section(BAD, html.chips([BAD]), html.table([BAD], [[BAD], [[BAD]]]), note=BAD),
    ]
    text = html.page(BAD, BAD, parts, has_figures=False)
    assert "<i>&" not in text
    assert text.count("&lt;i&gt;&amp;") == 11
    assert "<script" not in text
