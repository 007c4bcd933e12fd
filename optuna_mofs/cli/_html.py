"""Parts of an HTML page, with all texts escaped."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from optuna_mofs import __version__

_STYLE = """
:root { --ink: #2b313a; --soft: #6f7782; --line: #e3e7ec; --main: #2f6db3; --accent: #e07b39; }
* { box-sizing: border-box; }
body { margin: 0; background: #f5f7f9; color: var(--ink);
  font: 15px/1.5 Helvetica, Arial, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 32px 20px 48px; }
h1 { margin: 0; font-size: 28px; line-height: 1.2; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 18px; }
.lead { margin: 6px 0 24px; color: var(--soft); overflow-wrap: anywhere; }
.tiles { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 14px; }
.tile, section { background: white; border: 1px solid var(--line); border-radius: 10px; }
.tile { padding: 14px 18px; }
.tile b { display: block; font-size: 26px; line-height: 1.25; font-weight: 600; }
.tile span { color: var(--soft); font-size: 13px; }
section { margin-top: 18px; padding: 20px 22px; }
section.figure { padding: 8px; }
.note { margin: 0 0 14px; color: var(--soft); }
.chips { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 0 18px; padding: 0;
  list-style: none; }
.chips li { padding: 2px 10px; border-radius: 12px; background: #e8f0f9; color: #1f4f87;
  font-size: 13px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 14px; }
th, td { padding: 6px 14px 6px 0; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
th.text, td.text { text-align: left; }
td.names { min-width: 320px; white-space: normal; }
tr.chosen td { background: #fdf3ea; }
tr.chosen td:first-child { box-shadow: inset 3px 0 var(--accent); padding-left: 8px; }
td:first-child, th:first-child { padding-left: 8px; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(320px, 1fr)); gap: 28px; }
.columns > div { min-width: 0; }
pre { margin: 0; padding: 12px 14px; border-radius: 8px; background: #f5f7f9; overflow-x: auto;
  font: 13px/1.6 ui-monospace, Menlo, Consolas, monospace; }
details { margin-bottom: 14px; }
details.more { margin-top: 28px; }
details.more > summary { font-size: 18px; font-weight: 600; }
.warning { margin: 0 0 18px; padding: 12px 18px; border-left: 4px solid var(--accent);
  background: #fdf3ea; color: #8a3a08; font-weight: 600; }
summary { cursor: pointer; color: var(--main); }
footer { margin-top: 24px; color: var(--soft); font-size: 13px; }
@media print { body { background: white; } section, .tile { break-inside: avoid; } }
"""

_MAX_NAMES = 12  # further names of a list are folded
#: Makes figures get the width of their place, after the page around them is there.
_RESIZE = "window.dispatchEvent(new Event('resize'))"


def page(title: str, lead: str, parts: Iterable[str], *, has_figures: bool) -> str:
    """Return a whole page of parts, with plotly.js if it has figures."""
    now = datetime.datetime.now().astimezone().strftime("%Y-%m-%d %H:%M %Z")
    body = "\n".join(parts)
    library = ""
    if has_figures:
        from plotly.offline import get_plotlyjs

        # The library must not contain the tag that ends the script.
        script = get_plotlyjs().replace("</script", "<\\/script")
        # The first of two figures side by side is drawn when it is still alone.
        library = f"<script>{script}\nwindow.addEventListener('load', () => {_RESIZE})</script>"
    return (
        "<!DOCTYPE html>\n"
        f'<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<style>{_STYLE}</style>\n{library}</head><body><main>\n"
        f'<h1>{escape(title)}</h1>\n<p class="lead">{escape(lead)}</p>\n{body}\n'
        f"<footer>optuna-mofs {__version__}, {escape(now)}</footer>\n</main></body></html>"
    )


def tiles(values: Mapping[str, str]) -> str:
    """Return key figures, value by label."""
    tiles = (
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in values.items()
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def section(title: str, *parts: str, note: str | None = None) -> str:
    """Return a box with a heading and parts, which are HTML."""
    intro = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(title)}</h2>{intro}{''.join(parts)}</section>"


def details(title: str, *parts: str) -> str:
    """Return parts that are shown only on request."""
    # Figures that were drawn while they were hidden get their width when they are shown.
    return (
        f'<details class="more" ontoggle="{_RESIZE}"><summary>{escape(title)}</summary>'
        f"{''.join(parts)}</details>"
    )


def warning(text: str) -> str:
    """Return a sentence that stands out."""
    return f'<p class="warning">{escape(text)}</p>'


def columns(*parts: str) -> str:
    """Return parts side by side where the page is wide enough."""
    return f'<div class="columns">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def chips(names: Sequence[str]) -> str:
    """Return names as labels; the end of a long list is folded."""
    labels = [f"<li>{escape(name)}</li>" for name in names]
    shown, rest = labels[: 3 * _MAX_NAMES], labels[3 * _MAX_NAMES :]
    more = f'<ul class="chips">{"".join(rest)}</ul>'
    return f'<ul class="chips">{"".join(shown)}</ul>' + _folded(more, len(rest))


def table(
    header: Sequence[str],
    rows: Iterable[Sequence[Any]],
    *,
    text: Sequence[int] = (),
    chosen: int | None = None,
) -> str:
    """Return a table. A cell is a text or a list of names, whose end is folded.

    Args:
        header: Names of the columns.
        rows: Cells per row.
        text: Positions of the columns that are aligned to the left.
        chosen: Position of the highlighted row.
    """
    heads = "".join(_cell("th", name, j in text) for j, name in enumerate(header))
    lines = []
    for i, row in enumerate(rows):
        mark = ' class="chosen"' if i == chosen else ""
        cells = "".join(_cell("td", cell, j in text) for j, cell in enumerate(row))
        lines.append(f"<tr{mark}>{cells}</tr>")
    return (
        f'<div class="scroll"><table><thead><tr>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def plot(figure: Any) -> str:
    """Return a plotly figure."""
    options = {"responsive": True, "displaylogo": False}
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=options))


def figure(figure: Any) -> str:
    """Return a plotly figure in a box."""
    return f'<section class="figure">{plot(figure)}</section>'


def _cell(tag: str, value: Any, left: bool) -> str:
    if isinstance(value, list):
        shown, rest = (escape(", ".join(v)) for v in (value[:_MAX_NAMES], value[_MAX_NAMES:]))
        folded = _folded(rest, len(value) - _MAX_NAMES)
        return f'<{tag} class="text names">{shown or "–"}{folded}</{tag}>'
    kind = ' class="text"' if left else ""
    return f"<{tag}{kind}>{escape(str(value))}</{tag}>"


def _folded(content: str, count: int) -> str:
    return f"<details><summary>{count} more</summary>{content}</details>" if count > 0 else ""
