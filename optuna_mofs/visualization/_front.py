"""The front of a study, with the features of each trial and the picks from it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs.fronts._front import Front
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import CompletedTrials, feature_count
from optuna_mofs.visualization._utils import (
    ACCENT,
    MAIN,
    QUIET,
    SECOND,
    NothingToPlotError,
    apply_style,
    axis_title,
    front_of,
    number,
    plotly,
    titled,
    trial_text,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_front(
    study: Study,
    *,
    targets: Sequence[str | int] | None = None,
    preference: LexicographicPreference | None = None,
    knee: bool = True,
    dominated: int = 2000,
) -> go.Figure:
    """Plot the front of a study; the hover of a trial names its features.

    Args:
        study: A study of two or three metrics; the third is shown by color.
        targets: Names or positions of the metrics to show. Default: all.
        preference: Marks the trial that it wants.
        knee: Whether the knee is marked.
        dominated: Most trials shown that are not on the front; more are thinned out evenly.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2, study_name="sonar")
        >>> for values in [(0.3, 1), (0.1, 5), (0.3, 5)]:
        ...     study.add_trial(optuna.trial.create_trial(values=values))
        >>> [trace.name for trace in plot_front(study).data]
        ['other trials', 'front', 'knee']
    """
    if dominated < 0:
        raise ValueError(f"dominated must be at least 0, but is {dominated}.")
    front = front_of(study, targets=targets)
    width = len(front.metric_names)
    if width not in (2, 3):
        raise NothingToPlotError(
            f"A front is drawn of two or three metrics, but study {study.study_name!r} has "
            f"{width}: {list(front.metric_names)}. Choose some by targets=."
        )
    if not np.isfinite(front.values).all(axis=1).any():
        raise NothingToPlotError(
            f"No trial on the front of study {study.study_name!r} has finite values only."
        )
    canvas = _Canvas(front)
    canvas.add_others(dominated)
    canvas.add_front()
    if knee:
        canvas.add_pick(front.knee(), "knee", "circle-open", ACCENT)
    if preference is not None:
        canvas.add_pick(preference.best(study), "lexicographic pick", "square-open", SECOND)
    return canvas.finished()


class _Canvas:
    """A figure, and the trials as points in it: two metrics by place, a third by color."""

    def __init__(self, front: Front) -> None:
        self.points: CompletedTrials = front.points
        self._place = {trial.number: i for i, trial in enumerate(front.points.trials)}
        self._front = [self._place[trial.number] for trial in front]
        self._figure = plotly().Figure()
        #: All trials in the study's own directions.
        self._values = self.points.to_values(self.points.losses)
        self._finite: NDArray[np.bool_] = np.asarray(np.isfinite(self._values).all(axis=1))

    def add_others(self, most: int) -> None:
        on_front = set(self._front)
        rows = [i for i in np.flatnonzero(self._finite).tolist() if i not in on_front]
        if len(rows) > most:
            rows = [rows[i] for i in np.linspace(0, len(rows) - 1, most).round().astype(int)]
        if rows:
            # One short text each: thousands of feature lists would make a heavy figure.
            texts = [self._short(i) for i in rows]
            marker = {"color": QUIET, "size": 6}
            self._add(rows, texts, name="other trials", marker=marker, opacity=0.6)

    def add_front(self) -> None:
        rows = [i for i in self._front if self._finite[i]]
        rows = [rows[i] for i in np.lexsort(self._values[rows].T[::-1])]
        texts = [self._long(i) for i in rows]
        marker: dict[str, Any] = {"size": 9, "line": {"width": 1, "color": "white"}}
        if len(self.points.metric_names) == 2:
            # The line goes around what the front dominates.
            shape = "hv" if self.points.signs[0] > 0 else "vh"
            line = {"shape": shape, "color": MAIN, "width": 1.5}
            marker["color"] = MAIN
            self._add(rows, texts, name="front", marker=marker, mode="lines+markers", line=line)
            return
        name, sign = self.points.metric_names[2], self.points.signs[2]
        marker |= {
            "size": 11,
            "color": np.round(self._values[rows, 2], 12).tolist(),
            "colorscale": "Viridis",
            # Dark is good, whatever the direction.
            "reversescale": bool(sign < 0),
            "colorbar": {"title": axis_title(name, sign), "thickness": 14, "len": 0.75, "y": 0.35},
        }
        self._add(rows, texts, name="front", marker=marker)

    def add_pick(self, trial: FrozenTrial, name: str, symbol: str, color: str) -> None:
        row = self._place[trial.number]
        if self._finite[row]:
            marker = {
                "color": color,
                "symbol": symbol,
                "size": 18,
                "line": {"width": 3, "color": color},
            }
            text = f"<b>{name}</b><br>{self._long(row)}"
            self._add([row], [text], name=name, marker=marker)

    def finished(self) -> go.Figure:
        points = self.points
        titles = [axis_title(name, sign) for name, sign in zip(points.metric_names, points.signs)]
        count, different = len(self._front), len(np.unique(self._values[self._front], axis=0))
        apply_style(
            self._figure,
            titled("Front", points.study),
            subtitle=f"{count:,} of {len(points.trials):,} trials"
            + (f" at {different:,} points" if different < count else "")
            + "; hover over a trial for its features",
        )
        return self._figure.update_xaxes(title=titles[0]).update_yaxes(title=titles[1])

    def _add(self, rows: list[int], texts: list[str], **style: Any) -> None:
        self._figure.add_scatter(
            # Rounding keeps 0.1 + 0.2 from being sent as 0.30000000000000004.
            x=np.round(self._values[rows, 0], 12).tolist(),
            y=np.round(self._values[rows, 1], 12).tolist(),
            text=texts,
            hovertemplate="%{text}<extra></extra>",
            **{"mode": "markers", **style},
        )

    def _long(self, row: int) -> str:
        points = self.points
        values = self._values[row].tolist()
        return trial_text(points.study, points.trials[row], points.metric_names, values)

    def _short(self, row: int) -> str:
        trial = self.points.trials[row]
        named = zip(self.points.metric_names, self._values[row].tolist())
        told = [f"{escape(name, False)}: {number(value)}" for name, value in named]
        count = feature_count(self.points.study, trial)
        told += [] if count is None else [f"{count:,} features"]
        return "<br>".join([f"trial {trial.number}", *told])
