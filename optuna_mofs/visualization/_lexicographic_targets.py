"""Targets of a lexicographic preference over the trials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study

from optuna_mofs._typing import Floats, Indices
from optuna_mofs.fronts._dominance import update_front
from optuna_mofs.fronts._lexicographic import LexicographicOrder
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import read_completed_trials
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    ACCENT,
    LEGEND_ABOVE,
    MAIN,
    MUTED,
    NothingToPlotError,
    apply_style,
    axis_title,
    figure_title,
    import_plotly,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


@register_figure(order=7)
def plot_lexicographic_targets(study: Study, preference: LexicographicPreference) -> go.Figure:
    """Plot each metric over the trials with its target and the preferred trial.

    There is one row per metric, the most important first. The target is the value that is good
    enough given the trials so far; among trials that reach it, the next metric decides.

    Args:
        study: Any study with the metrics of the preference.
        preference: Priorities, tolerances and goals.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2)
        >>> for values in [(0.3, 1), (0.1, 5), (0.15, 3)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> preference = LexicographicPreference(tolerances=[0.05, 0])
        >>> figure = plot_lexicographic_targets(study, preference)
        >>> [round(y, 2) for y in figure.data[1].y]
        [0.35, 0.15, 0.15]
    """
    points = read_completed_trials(study)
    order = preference.order(study)
    valid = np.flatnonzero(points.feasible & ~np.isnan(points.losses).any(axis=1))
    if not len(valid):
        raise NothingToPlotError(
            f"Study {study.study_name!r} has no completed trial that satisfies all constraints. "
            "Run more trials."
        )
    numbers = np.array([points.trials[i].number for i in valid])
    losses = points.losses[valid]
    targets, best = targets_over_time(losses, order)
    columns = order.columns
    figure = import_plotly("subplots").make_subplots(
        rows=len(columns), cols=1, shared_xaxes=True, vertical_spacing=0.06
    )
    values, target_values, picks = (points.to_values(a) for a in (losses, targets, losses[best]))
    mode = "lines" if len(numbers) > 1 else "markers"
    target_line = {"color": ACCENT, "width": 2, "shape": "hv", "dash": "dash"}
    best_line = {"color": MAIN, "width": 2.5, "shape": "hv"}
    styles: tuple[dict[str, Any], ...] = (
        {"mode": "markers", "marker": {"color": MUTED, "size": 5}, "opacity": 0.7},
        {"mode": mode, "line": target_line},
        {"mode": mode, "line": best_line, "text": [f"trial {numbers[i]}" for i in best]},
    )
    for row, column in enumerate(columns, start=1):
        name = points.metric_names[column]
        curves = (
            ("trials", values, f"trial %{{x}}: {name} %{{y:.4g}}"),
            ("target", target_values, "target after trial %{x}: %{y:.4g}"),
            ("best trial so far", picks, "%{text} after trial %{x}: %{y:.4g}"),
        )
        for (label, drawn, hover), style in zip(curves, styles):
            figure.add_scatter(
                x=numbers.tolist(),
                y=[round(v, 12) if np.isfinite(v) else None for v in drawn[:, column].tolist()],
                name=label,
                legendgroup=label,
                hovertemplate=f"{hover}<extra></extra>",
                showlegend=row == 1,
                row=row,
                col=1,
                **style,
            )
        title = axis_title(name, points.signs[column])
        shown = points.signs[column] * _range(losses[:, column], targets[:, column])
        figure.update_yaxes(title=title, range=sorted(shown.tolist()), row=row, col=1)
    apply_style(
        figure,
        figure_title("Lexicographic targets", study),
        subtitle="most important metric first",
        height=170 + 190 * len(columns),
        legend=LEGEND_ABOVE,
    )
    return figure.update_xaxes(title="trial", row=len(columns), col=1)


def targets_over_time(losses: Floats, order: LexicographicOrder) -> tuple[Floats, Indices]:
    """Return the targets after each point, and the row of the best point so far.

    Both can change only at points that enter the front.
    """
    targets = np.empty_like(losses)
    best = np.empty(len(losses), dtype=np.intp)
    front: Indices = np.zeros(0, dtype=np.intp)
    for i in range(len(losses)):
        updated = update_front(losses, front, i)
        if updated is None:
            targets[i], best[i] = targets[i - 1], best[i - 1]
            continue
        front = updated
        targets[i] = order.targets(losses[front])
        best[i] = front[order.ranking(losses[front], targets[i])[0]]
    return targets, best


def _range(losses: Floats, targets: Floats) -> Floats:
    """Return the range of an axis. The worst trials are cut off to leave room for the others."""
    finite, reached = losses[np.isfinite(losses)], targets[np.isfinite(targets)]
    if not len(finite):
        return np.array([0.0, 1.0])
    low = min(finite.min(), reached.min(initial=np.inf))
    high = max(np.quantile(finite, 0.95), reached.max(initial=-np.inf))
    pad = 0.08 * (high - low) or 0.5
    return np.array([low - pad, high + pad])
