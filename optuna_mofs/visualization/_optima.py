"""Features of the smallest sets whose performance is close to the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from optuna_mofs.fronts._optima import Optima
from optuna_mofs.visualization._utils import (
    CELLS,
    NAME_AXIS,
    apply_style,
    import_plotly,
    tick_labels,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_optima(optima: Optima) -> go.Figure:
    """Plot which features the optima share.

    There is one row per set, and one column per feature of any set, the most frequent first. The
    color is the number of sets that contain the feature.

    Args:
        optima: The sets, from :func:`optuna_mofs.optima`.
    """
    used = np.flatnonzero(optima.masks.any(axis=0))
    counts = optima.masks.sum(axis=0)
    used = used[np.argsort(-counts[used], kind="stable")]
    figure = import_plotly().Figure()
    figure.add_heatmap(
        z=np.where(optima.masks[:, used], counts[used], np.nan),
        x=tick_labels([optima.feature_names[j] for j in used]),
        y=[f"trial {trial.number}" for trial in optima.trials],
        **{**CELLS, "zmax": len(optima)},
        hovertemplate="%{x}<br>%{y}<br>in %{z} of the sets<extra></extra>",
        colorbar={"title": "sets", "thickness": 14},
    )
    apply_style(
        figure,
        f"Features of {len(optima)} sets",
        subtitle=f"within {optima.tolerance:g} of the best {optima.metric_name}",
        height=max(320, 170 + 22 * len(optima)),
    )
    figure.update_xaxes(title="feature", type="category", showgrid=False)
    return figure.update_yaxes(NAME_AXIS)
