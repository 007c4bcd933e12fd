"""Text tables, atomic files, and HTML pages."""

from __future__ import annotations

import argparse
import datetime
import os
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import pandas as pd
from optuna.trial import FrozenTrial

from optuna_mofs import FeatureSelectionObjective, __version__
from optuna_mofs._format import format_number
from optuna_mofs.cli._errors import CommandError

_LONG = 10.0  # seconds after which a user asks what is going on


def add_output_options(parser: Any, *, formats: Sequence[str]) -> None:
    """Add ``--format`` and ``--output``."""
    parser.add_argument(
        "--format",
        choices=formats,
        help=f"output format (default: by the suffix of --output, else {formats[0]})",
    )
    parser.add_argument("--output", metavar="FILE", help="write to a file instead of stdout")
    parser.set_defaults(formats=formats)


def output_format(arguments: argparse.Namespace) -> str:
    """Return ``--format``, or the format by the suffix of ``--output``."""
    suffix = Path(arguments.output or "").suffix.removeprefix(".").lower()
    default = suffix if suffix in arguments.formats else arguments.formats[0]
    return str(arguments.format or default)


def csv_text(frame: pd.DataFrame, **options: Any) -> str:
    r"""Return a table as CSV that a spreadsheet does not run.

    A cell of text that begins like a formula gets an apostrophe: names of features and values of
    parameters can come from a stranger.

    Example:
        >>> csv_text(pd.DataFrame({"name": ["=1+1", "age"], "x": [-1, 2]}), index=False)
        "name,x\n'=1+1,-1\nage,2"
    """
    safe = frame.rename(columns=_inert)
    for position, kind in enumerate(safe.dtypes):
        if not pd.api.types.is_numeric_dtype(kind):
            safe.isetitem(position, frame.iloc[:, position].map(_inert).to_numpy())
    return str(safe.to_csv(**options)).rstrip("\n")


def _inert(cell: Any) -> Any:
    if not isinstance(cell, str):
        return cell
    mark = "'" if cell.startswith(("=", "+", "-", "@", "\t", "\r")) else ""
    # pandas does not quote a carriage return, which begins a new row.
    return mark + cell.replace("\r", " ")


def write_text(text: str, path: str | None) -> None:
    """Write a text to a file, or to stdout if the path is None or ``-``."""
    if path is None or path == "-":
        print(text)
        return
    write_file(path, lambda file: file.write_text(text + "\n", encoding="utf-8"))


def write_file(path: str, write: Callable[[Path], object]) -> None:
    """Let ``write`` write a temporary file, then rename it: a failure changes no existing file."""
    file = Path(path)
    try:
        handle, name = tempfile.mkstemp(dir=file.parent, prefix=f".{file.name}.")
        os.close(handle)
        temporary = Path(name)
        try:
            write(temporary)
            # A temporary file is readable only for its owner; this one is like any new file.
            mask = os.umask(0)
            os.umask(mask)
            temporary.chmod(0o666 & ~mask)
            temporary.replace(file)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CommandError(f"{path} cannot be written: {error.strerror or error}") from error


def format_table(header: Sequence[str], rows: Sequence[Sequence[str]], indent: str = "  ") -> str:
    """Return a table as text, columns aligned to the right.

    Example:
        >>> print(format_table(["error", "trial"], [["0.1", "12"], ["0.25", "3"]], indent=""))
        error  trial
          0.1     12
         0.25      3
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(header))]
    return "\n".join(
        indent + "  ".join(cell.rjust(width) for cell, width in zip(line, widths))
        for line in lines
    )


def print_status(text: str) -> None:
    """Print to stderr; only results go to stdout."""
    print(text, file=sys.stderr, flush=True)


def print_refit(trial: FrozenTrial) -> None:
    """Tell that a trial is fitted again, if that takes long."""
    seconds = 0.0 if trial.duration is None else trial.duration.total_seconds()
    if seconds > _LONG:
        took = format_duration(seconds)
        print_status(f"Fitting trial {trial.number} again, which took {took} in the search ...")


def format_value(value: Any) -> str:
    """Return the value of a parameter as text."""
    return format_number(value) if isinstance(value, float) else str(value)


def format_model(objective: FeatureSelectionObjective, trial: FrozenTrial) -> str:
    """Return the features and hyperparameters of a trial as indented lines."""
    names = objective.features_for(trial)
    lines = [format_list(names) if names else "  no features: all predictions are the same"]
    lines += [f"  {name} = {format_value(v)}" for name, v in objective.params_for(trial).items()]
    return "\n".join(lines)


def format_count(count: int, noun: str) -> str:
    """Return a number with a noun in singular or plural.

    Example:
        >>> format_count(1, "trial"), format_count(80, "trial")
        ('1 trial', '80 trials')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(seconds: float) -> str:
    """Return a time as text.

    Example:
        >>> format_duration(2.34), format_duration(200), format_duration(7380)
        ('2.3 s', '3 min', '2 h 3 min')
    """
    if seconds < 99.5:
        return f"{seconds:.1f} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"


