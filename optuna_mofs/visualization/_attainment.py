"""Attainment surfaces of several runs: the median front and its spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import Study

from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_numbers
from optuna_mofs.fronts._comparison import attainment_surfaces, check_same_metrics
from optuna_mofs.study._completed_trials import CompletedTrials, read_completed_trials
from optuna_mofs.visualization._utils import (
    LEGEND_UPPER_RIGHT,
    NothingToPlotError,
    Studies,
    apply_style,
    group_studies,
    import_plotly,
    metric_axes,
    palette_color,
    with_opacity,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_attainment(
    studies: Studies,
    *,
    targets: Sequence[str | int] | None = None,
    levels: tuple[float, float, float] = (0.25, 0.5, 0.75),
) -> go.Figure:
    """Plot the attainment surfaces of the runs of a method.

    The line is the median attainment surface: half of the runs have a trial that is at least as
    good. The band lies between the surfaces of two other levels.

    Args:
        studies: Runs by name (other seeds of the same search). A single study, or each study of a
            sequence, is one run and is shown as its front.
        targets: Names or positions of two metrics. Default: all, if there are two.
        levels: Fractions of the runs: best edge of the band, line, worst edge.
    """
    checked = check_numbers("levels", levels, 1)
    if len(checked) != 3 or not 0.0 < checked[0] <= checked[1] <= checked[2] <= 1.0:
        raise ValueError(
            "levels must be three ascending fractions of the runs, above 0 and at most 1, got "
            f"{levels!r}."
        )
    groups = group_studies(studies)
    points, surfaces = _read_surfaces(groups, targets, levels)
    # Every line ends at the same edge, a little outside the worst corner.
    corners = np.vstack([surface for found in surfaces.values() for surface in found])
    corners = corners[np.isfinite(corners).all(axis=1)]
    if not len(corners):
        raise NothingToPlotError("No study has a completed trial to show. Run some trials.")
    span = np.ptp(corners, axis=0)
    edge = corners.max(axis=0) + 0.05 * np.where(span > 0, span, 1.0)
    figure = import_plotly().Figure()
    for i, (name, found) in enumerate(surfaces.items()):
        lines = [points.to_values(_staircase(surface, edge)) for surface in found]
        _add_runs(figure, name, len(groups[name]), lines, palette_color(i))
    # The legend is in the corner of the worst values, where no surface is.
    corner = dict(LEGEND_UPPER_RIGHT)
    if points.signs[0] < 0:
        corner |= {"x": 0.01, "xanchor": "left"}
    if points.signs[1] < 0:
        corner |= {"y": 0.02, "yanchor": "bottom"}
    low, middle, high = (f"{level:.0%}" for level in levels)
    text = f"line: attained by {middle} of the runs, band: {low} to {high}"
    several = max(map(len, groups.values())) > 1
    apply_style(
        figure,
        "Attainment surfaces" if several else "Fronts",
        subtitle=text if several else None,
        showlegend=True,
        legend=corner,
    )
    return metric_axes(figure, points)


def _read_surfaces(
    groups: Mapping[str, Sequence[Study]],
    targets: Sequence[str | int] | None,
    levels: Sequence[float],
) -> tuple[CompletedTrials, dict[str, list[Floats]]]:
    """Return a study for names and signs of the metrics, and the surfaces of each group."""
    read = {
        name: [read_completed_trials(study, targets=targets) for study in runs]
        for name, runs in groups.items()
    }
    points = check_same_metrics([run for runs in read.values() for run in runs])
    if len(points.metric_names) != 2:
        raise NothingToPlotError(
            f"Attainment surfaces require two metrics, got {list(points.metric_names)}. "
            "Choose two with targets=."
        )
    surfaces = {}
    for name, runs in read.items():
        feasible = [run.losses[run.feasible] for run in runs]
        surfaces[name] = list(attainment_surfaces(feasible, levels=levels).values())
    return points, surfaces


def _add_runs(
    figure: go.Figure, name: str, n_runs: int, lines: Sequence[Floats], color: str
) -> None:
    """Add the middle line of a group, and a band between the others if it has several runs."""
    best, middle, worst = lines
    if n_runs > 1:
        around = np.vstack([best, worst[::-1]])
        figure.add_scatter(
            x=around[:, 0].tolist(),
            y=around[:, 1].tolist(),
            mode="lines",
            line={"width": 0, "color": color},
            fill="toself",
            fillcolor=with_opacity(color, 0.18),
            hoverinfo="skip",
            showlegend=False,
            legendgroup=name,
        )
    label = name if n_runs == 1 else f"{name} ({n_runs} runs)"
    figure.add_scatter(
        x=middle[:, 0].tolist(),
        y=middle[:, 1].tolist(),
        mode="lines",
        line={"color": color, "width": 2.5},
        name=label,
        legendgroup=name,
        hovertemplate="%{x:.4g}, %{y:.4g}<extra>" + label + "</extra>",
    )


def _staircase(surface: Floats, edge: Floats) -> Floats:
    """Return the corners of a surface as a line, from the top edge to the right edge."""
    inside = surface[np.isfinite(surface).all(axis=1)]
    if not len(inside):
        return edge[None, :]
    x = np.append(np.repeat(inside[:, 0], 2), edge[0])
    y = np.insert(np.repeat(inside[:, 1], 2), 0, edge[1])
    return np.round(np.column_stack([x, y]), 12)
