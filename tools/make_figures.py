"""Create the pictures of docs/visualization.md from the example studies.

    python -m tools.make_figures [NAME ...]

Needs Chromium. Each picture contains the fingerprint of its figure, so that
``tests/test_make_figures.py`` fails if a picture is out of date.
"""

from __future__ import annotations

import hashlib
import json
import struct
import sys
import tempfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
from optuna.study import Study
from plotly.offline import get_plotlyjs

from optuna_mofs import visualization as vis
from tools import example_studies
from tools.browser import Browser

FOLDER = Path(__file__).parents[1] / "docs" / "figures"
WIDTH, HEIGHT = 860, 520

_KEYWORD = b"optuna-mofs figure"

Studies = dict[str, Study]

#: Figures of docs/visualization.md by the name of the picture.
FIGURES: dict[str, Callable[[Studies], go.Figure]] = {
    "front": lambda s: vis.plot_front(s["breast cancer"], preference=example_studies.PREFERENCE),
    "front_sonar": lambda s: vis.plot_front(s["sonar"]),
    "front_noise": lambda s: vis.plot_front(s["noise"]),
    "front_madelon": lambda s: vis.plot_front(s["madelon"]),
    "front_of_three": lambda s: vis.plot_front(s["breast cancer by priority"]),
    "hypervolume": lambda s: vis.plot_hypervolume(example_studies.runs(s)),
    "feature_frequency": lambda s: vis.plot_feature_frequency(s["breast cancer"]),
    "stability": lambda s: vis.plot_stability(s["resamples"]),
    "feature_order": lambda s: vis.plot_feature_order(s["breast cancer"]),
    "filter_weights": lambda s: vis.plot_filter_weights(s["filter ensemble"]),
    "attainment": lambda s: vis.plot_attainment(example_studies.runs(s)),
    "operators": lambda s: vis.plot_operators(s["breast cancer"]),
    "lexicographic_targets": lambda s: vis.plot_lexicographic_targets(
        s["breast cancer by priority"], example_studies.PREFERENCE
    ),
    "critical_difference": lambda s: vis.plot_critical_difference(example_studies.by_data_set(s)),
}


def fingerprint(figure: go.Figure) -> str:
    """Return a short text that is equal for figures of equal content.

    The template is ignored, because a new version of plotly may have other defaults.
    """
    content = figure.to_plotly_json()
    content["layout"].pop("template", None)
    text = json.dumps(_plain(content), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _plain(value: Any) -> Any:
    """Return a value in plain JSON, numbers with six significant digits."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple) or hasattr(value, "tolist"):
        return [_plain(entry) for entry in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


def picture_of(browser: Browser, figure: go.Figure, path: Path) -> None:
    """Save a screenshot of a figure."""
    height = int(figure.layout.height or HEIGHT)
    browser.resize(WIDTH, height)
    if browser.evaluate("typeof Plotly") != "object":
        _open_empty_page(browser)
    figure = go.Figure(figure).update_layout(width=WIDTH, height=height)
    browser.evaluate(
        "document.title = 'drawing'; { const figure = " + str(figure.to_json()) + ";"
        "Plotly.newPlot('figure', figure.data, figure.layout, {staticPlot: true})"
        ".then(() => requestAnimationFrame(() => { document.title = 'drawn'; })) }"
    )
    browser.wait_for("document.title == 'drawn'")
    browser.screenshot(path)


def _open_empty_page(browser: Browser) -> None:
    """Open an empty page with plotly.js, whose three megabytes are loaded once for all figures."""
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "empty.html"
        page.write_text(
            "<!DOCTYPE html><meta charset='utf-8'><body style='margin:0;overflow:hidden'>"
            f"<div id='figure'></div><script>{get_plotlyjs()}</script>",
            encoding="utf-8",
        )
        browser.open(page.as_uri())
        browser.wait_for("document.readyState == 'complete' && typeof Plotly == 'object'")


def mark(path: Path, text: str) -> None:
    """Store a text in a PNG file."""
    data = path.read_bytes()
    body = b"tEXt" + _KEYWORD + b"\0" + text.encode("latin-1")
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    end = data.rindex(b"IEND") - 4
    path.write_bytes(data[:end] + chunk + data[end:])


def marked(path: Path) -> str | None:
    """Return the text that :func:`mark` stored, or None."""
    data = path.read_bytes()
    start = data.find(b"tEXt" + _KEYWORD + b"\0")
    if start < 0:
        return None
    (length,) = struct.unpack(">I", data[start - 4 : start])
    return data[start + 4 + len(_KEYWORD) + 1 : start + 4 + length].decode("latin-1")


def main(names: list[str]) -> None:
    """Create all pictures, or those named."""
    unknown = set(names) - set(FIGURES)
    if unknown:
        sys.exit(f"Unknown figures {sorted(unknown)}. Known figures: {', '.join(FIGURES)}.")
    with tempfile.TemporaryDirectory() as folder, Browser(WIDTH, HEIGHT) as browser:
        studies = example_studies.load(Path(folder))
        for name in names or FIGURES:
            path = FOLDER / f"{name}.png"
            figure = FIGURES[name](studies)
            picture_of(browser, figure, path)
            mark(path, fingerprint(figure))
            print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main(sys.argv[1:])
