"""Fronts and features of searches on resamples of the rows."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
from optuna.study import Study

from optuna_mofs._validation import check_int
from optuna_mofs.fronts._resampled import ResampledFronts
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    ACCENT,
    CELLS,
    LEGEND_UPPER_RIGHT,
    MAIN,
    NAME_AXIS,
    NothingToPlotError,
    apply_style,
    axis_title,
    import_plotly,
    tick_labels,
    with_opacity,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go

_BAND = 0.8


@register_figure(order=4.5)
def plot_stability(
    source: Study | ResampledFronts, *, max_features: int = 25, max_sizes: int = 12
) -> go.Figure:
    """Plot what searches on resamples of the rows found: a band of fronts, and their features.

    The upper part shows the best value by maximum number of features, as the search saw it and on
    the rows outside of the resample: the line is the median, the band contains 80 % of the
    resamples. The lower part shows how often the best set contains a feature, by maximum number of
    features; the last column is the default pick.

    Args:
        source: The result of :func:`optuna_mofs.resampled_fronts`, or a study in which it is
            stored (``ResampledFronts.write``).
        max_features: Maximum number of rows.
        max_sizes: Maximum number of columns.

    Example:
        >>> from sklearn.datasets import load_wine
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from optuna_mofs import FeatureSelectionObjective, resampled_fronts
        >>> X, y = load_wine(return_X_y=True, as_frame=True)
        >>> objective = FeatureSelectionObjective(
        ...     GaussianNB(), X, y, cv=3, filters=["anova_f"], representation="filter_ensemble"
        ... )
        >>> found = resampled_fronts(
        ...     objective, n_trials=6, n_resamples=3, show_progress_bar=False
        ... )
        >>> plot_stability(found).data[-1].x[-1]
        'pick'
    """
    max_features = check_int("max_features", max_features, 1)
    max_sizes = check_int("max_sizes", max_sizes, 1)
    found = _read(source) if isinstance(source, Study) else source
    sizes = _sizes(found, max_sizes)
    if not sizes:
        raise NothingToPlotError("No search on a resample found a set with a feature.")
    labels = [f"{size:,}" for size in sizes]
    figure: Any = import_plotly("subplots").make_subplots(
        rows=2, cols=1, shared_xaxes=True, vertical_spacing=0.04, row_heights=[0.4, 0.6]
    )
    _add_band(figure, found, sizes, labels)
    pick = found.selection_frequency()
    table = found.frequencies(sizes)
    table = table.reindex(table.index.union(pick.index[pick > 0], sort=False), fill_value=0.0)
    table["pick"] = pick
    score = table["pick"] + 1e-3 * table.mean(axis=1)
    shown = score.sort_values(ascending=False, kind="stable").index[:max_features]
    shares = table.loc[shown].to_numpy()
    names = tick_labels(list(shown))
    columns = [*labels, "pick"]
    wording = [f"at most {label} features" for label in labels] + ["the default pick"]
    hover = [
        [
            f"<b>{escape(str(name), False)}</b><br>in {share:.0%} of the sets: {what}"
            for what, share in zip(wording, line)
        ]
        for name, line in zip(shown, shares)
    ]
    figure.add_heatmap(
        row=2,
        col=1,
        z=np.round(shares, 4).tolist(),
        x=columns,
        y=names,
        **CELLS,
        text=hover,
        hovertemplate="%{text}<extra></extra>",
        colorbar={
            "title": "selected",
            "tickformat": ".0%",
            "thickness": 14,
            "y": 0.28,
            "len": 0.5,
        },
    )
    metric = axis_title(found.metric_names[0], found.sign)
    cut = f", {len(shown)} of {len(table)} features" if len(shown) < len(table) else ""
    apply_style(
        figure,
        "Stability of the search on other rows",
        subtitle=f"{found.n_resamples} {found.method}s of {found.n_rows[0]:,} of "
        f"{found.n_rows[1]:,} rows{cut}; stability of the pick {found.stability()}",
        height=430 + 22 * len(shown),
        legend=LEGEND_UPPER_RIGHT,
    )
    figure.update_xaxes(type="category", showgrid=False, categoryarray=columns)
    figure.update_xaxes(title="number of features, at most", row=2, col=1)
    figure.update_yaxes(title=metric, row=1, col=1)
    return figure.update_yaxes(NAME_AXIS, row=2, col=1)


def _read(study: Study) -> ResampledFronts:
    found = ResampledFronts.read(study)
    if found is None:
        raise NothingToPlotError(
            f"Study {study.study_name!r} has no resamples. Run resampled_fronts(objective) and "
            "write the result into the study, or 'optuna-mofs stability'."
        )
    return found


def _sizes(found: ResampledFronts, max_sizes: int) -> list[int]:
    """Return numbers of features that occur, evenly spaced if there are too many."""
    every = np.unique(found.sizes[found.sizes > 0])
    if not len(every):
        return []
    kept = np.unique(np.linspace(0, len(every) - 1, min(max_sizes, len(every))).round())
    return [int(size) for size in every[kept.astype(int)]]


def _add_band(figure: Any, found: ResampledFronts, sizes: list[int], labels: list[str]) -> None:
    band = found.band(_BAND).loc[sizes]
    for prefix, name, color in (
        ("", "cross-validated in the resample", MAIN),
        ("test_", "on the rows outside of it", ACCENT),
    ):
        if band[prefix + "median"].isna().all():
            continue
        low, high = band[prefix + "low"].tolist(), band[prefix + "high"].tolist()
        figure.add_scatter(
            row=1,
            col=1,
            x=[*labels, *labels[::-1]],
            y=[*high, *low[::-1]],
            fill="toself",
            fillcolor=with_opacity(color, 0.15),
            line={"width": 0},
            hoverinfo="skip",
            showlegend=False,
        )
        figure.add_scatter(
            row=1,
            col=1,
            x=labels,
            y=band[prefix + "median"].tolist(),
            mode="lines+markers",
            line={"color": color, "width": 2},
            name=name,
            customdata=np.column_stack([low, high, band["resamples"]]).tolist(),
            hovertemplate="at most %{x} features: %{y:.4g} (%{customdata[0]:.4g} to "
            "%{customdata[1]:.4g}, %{customdata[2]} resamples)<extra></extra>",
        )
