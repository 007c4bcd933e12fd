"""Shared by the figures: style, labels, groups of studies, feature sets of a front."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._format import format_number
from optuna_mofs._imports import optional_import
from optuna_mofs._typing import Bools
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.fronts._front import Front, pareto_front
from optuna_mofs.study._completed_trials import CompletedTrials, feature_count, feature_text
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_mask, shorten
from optuna_mofs.study._trial_note import trial_note

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: One color per study, filter or method; distinguishable with color blindness too.
PALETTE = ("#2f6db3", "#e07b39", "#2e9d74", "#b5446e", "#7b5ea7", "#d1a11b", "#3aa6b9", "#6f7782")
#: Colors of the subject of a figure, of what it is compared with, and of highlights.
MAIN, MUTED, ACCENT, SECOND_ACCENT = PALETTE[0], "#b9c0ca", PALETTE[1], PALETTE[3]
INK, FAINT_INK, GRID = "#2b313a", PALETTE[7], "#e8ebef"
#: The accent color, dark enough for small letters.
WARNING = "#b8500f"
#: Color scale from 0 to 1, and the cells of a heatmap of fractions.
COLOR_SCALE = [[0.0, "#f3f5f8"], [0.15, "#d5e2f0"], [0.5, "#7fabd6"], [1.0, "#1f4f87"]]
CELLS = {"zmin": 0, "zmax": 1, "colorscale": COLOR_SCALE, "xgap": 2, "ygap": 2}
#: Positions of a legend: above or below the figure, or in a corner without lines. Below it may
#: take several lines, where it is narrow.
LEGEND_ABOVE = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1.0, "yanchor": "bottom"}
LEGEND_BELOW = {
    "orientation": "h",
    "x": 0,
    "y": 0,
    "yref": "container",
    "yanchor": "bottom",
    "traceorder": "normal",
    "font": {"size": 12},
}
LEGEND_LOWER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.02, "yanchor": "bottom"}
LEGEND_UPPER_RIGHT = {"x": 0.99, "xanchor": "right", "y": 0.98, "yanchor": "top"}
#: Axis with one row per name, the first at the top.
NAME_AXIS: dict[str, Any] = {
    "type": "category",
    "autorange": "reversed",
    "showgrid": False,
    "dtick": 1,
    "ticksuffix": "  ",
}
#: Maximum numbers of characters: of a tick label (the hover text has the full name), of a study's
#: name in a title (more would overlap the toolbar), of the features in a hover text, per line, of
#: a line below the title.
_MAX_TICK, _MAX_TITLE, _MAX_HOVER, _MAX_HOVER_LINE, _MAX_SUBTITLE = 30, 40, 400, 60, 95
#: Prefix of the names that Optuna generates for studies.
_GENERATED_NAME = "no-name-"

#: One study; several studies, each on its own; or by name, with several runs per name.
Studies = Study | Sequence[Study] | Mapping[str, Study | Sequence[Study]]


def import_plotly(module: str = "graph_objects") -> ModuleType:
    """Import a module of plotly. Called when a figure is created, because plotly is slow."""
    return optional_import(f"plotly.{module}")


def palette_color(i: int) -> str:
    """Return the i-th color of the palette, cyclically."""
    return PALETTE[i % len(PALETTE)]


def with_opacity(hex_color: str, opacity: float) -> str:
    """Return a color with an opacity."""
    red, green, blue = (int(hex_color[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},{opacity:g})"


def apply_style(
    figure: go.Figure,
    title: str,
    *,
    subtitle: str | None = None,
    warning: str | None = None,
    **layout: Any,
) -> go.Figure:
    """Set title, fonts, background and legend of a figure in place, and return it.

    The warning is shown below the subtitle, in the accent color.
    """
    text = f"<b>{escape(title, quote=False)}</b>"
    lines = [(subtitle, FAINT_INK)] if subtitle else []
    lines += [(line, WARNING) for line in textwrap.wrap(warning or "", _MAX_SUBTITLE)]
    for line, color in lines:
        style = f"font-size:12px;color:{color}"
        text += f"<br><span style='{style}'>{escape(line, quote=False)}</span>"
    position = {"x": 0.02, "xanchor": "left", "y": 1.0, "yanchor": "top", "pad": {"t": 26}}
    figure.update_layout(
        template="plotly_white",
        title={"text": text, **position},
        font={"family": "Helvetica, Arial, sans-serif", "size": 13, "color": INK},
        hoverlabel={"bgcolor": "white", "bordercolor": MUTED, "align": "left"},
        legend={"orientation": "v", "bgcolor": "rgba(255,255,255,0.7)"},
        margin={"l": 70, "r": 30, "t": 70 + 20 * len(lines), "b": 60},
        colorway=list(PALETTE),
    )
    axes = {"gridcolor": GRID, "linecolor": MUTED, "zeroline": False, "automargin": True}
    figure.update_xaxes(**axes)
    figure.update_yaxes(**axes)
    return figure.update_layout(**layout)


def add_band(
    figure: go.Figure, x: Any, low: Any, high: Any, color: str, opacity: float, **style: Any
) -> None:
    """Add a band between two step lines, which is not in the legend."""
    for edge, fill in ((low, None), (high, "tonexty")):
        figure.add_scatter(
            x=x,
            y=np.round(edge, 10).tolist(),
            mode="lines",
            line={"shape": "hv", "color": color, "width": 0},
            fill=fill,
            fillcolor=with_opacity(color, opacity),
            hoverinfo="skip",
            showlegend=False,
            **style,
        )


def axis_title(name: str, sign: float) -> str:
    """Return the name of a metric; it is marked if the metric is maximized."""
    text = escape(name, quote=False)
    return text if sign > 0 else f"{text} (more is better)"


def metric_label(points: CompletedTrials, column: int) -> str:
    """Return the name of a metric for display: ``error (1 − roc_auc)`` or ``RMSE``."""
    description = StudyDescription.read(points.study)
    measures = () if description is None else description.measures
    labels = {measure.name: measure.label for measure in measures}
    label = labels.get(points.measure_names[column], "").replace("1 - ", "1 − ")
    label = "1 − R²" if label == "1 − r2" else label
    name = points.metric_names[column]
    return f"{name} ({label})" if label.startswith("1 − ") else label or name


def metric_title(points: CompletedTrials, column: int) -> str:
    """Return the title of the axis of a metric."""
    return axis_title(metric_label(points, column), points.signs[column])


def metric_axes(figure: go.Figure, points: CompletedTrials) -> go.Figure:
    """Set the titles of both axes to the first two metrics."""
    x, y = (metric_title(points, column) for column in (0, 1))
    return figure.update_xaxes(title=x).update_yaxes(title=y)


def tick_labels(names: Sequence[str]) -> list[str]:
    """Return names, cut to fit next to an axis. Names cut to the same text are numbered.

    Example:
        >>> tick_labels(["b", "x" * 40 + "1", "x" * 40 + "2"])[1:]
        ['xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (1)', 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxx… (2)']
    """
    labels = [escape(_cut(name, _MAX_TICK), quote=False) for name in names]
    return [
        label if labels.count(label) == 1 else f"{label} ({labels[:i].count(label) + 1})"
        for i, label in enumerate(labels)
    ]


def _cut(text: str, length: int) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


class NothingToPlotError(ValueError):
    """A study lacks what a figure shows. The message names it and how to get it."""


def figure_title(text: str, study: Study) -> str:
    """Return a title with the name of the study, unless Optuna generated the name."""
    name = study.study_name
    return text if name.startswith(_GENERATED_NAME) else f"{text} of {_cut(name, _MAX_TITLE)}"


def _label(study: Study, position: int) -> str:
    name = study.study_name
    return f"study {position + 1}" if name.startswith(_GENERATED_NAME) else name


def group_studies(studies: Studies) -> dict[str, list[Study]]:
    """Return the studies by name: one group per line, band or bar of a figure."""
    if isinstance(studies, Study):
        return {_label(studies, 0): [studies]}
    if isinstance(studies, Mapping):
        groups = {
            str(name): [runs] if isinstance(runs, Study) else _check_studies(runs)
            for name, runs in studies.items()
        }
    else:
        groups = {}
        for i, study in enumerate(_check_studies(studies)):
            label = _label(study, i)
            groups[f"{label} ({i})" if label in groups else label] = [study]
    for name, runs in groups.items():
        if not runs:
            raise ValueError(f"No studies under the name {name!r}: give at least one.")
    if not groups:
        raise ValueError("No studies: give at least one.")
    return groups


def _check_studies(runs: Any) -> list[Study]:
    found = list(runs) if isinstance(runs, Iterable) else [runs]
    for run in found:
        if not isinstance(run, Study):
            raise TypeError(
                "Expected a study, a sequence of studies, or a mapping from names to studies, got "
                f"{type(run).__name__} {run!r}."
            )
    return found


def nonempty_front(
    study: Study, *, targets: Sequence[str | int] | None = None, duplicates: bool = True
) -> Front:
    """Return the front of a study, or raise if it is empty."""
    front = pareto_front(study, targets=targets, duplicates=duplicates)
    if not len(front):
        raise NothingToPlotError(
            f"The front of study {study.study_name!r} is empty: none of its "
            f"{len(front.points.trials)} completed trials can be on it. Run more trials."
        )
    return front


@dataclass(frozen=True)
class FrontMasks:
    """Feature sets on the front of one study or several.

    Attributes:
        names: Names of the features, without the fixed ones.
        masks: Trials × features, without the fixed ones.
        sizes: Number of features per trial, including fixed ones.
        total: Number of all features.
        trials: The trials with their studies.
    """

    names: tuple[str, ...]
    masks: Bools
    sizes: NDArray[np.int64]
    total: int
    trials: tuple[tuple[Study, FrozenTrial], ...]


def front_masks(studies: Sequence[Study], *, duplicates: bool = True) -> FrontMasks:
    """Return the feature sets on the fronts of studies of the same features, smallest first."""
    table = _features(studies[0])
    found: list[tuple[Study, FrozenTrial, Bools]] = []
    for study in studies:
        if _features(study).names != table.names:
            raise ValueError(
                f"Studies {studies[0].study_name!r} and {study.study_name!r} have different "
                "features. Plot them separately."
            )
        front = nonempty_front(study, duplicates=duplicates)
        masks = [(trial, selected_mask(study, trial)) for trial in front]
        found += [(study, trial, mask) for trial, mask in masks if mask is not None]
    if not found:
        raise NothingToPlotError(
            f"No trial on the front of study {studies[0].study_name!r} has a feature set. Suggest "
            "features with optuna_mofs.suggest_features or FeatureSelectionObjective."
        )
    full = np.array([mask for _, _, mask in found])
    sizes = full.sum(axis=1)
    order = np.argsort(sizes, kind="stable")
    return FrontMasks(
        names=tuple(table.names[j] for j in table.free),
        masks=full[order][:, table.free],
        sizes=sizes[order],
        total=len(table),
        trials=tuple(found[i][:2] for i in order),
    )


def _features(study: Study) -> FeatureTable:
    description = StudyDescription.read(study)
    if description is None or description.features is None or description.representation is None:
        raise NothingToPlotError(
            f"Study {study.study_name!r} has no description of features. Suggest features with "
            "optuna_mofs.suggest_features or FeatureSelectionObjective."
        )
    return description.features


def trial_operator(trial: FrozenTrial) -> str | None:
    """Return the operator that created a trial, or None if unknown."""
    note = trial_note(trial)
    operator = trial.user_attrs.get("operator") if note is None else note.operator
    return None if operator is None else str(operator)


def hover_text(
    points: CompletedTrials,
    row: int,
    values: Sequence[float],
    *,
    details: bool,
    honest: object = None,
) -> str:
    """Return the hover text of a trial; its features, operator and spread are details.

    ``honest`` is what to expect on new rows, shown as text; None if it is unknown.
    """
    study, trial = points.study, points.trials[row]
    lines = [f"<b>trial {trial.number}</b>"]
    for name, value, i in zip(points.metric_names, values, points.value_indices):
        # The stored spread is that of the first measure.
        spread = trial.user_attrs.get("fold_std") if details and i == 0 else None
        over_folds = ""
        if isinstance(spread, int | float):
            over_folds = f" ± {format_number(spread)} over folds"
        lines.append(f"{name}: {format_number(value)}{over_folds}")
    if honest is not None:
        lines.append(f"on new rows: {honest}")
    count, text = feature_count(study, trial), feature_text(study, trial) if details else None
    if count is not None:
        lines.append(f"{count:,} feature{'' if count == 1 else 's'}" + (":" if text else ""))
    if text:
        lines += textwrap.wrap(shorten(text.split(", "), _MAX_HOVER), _MAX_HOVER_LINE)
    operator = trial_operator(trial) if details else None
    if operator is not None:
        lines.append(f"operator: {operator}")
    return "<br>".join([lines[0], *(escape(line, quote=False) for line in lines[1:])])