def format_list(items: Sequence[str], indent: str = "  ") -> str:
    """Return items with commas, in lines that fit the terminal."""
    width = min(99, shutil.get_terminal_size().columns)
    # Line breaks only between items, not within a name of several words.
    glued = ", ".join(item.replace(" ", "\0") for item in items)
    lines = textwrap.wrap(
        glued, width, initial_indent=indent, subsequent_indent=indent, break_long_words=False
    )
    return "\n".join(lines).replace("\0", " ")


def script_path(name: str) -> str:
    """Return a script of this Python environment as it must be typed, activated or not."""
    folder = Path(sys.executable).parent
    if str(folder) in os.environ.get("PATH", "").split(os.pathsep):
        return name
    path = folder / name
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def short_param_names(names: Sequence[str]) -> list[str]:
    """Return names of parameters without pipeline steps, if they remain distinct.

    Example:
        >>> short_param_names(["model__tree__max_depth", "model__tree__alpha", "fraction"])
        ['max_depth', 'alpha', 'fraction']
    """
    short = [name.rpartition("__")[2] for name in names]
    return short if len(set(short)) == len(short) and all(short) else list(names)


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


def html_page(title: str, lead: str, parts: Iterable[str], *, has_figures: bool) -> str:
    """Return a whole page of parts in HTML, with plotly.js if it has figures.

    The functions below return these parts, with all texts escaped.
    """
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


def html_tiles(values: Mapping[str, str]) -> str:
    """Return key figures, value by label."""
    tiles = (
        f'<div class="tile"><b>{escape(value)}</b><span>{escape(name)}</span></div>'
        for name, value in values.items()
    )
    return f'<div class="tiles">{"".join(tiles)}</div>'


def html_section(title: str, *parts: str, note: str | None = None) -> str:
    """Return a box with a heading and parts, which are HTML."""
    intro = f'<p class="note">{escape(note)}</p>' if note else ""
    return f"<section><h2>{escape(title)}</h2>{intro}{''.join(parts)}</section>"


def html_details(title: str, *parts: str) -> str:
    """Return parts that are shown only on request."""
    # Figures that were drawn while they were hidden get their width when they are shown.
    return (
        f'<details class="more" ontoggle="{_RESIZE}"><summary>{escape(title)}</summary>'
        f"{''.join(parts)}</details>"
    )


def html_warning(text: str) -> str:
    """Return a sentence that stands out."""
    return f'<p class="warning">{escape(text)}</p>'


def html_columns(*parts: str) -> str:
    """Return parts side by side where the page is wide enough."""
    return f'<div class="columns">{"".join(f"<div>{part}</div>" for part in parts)}</div>'


def html_chips(names: Sequence[str]) -> str:
    """Return names as labels; the end of a long list is folded."""
    labels = [f"<li>{escape(name)}</li>" for name in names]
    shown, rest = labels[: 3 * _MAX_NAMES], labels[3 * _MAX_NAMES :]
    more = f'<ul class="chips">{"".join(rest)}</ul>'
    return f'<ul class="chips">{"".join(shown)}</ul>' + _folded(more, len(rest))


def html_table(
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


def html_plot(figure: Any) -> str:
    """Return a plotly figure."""
    options = {"responsive": True, "displaylogo": False}
    return str(figure.to_html(full_html=False, include_plotlyjs=False, config=options))


def html_figure(figure: Any) -> str:
    """Return a plotly figure in a box."""
    return f'<section class="figure">{html_plot(figure)}</section>'


def _cell(tag: str, value: Any, left: bool) -> str:
    if isinstance(value, list):
        shown, rest = (escape(", ".join(v)) for v in (value[:_MAX_NAMES], value[_MAX_NAMES:]))
        folded = _folded(rest, len(value) - _MAX_NAMES)
        return f'<{tag} class="text names">{shown or "–"}{folded}</{tag}>'
    kind = ' class="text"' if left else ""
    return f"<{tag}{kind}>{escape(str(value))}</{tag}>"


def _folded(content: str, count: int) -> str:
    return f"<details><summary>{count} more</summary>{content}</details>" if count > 0 else ""
