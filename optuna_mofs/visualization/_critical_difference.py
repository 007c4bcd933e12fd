"""Mean ranks of methods over data sets with the critical difference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from optuna.study import Study

from optuna_mofs.fronts._comparison import Reference, hypervolume_table
from optuna_mofs.statistics import RankComparison, compare_ranks
from optuna_mofs.visualization._utils import FAINT_INK, INK, MAIN, apply_style, import_plotly

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def plot_critical_difference(
    compared: RankComparison | pd.DataFrame | Mapping[str, Sequence[Study]],
    *,
    alpha: float = 0.05,
    higher_is_better: bool = True,
    reference: Reference = None,
) -> go.Figure:
    """Plot mean ranks of methods; bars join methods that do not differ significantly.

    Demšar (2006), *Statistical comparisons of classifiers over multiple data sets*, JMLR 7,
    section 3.2.4: Nemenyi's test after Friedman's.

    Args:
        compared: Scores, one row per data set and one column per method; or studies by method, one
            per data set in the same order, compared by hypervolume; or a result of
            :func:`optuna_mofs.statistics.compare_ranks`.
        alpha: Level of significance.
        higher_is_better: Whether higher scores are better. Used for scores only.
        reference: Reference point of the hypervolume. Used for studies only.

    Example:
        >>> import pandas as pd
        >>> scores = pd.DataFrame({"ours": [0.9, 0.8, 0.9], "theirs": [0.8, 0.7, 0.6]})
        >>> figure = plot_critical_difference(scores)
        >>> [trace.name for trace in figure.data if trace.name]
        ['ours', 'theirs']
    """
    found = _comparison(compared, alpha, higher_is_better, reference)
    count = len(found.names)
    figure = import_plotly().Figure()
    half = (count + 1) // 2
    joined = found.cliques if found.is_significant else [(0, count - 1)]
    # Rows below the axis: bars first, then one row per label on either side.
    labels_from = -0.55 - 0.28 * len(joined)
    for i, (name, rank) in enumerate(zip(found.names, found.ranks.tolist())):
        left = i < half
        y = labels_from - 0.42 * (i if left else count - 1 - i)
        side = 0.9 if left else count + 0.1
        figure.add_scatter(
            x=[rank, rank, side],
            y=[0, y, y],
            mode="lines+markers",
            line={"color": INK, "width": 1.2},
            marker={"color": INK, "size": [7, 0, 0]},
            name=name,
            hovertemplate=f"{escape(name, False)}: mean rank {rank:.3f}<extra></extra>",
            showlegend=False,
        )
        figure.add_annotation(
            x=side,
            y=y,
            text=f"{escape(name, False)} <span style='color:{FAINT_INK}'>{rank:.2f}</span>",
            xanchor="right" if left else "left",
            xshift=-4 if left else 4,
            showarrow=False,
        )
    for i, (first, last) in enumerate(joined):
        figure.add_scatter(
            x=[float(found.ranks[first]) - 0.04, float(found.ranks[last]) + 0.04],
            y=[-0.28 * (i + 1)] * 2,
            mode="lines",
            line={"color": MAIN, "width": 6},
            hoverinfo="skip",
            showlegend=False,
        )
    _scale(figure, count, found.critical_difference)
    # Space for the longest name beside the axis.
    side_margin = min(320, 60 + 7 * max(map(len, found.names)))
    outcome = "differ" if found.is_significant else "do not differ significantly"
    apply_style(
        figure,
        "Mean ranks and critical difference",
        subtitle=f"{found.n_blocks} data sets or runs; Friedman p = {found.p_value:.2g}: the "
        f"methods {outcome}; bars join methods that do not differ by Nemenyi's test "
        f"(α = {found.alpha:g})",
        height=300 + 34 * half,
        margin={"l": side_margin, "r": side_margin, "t": 90, "b": 20},
    )
    lowest = labels_from - 0.42 * half
    figure.update_xaxes(visible=False, range=[0.85, count + 0.15])
    return figure.update_yaxes(visible=False, range=[lowest, 1.0])


def _comparison(
    compared: Any, alpha: float, higher_is_better: bool, reference: Reference
) -> RankComparison:
    if isinstance(compared, RankComparison):
        return compared
    if isinstance(compared, Mapping):
        compared, higher_is_better = hypervolume_table(compared, reference), True
    if not hasattr(compared, "columns"):
        raise TypeError(
            "Expected a table of scores (a DataFrame with one column per method), studies by "
            f"method, or a RankComparison, got {type(compared).__name__}."
        )
    names = [str(column) for column in compared.columns]
    return compare_ranks(compared, names, alpha=alpha, higher_is_better=higher_is_better)


def _scale(figure: go.Figure, count: int, difference: float) -> None:
    """Add the axis of ranks and, above it, the length of the critical difference."""
    line = {"color": INK, "width": 1.5}
    figure.add_shape(type="line", x0=1, x1=count, y0=0, y1=0, line=line)
    for rank in range(1, count + 1):
        figure.add_shape(type="line", x0=rank, x1=rank, y0=0, y1=0.12, line=line)
        figure.add_annotation(x=rank, y=0.12, text=str(rank), yshift=10, showarrow=False)
    figure.add_shape(type="line", x0=1, x1=1 + difference, y0=0.72, y1=0.72, line=line)
    for x in (1, 1 + difference):
        figure.add_shape(type="line", x0=x, x1=x, y0=0.66, y1=0.78, line=line)
    figure.add_annotation(
        x=1 + difference / 2,
        y=0.72,
        text=f"critical difference {difference:.2f}",
        yshift=11,
        showarrow=False,
    )
