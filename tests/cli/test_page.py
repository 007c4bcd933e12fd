from __future__ import annotations

from html.parser import HTMLParser

import plotly.graph_objects as go

from optuna_mofs.cli import page

BAD = "<i>&\"'"


class Loaded(HTMLParser):
    """Collects what a browser would fetch, and whether tags are closed."""

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
        page.tiles({"trials": "5"}),
        page.section("Front", page.table(["a", "b"], [[1, ["x"] * 20]], text=[1], chosen=0)),
        page.columns(page.chips([f"feature {i}" for i in range(50)]), page.command("ls")),
        page.figure(go.Figure(go.Scatter(x=[1], y=[1]))),
        page.figure(go.Figure(go.Scatter(x=[1], y=[2]))),
    ]
    text = page.page("A title", "one line", parts, script=True)
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
        page.tiles({BAD: BAD}),
        page.section(BAD, page.chips([BAD]), page.table([BAD], [[BAD], [[BAD]]]), note=BAD),
        page.command(BAD),
    ]
    text = page.page(BAD, BAD, parts, script=False)
    assert "<i>&" not in text
    assert text.count("&lt;i&gt;&amp;") == 12
    assert "<script" not in text
