"""The front of a study, with the features of each trial."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._validation import check_int
from optuna_mofs.fronts._front import Front
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.visualization._honest_layers import (
    SizeErrorAxes,
    add_baselines,
    add_expected,
    add_honest_curve,
    expectation,
)
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    ACCENT,
    LEGEND_BELOW,
    MAIN,
    MUTED,
    SECOND_ACCENT,
    NothingToPlotError,
    apply_style,
    figure_title,
    hover_text,
    import_plotly,
    metric_axes,
    metric_title,
    nonempty_front,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


@register_figure(order=1)
def plot_front(
    study: Study,
    *,
    targets: Sequence[str | int] | None = None,
    preference: LexicographicPreference | None = None,
    pick: bool = True,
    max_dominated: int = 2000,
) -> go.Figure:
    """Plot the front of a study; the hover text of a trial lists its features.

    For a study of an error and a size (fraction, number or cost of features), the size is the
    horizontal axis. Beside the cross-validated values, which are too good because they were chosen
    among many, the figure shows what to expect on new rows (:meth:`optuna_mofs.Front.honest`) and
    the baselines in the study: a constant model, all features, and the noise floor.

    Args:
        study: A study of two or three metrics; the third is shown by color.
        targets: Names or positions of the metrics to show. Default: all.
        preference: Its best trial is marked.
        pick: Whether to mark the default pick, see :meth:`optuna_mofs.Front.pick`.
        max_dominated: Maximum number of other trials shown. If there are more, an evenly spaced
            subset is shown.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2, study_name="sonar")
        >>> for values in [(0.3, 1), (0.1, 5), (0.3, 5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> [trace.name for trace in plot_front(study).data]
        ['other trials', 'front', 'default pick']
    """
    check_int("max_dominated", max_dominated, 0)
    if not isinstance(study, Study):
        raise ValueError(
            f"plot_front shows one study, got {type(study).__name__}. Compare several by "
            "plot_hypervolume or plot_attainment, which take lists of studies by name."
        )
    front = nonempty_front(study, targets=targets)
    if len(front.metric_names) not in (2, 3):
        raise NothingToPlotError(
            f"A plot of the front requires two or three metrics, got {list(front.metric_names)} "
            f"of study {study.study_name!r}. Choose some with targets=."
        )
    if not np.isfinite(front.values).all(axis=1).any():
        raise NothingToPlotError(
            f"Every trial on the front of study {study.study_name!r} has an infinite value."
        )
    axes = SizeErrorAxes.of(front)
    canvas = _Canvas(front, axes)
    if axes is not None:
        add_baselines(canvas.figure, axes)
    canvas.add_others(max_dominated)
    if axes is not None:
        add_honest_curve(canvas.figure, axes)
    canvas.add_front()
    if pick:
        canvas.add_pick(front.pick(), "default pick", "circle-open", ACCENT)
    if preference is not None:
        canvas.add_pick(preference.best(study), "lexicographic pick", "square-open", SECOND_ACCENT)
    if axes is not None and pick:
        add_expected(canvas.figure, axes)
    return canvas.styled_figure()


class _Canvas:
    """A figure with the trials as points: two metrics by position, a third by color.

    Args:
        front: The front.
        axes: Size and error of the trials, or None for the first two metrics as axes.
    """

    def __init__(self, front: Front, axes: SizeErrorAxes | None) -> None:
        self.figure = import_plotly().Figure()
        self._honest_front = front
        self._axes = axes
        self._points = front.points
        self._row_of = {trial.number: i for i, trial in enumerate(front.points.trials)}
        self._front = [self._row_of[trial.number] for trial in front]
        #: Values of all trials, in the study's own directions.
        self._values = front.points.to_values(front.points.losses)
        self._xy = self._values[:, :2]
        self._honest = {}
        if axes is not None:
            self._xy = np.column_stack([axes.position(axes.sizes), self._values[:, axes.error]])
            estimates = zip(self._front, front.honest().members)
            self._honest = {row: e for row, e in estimates if not math.isnan(e.value)}
        finite = np.isfinite(self._values).all(axis=1) & np.isfinite(self._xy).all(axis=1)
        self._finite = np.asarray(finite)

    def add_others(self, max_trials: int) -> None:
        on_front = set(self._front)
        rows = [i for i in np.flatnonzero(self._finite).tolist() if i not in on_front]
        if len(rows) > max_trials:
            spaced = np.linspace(0, len(rows) - 1, max_trials).round().astype(int)
            rows = [rows[i] for i in spaced]
        if rows:
            # Without details: thousands of feature lists would make the figure slow.
            marker = {"color": MUTED, "size": 6}
            self._add(rows, details=False, name="other trials", marker=marker, opacity=0.6)

    def add_front(self) -> None:
        rows = [i for i in self._front if self._finite[i]]
        rows = [
            rows[i] for i in np.lexsort((*self._values[rows].T[::-1], *self._xy[rows].T[::-1]))
        ]
        marker: dict[str, Any] = {"size": 9, "line": {"width": 1, "color": "white"}}
        names, signs = self._points.metric_names, self._points.signs
        if len(names) == 2:
            # The line is the boundary of the dominated region.
            is_minimized = self._axes is not None or signs[0] > 0
            line = {"shape": "hv" if is_minimized else "vh", "color": MAIN, "width": 1.5}
            marker["color"] = MAIN
            name = "front" if self._axes is None else "cross-validated"
            self._add(rows, name=name, marker=marker, mode="lines+markers", line=line)
            return
        title = metric_title(self._points, 2)
        marker |= {
            "size": 11,
            "color": np.round(self._values[rows, 2], 12).tolist(),
            "colorscale": "Viridis",
            # Dark colors are better, in either direction.
            "reversescale": bool(signs[2] < 0),
            "colorbar": {"title": title, "thickness": 14, "len": 0.75, "y": 0.35},
        }
        self._add(rows, name="front", marker=marker)

    def add_pick(self, trial: FrozenTrial, name: str, symbol: str, color: str) -> None:
        row = self._row_of[trial.number]
        if self._finite[row]:
            line = {"width": 3, "color": color}
            marker = {"color": color, "symbol": symbol, "size": 18, "line": line}
            self._add([row], f"<b>{name}</b><br>", name=name, marker=marker)

    def styled_figure(self) -> go.Figure:
        title = figure_title("Front", self._points.study)
        if self._axes is not None:
            warning = self._honest_front.honest().warning
            subtitle = expectation(self._honest_front)
            apply_style(
                self.figure, title, subtitle=subtitle, warning=warning, legend=LEGEND_BELOW
            )
            return self._axes.style(self.figure)
        count, distinct = len(self._front), len(np.unique(self._values[self._front], axis=0))
        apply_style(
            self.figure,
            title,
            subtitle=f"{count:,} of {len(self._points.trials):,} trials"
            + (f" at {distinct:,} points" if distinct < count else "")
            + "; hover over a trial for its features",
        )
        return metric_axes(self.figure, self._points)

    def _add(self, rows: list[int], heading: str = "", details: bool = True, **style: Any) -> None:
        # Rounding shortens numbers such as 0.30000000000000004.
        x, y = np.round(self._xy[rows], 12).T.tolist()
        self.figure.add_scatter(
            x=x,
            y=y,
            text=[
                heading
                + hover_text(
                    self._points,
                    row,
                    self._values[row].tolist(),
                    details=details,
                    honest=self._honest.get(row),
                )
                for row in rows
            ],
            hovertemplate="%{text}<extra></extra>",
            **{"mode": "markers", **style},
        )
