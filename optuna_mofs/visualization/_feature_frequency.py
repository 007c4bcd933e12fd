"""How often each feature is chosen along the front."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from optuna_mofs.visualization._utils import (
    SCALE,
    apply_style,
    front_masks,
    percent,
    plotly,
    tick_labels,
    titled,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_feature_frequency(
    studies: Study | Sequence[Study], *, max_features: int = 30, bins: int = 12
) -> go.Figure:
    """Plot which features the front chooses, from its smallest sets to its largest.

    One row a feature, those chosen most often first; one column a number of features, or a range
    of them; the color is the share of the front's trials there that chose the feature.

    Args:
        studies: A study, or several of the same features, whose fronts are taken together.
        max_features: Most features shown.
        bins: Most columns.

    Example:
        >>> import optuna
        >>> from optuna_mofs import suggest_features
        >>> optuna.logging.set_verbosity(optuna.logging.ERROR)
        >>> def objective(trial):
        ...     mask = suggest_features(trial, ["age", "city", "pay"])
        ...     return 1.0 - mask[0], mask.mean()
        >>> study = optuna.create_study(
        ...     directions=["minimize"] * 2, sampler=optuna.samplers.RandomSampler(seed=0)
        ... )
        >>> study.optimize(objective, n_trials=20)
        >>> plot_feature_frequency(study).data[0].y[0]
        'age'
    """
    for name, value in (("max_features", max_features), ("bins", bins)):
        if value < 1:
            raise ValueError(f"{name} must be at least 1, but is {value}.")
    runs = [studies] if isinstance(studies, Study) else list(studies)
    if not runs:
        raise ValueError("No studies: give at least one.")
    found = front_masks(runs)
    often = found.masks.mean(axis=0)
    chosen = np.flatnonzero(often > 0)
    rows = chosen[np.argsort(-often[chosen], kind="stable")][:max_features]
    columns = size_bins(found.sizes, bins)
    share = np.array([found.masks[members][:, rows].mean(axis=0) for members in columns]).T
    labels = [_range(found.sizes[members]) for members in columns]
    hover = [
        [
            f"<b>{escape(found.names[j], False)}</b><br>in {round(part * len(members))} of "
            f"{len(members)} trials of the front with {label} features "
            f"({_percents(found.sizes[members], found.total)})"
            for label, members, part in zip(labels, columns, line)
        ]
        for j, line in zip(rows, share)
    ]
    go = plotly()
    figure = go.Figure(
        go.Heatmap(
            z=np.round(share, 4).tolist(),
            x=labels,
            y=tick_labels([found.names[j] for j in rows]),
            zmin=0,
            zmax=1,
            colorscale=SCALE,
            xgap=2,
            ygap=2,
            text=hover,
            hovertemplate="%{text}<extra></extra>",
            colorbar={"title": "share", "tickformat": ".0%", "thickness": 14},
        )
    )
    cut = "" if len(rows) == len(chosen) else f"the {len(rows)} most frequent of "
    title = "Features along the front"
    apply_style(
        figure,
        titled(title, runs[0]) if len(runs) == 1 else f"{title} of {len(runs)} studies",
        subtitle=f"{cut}{len(chosen):,} features that occur on the front, of {found.total:,}",
        height=max(320, 170 + 22 * len(rows)),
    )
    figure.update_xaxes(
        title=f"number of features, of {found.total:,}", type="category", showgrid=False
    )
    return figure.update_yaxes(
        type="category", autorange="reversed", showgrid=False, dtick=1, ticksuffix="  "
    )


def size_bins(sizes: NDArray[np.int64], most: int) -> list[NDArray[np.intp]]:
    """Positions of trials of like size, smallest first: one size a bin where there are few.

    Example:
        >>> [part.tolist() for part in size_bins(np.array([1, 2, 2, 5, 9]), 2)]
        [[0, 1, 2], [3, 4]]
    """
    parts = np.array_split(np.unique(sizes), min(most, len(np.unique(sizes))))
    return [np.flatnonzero(np.isin(sizes, part)) for part in parts]


def _range(sizes: NDArray[np.int64]) -> str:
    low, high = int(sizes.min()), int(sizes.max())
    return f"{low:,}" if low == high else f"{low:,}–{high:,}"


def _percents(sizes: NDArray[np.int64], total: int) -> str:
    low, high = percent(int(sizes.min()) / total), percent(int(sizes.max()) / total)
    return low if low == high else f"{low.removesuffix(' %')}–{high}"
