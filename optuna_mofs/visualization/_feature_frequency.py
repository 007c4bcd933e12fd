"""Frequency of each feature on the front."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study

from optuna_mofs._format import format_percent
from optuna_mofs._typing import Indices
from optuna_mofs._validation import check_int
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    CELLS,
    NAME_AXIS,
    apply_style,
    figure_title,
    front_masks,
    import_plotly,
    tick_labels,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


@register_figure(order=4)
def plot_feature_frequency(
    studies: Study | Sequence[Study], *, max_features: int = 30, max_bins: int = 12
) -> go.Figure:
    """Plot how often trials on the front select each feature, from small sets to large ones.

    There is one row per feature, the most frequent first, and one column per number of features,
    or range of numbers. The color is the fraction of the front's trials in the column that select
    the feature.

    Args:
        studies: A study, or several of the same features, whose fronts are joined.
        max_features: Maximum number of rows.
        max_bins: Maximum number of columns.

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
    check_int("max_features", max_features, 1)
    check_int("max_bins", max_bins, 1)
    runs = [studies] if isinstance(studies, Study) else list(studies)
    if not runs:
        raise ValueError("No studies: give at least one.")
    found = front_masks(runs)
    frequency = found.masks.mean(axis=0)
    selected = np.flatnonzero(frequency > 0)
    rows = selected[np.argsort(-frequency[selected], kind="stable")][:max_features]
    columns = size_bins(found.sizes, max_bins)
    fractions = np.array([found.masks[members][:, rows].mean(axis=0) for members in columns]).T
    labels, percents = [], []
    for members in columns:
        low, high = int(found.sizes[members].min()), int(found.sizes[members].max())
        labels.append(f"{low:,}" if low == high else f"{low:,}–{high:,}")
        of_all = format_percent(low / found.total), format_percent(high / found.total)
        same = of_all[0] == of_all[1]
        percents.append(of_all[0] if same else f"{of_all[0].removesuffix(' %')}–{of_all[1]}")
    hover = [
        [
            f"<b>{escape(found.names[j], False)}</b><br>in {round(fraction * len(members))} of "
            f"{len(members)} trials of the front with {label} features ({percent})"
            for label, percent, members, fraction in zip(labels, percents, columns, line)
        ]
        for j, line in zip(rows, fractions)
    ]
    figure = import_plotly().Figure()
    figure.add_heatmap(
        z=np.round(fractions, 4).tolist(),
        x=labels,
        y=tick_labels([found.names[j] for j in rows]),
        **CELLS,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        colorbar={"title": "fraction", "tickformat": ".0%", "thickness": 14},
    )
    cut = "" if len(rows) == len(selected) else f"the {len(rows)} most frequent of "
    title = "Features along the front"
    apply_style(
        figure,
        figure_title(title, runs[0]) if len(runs) == 1 else f"{title} of {len(runs)} studies",
        subtitle=f"{cut}{len(selected):,} features that occur on the front, of {found.total:,}",
        height=max(320, 170 + 22 * len(rows)),
    )
    figure.update_xaxes(
        title=f"number of features, of {found.total:,}", type="category", showgrid=False
    )
    return figure.update_yaxes(NAME_AXIS)


def size_bins(sizes: NDArray[np.int64], max_bins: int) -> list[Indices]:
    """Return the positions of trials in bins of similar size, smallest first."""
    parts = np.array_split(np.unique(sizes), min(max_bins, len(np.unique(sizes))))
    return [np.flatnonzero(np.isin(sizes, part)) for part in parts]
