"""The look that all figures share, and the one door to plotly."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any

from optuna_mofs._imports import optional_import

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: One colour a study, filter or method; easy to tell apart for the colour-blind too.
PALETTE = (
    "#2f6db3",
    "#e07b39",
    "#2e9d74",
    "#b5446e",
    "#7b5ea7",
    "#d1a11b",
    "#3aa6b9",
    "#6f7782",
)
#: The subject of a figure, what it is compared with, and what is picked out.
MAIN, QUIET, ACCENT, SECOND = PALETTE[0], "#b9c0ca", PALETTE[1], PALETTE[3]
INK, GRID = "#2b313a", "#e8ebef"
#: From nothing to all.
SCALE = [[0.0, "#f3f5f8"], [0.15, "#d5e2f0"], [0.5, "#7fabd6"], [1.0, "#1f4f87"]]

#: Where a legend stands: above the figure, or in a corner that its lines leave free.
ABOVE = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"}
LOWER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"}
UPPER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.98, "yanchor": "top"}

#: Longest label of a tick; the whole name is in the hover.
_TICK = 30


def plotly(module: str = "graph_objects") -> ModuleType:
    """A module of plotly, imported when a figure is made."""
    return optional_import(f"plotly.{module}", "all")


def colour(i: int) -> str:
    """The i-th colour; they come around again."""
    return PALETTE[i % len(PALETTE)]


def faded(hex_colour: str, opacity: float) -> str:
    """A colour that lets through what is below.

    Example:
        >>> faded("#ff8000", 0.25)
        'rgba(255,128,0,0.25)'
    """
    red, green, blue = (int(hex_colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def dressed(
    figure: go.Figure, title: str, *, subtitle: str | None = None, **layout: Any
) -> go.Figure:
    """The figure with title, fonts, background and legend as all have them.

    Args:
        figure: The figure, changed in place.
        title: What is seen. Escaped here.
        subtitle: One line below it. Escaped here.
        **layout: More of the layout.
    """
    text = f"<b>{escape(title, quote=False)}</b>"
    if subtitle:
        text += f"<br><span style='font-size:12px;color:#6f7782'>{escape(subtitle, False)}</span>"
    margin = {"l": 70, "r": 30, "t": 90 if subtitle else 70, "b": 60}
    figure.update_layout(
        template="plotly_white",
        title={
            "text": text,
            "x": 0.02,
            "xanchor": "left",
            "y": 1.0,
            "yanchor": "top",
            "pad": {"t": 26},
        },
        font={"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        hoverlabel={"bgcolor": "white", "bordercolor": QUIET, "align": "left"},
        legend={"orientation": "v", "bgcolor": "rgba(255,255,255,0.7)"},
        margin=margin,
        colorway=list(PALETTE),
    )
    lines = {"gridcolor": GRID, "linecolor": QUIET, "zeroline": False, "automargin": True}
    figure.update_xaxes(**lines)
    figure.update_yaxes(**lines)
    return figure.update_layout(**layout)


def axis_title(name: str, sign: float) -> str:
    """A metric's name, with a word where more is better."""
    text = escape(name, quote=False)
    return text if sign > 0 else f"{text} (more is better)"


def tick(name: str) -> str:
    """A name cut to what fits beside an axis.

    Example:
        >>> tick("mean radius"), tick("a" * 40)
        ('mean radius', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaa…')
    """
    short = name if len(name) <= _TICK else name[: _TICK - 1] + "…"
    return escape(short, quote=False)


def tick_labels(names: Sequence[str]) -> list[str]:
    """Labels beside an axis; those cut to the same text are numbered, or they would merge.

    Example:
        >>> tick_labels(["b", "x" * 40 + "1", "x" * 40 + "2"])[1:]
        ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (1)', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)']
    """
    labels = [tick(name) for name in names]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[:i].count(label) + 1})"
        for i, label in enumerate(labels)
    ]


def number(value: float) -> str:
    """A number as people read it, four significant digits.

    Example:
        >>> number(0.123456), number(10935.0), number(12.0)
        ('0.1235', '10,935', '12')
    """
    if float(value).is_integer() and abs(value) < 1e9:
        return f"{int(value):,}"
    return f"{value:.4g}"


def percent(share: float) -> str:
    """A share as a percentage of two significant digits.

    Example:
        >>> percent(0.1), percent(3 / 10935), percent(1.0)
        ('10 %', '0.027 %', '100 %')
    """
    text = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
    return f"{text} %"
