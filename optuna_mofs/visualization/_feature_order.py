"""Order in which features enter the front as the sets grow."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from optuna_mofs._format import format_number
from optuna_mofs._typing import Bools, Floats, Indices
from optuna_mofs._validation import check_int
from optuna_mofs.study._completed_trials import read_completed_trials
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    LEGEND_ABOVE,
    MAIN,
    MUTED,
    NAME_AXIS,
    apply_style,
    axis_title,
    figure_title,
    front_masks,
    import_plotly,
    tick_labels,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_STATES = ("not selected", "selected", "selected for the first time")
_COLORS = ("#f3f5f8", "#a9c7e6", "#1f4f87")


@register_figure(order=3)
def plot_feature_order(study: Study, *, max_features: int = 40) -> go.Figure:
    """Plot the feature sets of the front from the smallest to the largest.

    There is one column per trial of the front and one row per feature, in the order in which the
    features enter. The first metric is shown above.

    Args:
        study: A study that selects features.
        max_features: Maximum number of rows; features that enter first are shown.

    Example:
        >>> import optuna
        >>> from optuna_mofs import suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, ["age", "city", "pay"])
        ...     return 1.0 - mask @ [0.5, 0.2, 0.3], mask.mean()
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=40)
        >>> list(plot_feature_order(study).data[1].y)
        ['age', 'pay', 'city']
    """
    check_int("max_features", max_features, 1)
    sets = _SetsBySize.of(study)
    entry = np.where(sets.masks.any(axis=0), sets.masks.argmax(axis=0), len(sets.masks))
    entered = np.flatnonzero(entry < len(sets.masks))
    # Features that enter together are sorted by frequency.
    frequency = sets.masks[:, entered].sum(axis=0)
    ranked = entered[np.lexsort((-frequency, entry[entered]))]
    rows = ranked[:max_features]
    figure = import_plotly("subplots").make_subplots(
        rows=2, cols=1, shared_xaxes=True, row_heights=[0.25, 0.75], vertical_spacing=0.04
    )
    _add_metric(figure, sets)
    _add_sets(figure, sets, rows, entry[rows])
    cut = "" if len(rows) == len(ranked) else f", the first {len(rows)} of {len(ranked):,}"
    apply_style(
        figure,
        figure_title("Order of features", study),
        subtitle=f"as they enter the front, one column per trial{cut}",
        height=max(420, 260 + 20 * len(rows)),
        legend=LEGEND_ABOVE,
    )
    n_sets = len(sets.sizes)
    step = max(1, -(-n_sets // 20))
    figure.update_xaxes(
        showgrid=False,
        tickvals=list(range(0, n_sets, step)),
        ticktext=[f"{size:,}" for size in sets.sizes[::step]],
        range=[-0.5, n_sets - 0.5],
    )
    figure.update_xaxes(title="number of features", row=2, col=1)
    figure.update_xaxes(showticklabels=False, linecolor=MUTED, row=1, col=1)
    figure.update_yaxes(title=axis_title(sets.metric, sets.sign), row=1, col=1)
    return figure.update_yaxes(NAME_AXIS, row=2, col=1)


@dataclass(frozen=True)
class _SetsBySize:
    """The feature sets of a front from the smallest to the largest, with the first metric."""

    names: tuple[str, ...]
    masks: Bools
    sizes: NDArray[np.int64]
    trials: list[int]
    values: Floats
    metric: str
    sign: float

    @classmethod
    def of(cls, study: Study) -> _SetsBySize:
        """Read the front of a study."""
        found = front_masks([study], duplicates=False)
        points = read_completed_trials(study)
        row_of = {trial.number: i for i, trial in enumerate(points.trials)}
        losses = points.losses[[row_of[trial.number] for _, trial in found.trials], 0]
        # Within one size from worse to better, so that the line above is monotone.
        order = np.lexsort((-losses, found.sizes))
        return cls(
            names=found.names,
            masks=found.masks[order],
            sizes=found.sizes[order],
            trials=[found.trials[i][1].number for i in order],
            values=losses[order] * points.signs[0] + 0.0,
            metric=points.metric_names[0],
            sign=points.signs[0],
        )

    def text(self, i: int) -> str:
        """Return the value of a set as text."""
        return f"{self.metric}: {format_number(self.values[i])}"


def _add_metric(figure: Any, sets: _SetsBySize) -> None:
    shown = np.flatnonzero(np.isfinite(sets.values)).tolist()
    figure.add_scatter(
        x=shown,
        y=np.round(sets.values[shown], 12).tolist(),
        mode="lines+markers",
        line={"color": MAIN, "width": 2},
        text=[f"trial {sets.trials[i]}<br>{sets.text(i)}" for i in shown],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        row=1,
        col=1,
    )


def _add_sets(figure: Any, sets: _SetsBySize, rows: Indices, entry: Indices) -> None:
    """Add one row per feature; ``entry`` is the first set with each."""
    states = sets.masks[:, rows].astype(int)
    states[entry, np.arange(len(rows))] = 2
    figure.add_heatmap(
        x=list(range(len(sets.sizes))),
        y=tick_labels([sets.names[j] for j in rows]),
        z=states.T.tolist(),
        zmin=-0.5,
        zmax=2.5,
        colorscale=[[i / 3, _COLORS[k]] for k in range(3) for i in (k, k + 1)],
        showscale=False,
        xgap=1,
        ygap=1,
        text=[
            [
                f"<b>{escape(sets.names[j], False)}</b><br>{_STATES[states[i, k]]}<br>"
                f"trial {sets.trials[i]} with {sets.sizes[i]:,} features<br>{sets.text(i)}"
                for i in range(len(sets.sizes))
            ]
            for k, j in enumerate(rows)
        ],
        hovertemplate="%{text}<extra></extra>",
        row=2,
        col=1,
    )
    for state in (2, 1):
        figure.add_scatter(
            x=[None],
            y=[None],
            mode="markers",
            marker={"symbol": "square", "size": 12, "color": _COLORS[state]},
            name=_STATES[state],
            row=1,
            col=1,
        )
