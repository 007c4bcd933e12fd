"""Which operator made the front."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from optuna.study import Study

from optuna_mofs.fronts._dominance import entered_front_mask, nondominated_mask
from optuna_mofs.study._completed_trials import read_points
from optuna_mofs.visualization._utils import (
    LOWER_RIGHT,
    MAIN,
    NothingToPlotError,
    apply_style,
    faded,
    operator_of,
    percent,
    plotly,
    titled,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

#: Trials of which nobody said how they were made: queued, or by another sampler.
_UNKNOWN = "not said"


def plot_operators(study: Study) -> go.Figure:
    """Plot how many trials each operator made, and how many of them were worth it.

    Args:
        study: A study of this package's samplers, which write down the operator of each trial.

    Raises:
        NothingToPlotError: If no finished trial says which operator made it.
    """
    table = operator_table(study)
    if not (set(table.index) - {_UNKNOWN}):
        raise NothingToPlotError(
            f"No finished trial of study {study.study_name!r} says which operator made it. The "
            "samplers of this package write it down; other samplers may set the user attribute "
            "'operator'."
        )
    table = table.iloc[::-1]  # plotly draws from below
    rest = table["trials"] - table["joined"]
    parts = (
        ("on the front now", table["front"], MAIN),
        ("on the front when it finished", table["joined"] - table["front"], faded(MAIN, 0.45)),
        ("never on it", rest, "#e1e5ea"),
    )
    names = [escape(name, quote=False) for name in table.index]
    go = plotly()
    figure = go.Figure()
    for label, counts, fill in parts:
        figure.add_bar(
            x=counts.tolist(),
            y=names,
            orientation="h",
            marker={"color": fill},
            name=label,
            hovertemplate="%{y}: %{x} trials " + label + "<extra></extra>",
        )
    for name, trials, joined in zip(names, table["trials"].tolist(), table["joined"].tolist()):
        figure.add_annotation(
            x=trials,
            y=name,
            text=percent(joined / trials),
            xanchor="left",
            xshift=6,
            showarrow=False,
            font={"color": "#6f7782", "size": 12},
        )
    apply_style(
        figure,
        titled("What made the front", study),
        subtitle="at the end of a bar: share of its trials that joined the front",
        barmode="stack",
        height=max(320, 190 + 34 * len(table)),
        legend={**LOWER_RIGHT, "traceorder": "normal"},
        bargap=0.35,
    )
    figure.update_xaxes(title="trials")
    return figure.update_yaxes(type="category", dtick=1, ticksuffix="  ", showgrid=False)


def operator_table(study: Study) -> pd.DataFrame:
    """Trials by operator: how many, how many joined the front, how many are on it now.

    Returns:
        Columns ``trials``, ``joined`` and ``front``, indexed by operator; the one that made most
        of the front first.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2)
        >>> for values, operator in [((2, 2), "random"), ((1, 1), "mutation")]:
        ...     study.add_trial(
        ...         optuna.trial.create_trial(values=values, user_attrs={"operator": operator})
        ...     )
        >>> operator_table(study).to_dict("index")["random"]
        {'trials': 1, 'joined': 1, 'front': 0}
    """
    import pandas as pd

    points = read_points(study)
    # A trial that breaks a constraint is never on the front.
    losses = np.where(points.feasible[:, None], points.losses, np.nan)
    empty = not len(losses)
    joined = np.zeros(0, bool) if empty else entered_front_mask(losses)
    # Without duplicates, as joining is counted: who comes second adds nothing.
    front = np.zeros(0, bool) if empty else nondominated_mask(losses, duplicates=False)
    table = pd.DataFrame(
        {
            "operator": [operator_of(trial) or _UNKNOWN for trial in points.trials],
            "trials": 1,
            "joined": joined.astype(int),
            "front": front.astype(int),
        }
    )
    sums = table.groupby("operator", sort=True).sum()
    return sums.sort_values(["front", "joined", "trials"], ascending=False, kind="stable")
