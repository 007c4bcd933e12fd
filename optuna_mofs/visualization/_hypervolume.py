"""Hypervolume over the trials."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_mofs._format import format_number
from optuna_mofs._validation import check_numbers
from optuna_mofs.fronts._comparison import Reference, hypervolume_history, shared_reference
from optuna_mofs.study._completed_trials import read_completed_trials
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    LEGEND_LOWER_RIGHT,
    NothingToPlotError,
    Studies,
    add_band,
    apply_style,
    group_studies,
    import_plotly,
    palette_color,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


@register_figure(order=2)
def plot_hypervolume(
    studies: Studies,
    *,
    reference: Reference = None,
    spread: tuple[float, float] = (0.25, 0.75),
) -> go.Figure:
    """Plot the dominated hypervolume over the completed trials.

    Args:
        studies: A study, several studies, or a mapping from names to one or several runs, which
            are shown by their median and a band. Runs of one name are cut to the shortest.
        reference: As for :func:`optuna_mofs.fronts.shared_reference`: one for all studies.
        spread: Quantiles of the runs that bound the band; ``(0, 1)`` for minimum and maximum.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> runs = [optuna.create_study(directions=["minimize"] * 2) for _ in range(3)]
        >>> for i, run in enumerate(runs):
        ...     run.add_trial(optuna.trial.create_trial(values=(0.5, 0.25 * i)))
        >>> figure = plot_hypervolume({"random": runs}, reference=[1, 1])
        >>> figure.data[-1].y[0]
        0.375
    """
    quantiles = check_numbers("spread", spread, 1).tolist()
    if len(quantiles) != 2 or not 0.0 <= quantiles[0] <= quantiles[1] <= 1.0:
        raise ValueError(
            f"spread must be two quantiles from 0 to 1, the lower first, got {spread!r}."
        )
    low, high = quantiles
    groups = group_studies(studies)
    all_studies = [study for runs in groups.values() for study in runs]
    points = [read_completed_trials(study) for study in all_studies]
    if not any(len(p.trials) for p in points):
        raise NothingToPlotError("No study has a completed trial. Run some trials.")
    if reference is None and not any(np.isfinite(p.losses).any(axis=0).all() for p in points):
        raise NothingToPlotError(
            "No study has a finite value of every metric, so there is no reference point. "
            "Run more trials, or pass reference=."
        )
    bound = shared_reference(all_studies, reference)
    figure = import_plotly().Figure()
    several = False
    for i, (name, runs) in enumerate(groups.items()):
        curves = [hypervolume_history(study, bound).to_numpy() for study in runs]
        length = min(map(len, curves))
        if length == 0:
            continue
        table = np.vstack([curve[:length] for curve in curves])
        x, color = np.arange(1, length + 1).tolist(), palette_color(i)
        if len(runs) > 1:
            several = True
            lower, upper = np.quantile(table, [low, high], axis=0)
            add_band(figure, x, lower, upper, color, opacity=0.18, legendgroup=name)
        label = name if len(runs) == 1 else f"{name} ({len(runs)} runs)"
        figure.add_scatter(
            x=x,
            y=np.round(np.median(table, axis=0), 10).tolist(),
            mode="lines" if length > 1 else "markers",
            line={"shape": "hv", "color": color, "width": 2.5},
            marker={"color": color, "size": 9},
            name=label,
            legendgroup=name,
            hovertemplate="%{x} trials: %{y:.5g}<extra>" + label + "</extra>",
        )
    if not figure.data:
        raise NothingToPlotError("No name has a completed trial in each of its studies.")
    shown = ", ".join(f"{name} {format_number(value)}" for name, value in bound.items())
    band = f"; line: median, band: {low:.0%} to {high:.0%} of the runs" if several else ""
    apply_style(
        figure,
        "Hypervolume over trials",
        subtitle=f"reference {shown}{band}",
        showlegend=len(groups) > 1 or several,
        legend=LEGEND_LOWER_RIGHT,
    )
    figure.update_xaxes(title="completed trials")
    return figure.update_yaxes(title="hypervolume")
