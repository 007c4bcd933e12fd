"""Trials by the operator that created them."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import Study

from optuna_mofs._format import format_percent
from optuna_mofs.fronts._dominance import entered_front_mask, nondominated_mask
from optuna_mofs.study._completed_trials import read_completed_trials
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    FAINT_INK,
    LEGEND_LOWER_RIGHT,
    MAIN,
    NothingToPlotError,
    apply_style,
    figure_title,
    import_plotly,
    trial_operator,
    with_opacity,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

#: Label of trials without an operator: enqueued, or created by another sampler.
_UNKNOWN = "unknown"


@register_figure(order=5)
def plot_operators(study: Study) -> go.Figure:
    """Plot how many trials each operator created, and how many of them entered the front.

    Args:
        study: A study of a sampler of this package, which stores the operator of each trial.

    Raises:
        NothingToPlotError: If no completed trial has an operator.
    """
    table = operator_table(study)
    if not (set(table.index) - {_UNKNOWN}):
        raise NothingToPlotError(
            f"No completed trial of study {study.study_name!r} has an operator. The samplers of "
            "this package store it; with other samplers, set the user attribute 'operator'."
        )
    table = table.iloc[::-1]  # plotly draws the first row at the bottom
    left = table["entered"] - table["front"]
    parts = (
        ("on the front now", table["front"], MAIN),
        ("on the front when completed", left, with_opacity(MAIN, 0.45)),
        ("never on the front", table["trials"] - table["entered"], "#e1e5ea"),
    )
    names = [escape(name, quote=False) for name in table.index]
    figure = import_plotly().Figure()
    for label, counts, fill in parts:
        figure.add_bar(
            x=counts.tolist(),
            y=names,
            orientation="h",
            marker={"color": fill},
            name=label,
            hovertemplate="%{y}: %{x} trials " + label + "<extra></extra>",
        )
    for name, trials, entered in zip(names, table["trials"].tolist(), table["entered"].tolist()):
        figure.add_annotation(
            x=trials,
            y=name,
            text=format_percent(entered / trials),
            xanchor="left",
            xshift=6,
            showarrow=False,
            font={"color": FAINT_INK, "size": 12},
        )
    apply_style(
        figure,
        figure_title("Operators", study),
        subtitle="at the end of a bar: fraction of its trials that entered the front",
        barmode="stack",
        height=max(320, 190 + 34 * len(table)),
        legend={**LEGEND_LOWER_RIGHT, "traceorder": "normal"},
        bargap=0.35,
    )
    figure.update_xaxes(title="trials")
    return figure.update_yaxes(type="category", dtick=1, ticksuffix="  ", showgrid=False)


def operator_table(study: Study) -> pd.DataFrame:
    """Count the trials per operator: all, those that entered the front, those on it now.

    Returns:
        Columns ``trials``, ``entered`` and ``front``, indexed by operator and sorted by ``front``.
    """
    import pandas as pd

    points = read_completed_trials(study)
    # A trial that violates a constraint is never on the front.
    losses = np.where(points.feasible[:, None], points.losses, np.nan)
    entered = entered_front_mask(losses)
    # Count each point once: a duplicate does not enter the front.
    front = nondominated_mask(losses, duplicates=False)
    table = pd.DataFrame(
        {
            "operator": [trial_operator(trial) or _UNKNOWN for trial in points.trials],
            "trials": 1,
            "entered": entered.astype(int),
            "front": front.astype(int),
        }
    )
    sums = table.groupby("operator", sort=True).sum()
    return sums.sort_values(["front", "entered", "trials"], ascending=False, kind="stable")
