"""Filter weights over the trials."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import TrialState

from optuna_mofs._optuna import trials_of
from optuna_mofs._typing import Floats
from optuna_mofs._validation import check_optional_int
from optuna_mofs.features._mask_sampling import weights_from_raw
from optuna_mofs.features._representation import weight_parameter
from optuna_mofs.features._table import CONSTANT_FILTER
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import trial_note
from optuna_mofs.visualization._registry import register_figure
from optuna_mofs.visualization._utils import (
    NothingToPlotError,
    apply_style,
    figure_title,
    import_plotly,
    palette_color,
    with_opacity,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


@register_figure(order=6)
def plot_filter_weights(study: Study, *, window: int | None = None) -> go.Figure:
    """Plot the weight of each filter over the completed trials, as a moving mean.

    The weights are the parameters of a filter ensemble, or those in the notes of the sampler. For
    single filters, the fraction of trials that used each filter is shown.

    Args:
        study: A study whose trials have filter weights.
        window: Number of trials per mean. Default: a tenth of them, at least 5.

    Raises:
        NothingToPlotError: If no completed trial has weights.
    """
    check_optional_int("window", window, 1)
    filters, numbers, weights = filter_weights(study)
    size = min(len(weights), window or max(5, len(weights) // 10))
    means = moving_mean(weights, size)
    figure = import_plotly().Figure()
    for j, name in enumerate(filters):
        label = escape(name, quote=False)
        figure.add_scatter(
            x=numbers.tolist(),
            y=np.round(means[:, j], 6).tolist(),
            stackgroup="weights",
            mode="lines" if len(numbers) > 1 else "markers",
            line={"color": palette_color(j), "width": 1.5},
            fillcolor=with_opacity(palette_color(j), 0.55),
            name=label,
            hovertemplate=f"{label}: " + "%{y:.3f} at trial %{x}<extra></extra>",
        )
    apply_style(
        figure,
        figure_title("Filter weights", study),
        subtitle=f"moving mean of {size} trials" if size > 1 else None,
        legend={"traceorder": "reversed"},
    )
    figure.update_xaxes(title="trial")
    return figure.update_yaxes(title="weight", range=[0, 1])


def filter_weights(
    study: Study,
) -> tuple[tuple[str, ...], NDArray[np.int64], Floats]:
    """Return the names of the filters, the numbers of trials with weights, and their weights."""
    description = StudyDescription.read(study)
    table = None if description is None else description.features
    filters = () if table is None else table.filters
    numbers, rows = [], []
    names = [weight_parameter(name) for name in filters]
    for trial in trials_of(study, (TrialState.COMPLETE,)):
        note = trial_note(trial)
        if filters and all(name in trial.params for name in names):
            row = weights_from_raw(np.array([trial.params[name] for name in names]))
        elif trial.params.get("filter") in filters:
            row = np.array([float(trial.params["filter"] == name) for name in filters])
        elif (
            filters
            and note is not None
            and len(note.filter_weights)
            in (
                len(filters),
                len(filters) + 1,  # the constant filter of the paper's sampler
            )
        ):
            row = weights_from_raw(np.array(note.filter_weights, dtype=float))
        else:
            continue
        numbers.append(trial.number)
        rows.append(row)
    if not rows:
        raise NothingToPlotError(
            f"Study {study.study_name!r} has no filter weights: none of its completed trials was "
            "created with a filter ensemble (representation='filter_ensemble' or 'single_filter') "
            "or by FilterEnsembleNSGA2Sampler on features with filters."
        )
    most = max(map(len, rows))
    filters += (CONSTANT_FILTER,) * (most - len(filters))
    return (
        filters,
        np.array(numbers),
        np.array([np.pad(row, (0, most - len(row))) for row in rows]),
    )


def moving_mean(rows: Floats, window: int) -> Floats:
    """Return, per row, the mean of the last ``window`` rows up to it, fewer at the start."""
    sums = np.cumsum(np.vstack([np.zeros(rows.shape[1]), rows]), axis=0)
    last = np.arange(1, len(rows) + 1)
    first = np.maximum(0, last - window)
    return (sums[last] - sums[first]) / (last - first)[:, None]
