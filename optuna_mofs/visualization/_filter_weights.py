"""How the weights of the filters move as the search goes on."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from optuna.study import Study
from optuna.trial import TrialState

from optuna_mofs._optuna import frozen_attr, trials_of
from optuna_mofs.features._representation import weight_parameter, weights_from_raw
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._trial_note import NOTE
from optuna_mofs.visualization._utils import (
    NothingToPlotError,
    apply_style,
    color,
    faded,
    plotly,
    titled,
)

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_filter_weights(study: Study, *, window: int | None = None) -> go.Figure:
    """Plot the weight of each filter over the finished trials, as a moving mean.

    The weights are those that a trial of a filter ensemble was suggested with, or that the sampler
    carried along for its mask; for single filters, the share of trials that used each.

    Args:
        study: A study whose trials have filter weights.
        window: Trials a mean is taken of. Default: a tenth of them, at least 5.

    Raises:
        NothingToPlotError: If no finished trial has weights.
    """
    if window is not None and window < 1:
        raise ValueError(f"window must be at least 1, but is {window}.")
    filters, numbers, weights = filter_weights(study)
    size = min(len(weights), window or max(5, len(weights) // 10))
    means = moving_mean(weights, size)
    go = plotly()
    figure = go.Figure()
    for j, name in enumerate(filters):
        label = escape(name, quote=False)
        figure.add_scatter(
            x=numbers.tolist(),
            y=np.round(means[:, j], 6).tolist(),
            stackgroup="weights",
            mode="lines" if len(numbers) > 1 else "markers",
            line={"color": color(j), "width": 1.5},
            fillcolor=faded(color(j), 0.55),
            name=label,
            hovertemplate=f"{label}: " + "%{y:.3f} at trial %{x}<extra></extra>",
        )
    apply_style(
        figure,
        titled("Filter weights", study),
        subtitle=f"mean of {size} trials" if size > 1 else None,
        legend={"traceorder": "reversed"},
    )
    figure.update_xaxes(title="trial")
    return figure.update_yaxes(title="weight", range=[0, 1])


def filter_weights(
    study: Study,
) -> tuple[tuple[str, ...], NDArray[np.int64], NDArray[np.float64]]:
    """Names of the filters, numbers of the trials that have weights, trials × filters."""
    described = StudyDescription.read(study)
    filters = () if described is None or described.features is None else described.features.filters
    numbers, rows = [], []
    names = [weight_parameter(name) for name in filters]
    for trial in trials_of(study, (TrialState.COMPLETE,)):
        remembered = (frozen_attr(trial, NOTE) or {}).get("raw_weights", ())
        if filters and all(name in trial.params for name in names):
            row = weights_from_raw(np.array([trial.params[name] for name in names]))
        elif trial.params.get("filter") in filters:
            row = np.array([float(trial.params["filter"] == name) for name in filters])
        elif filters and len(remembered) == len(filters):
            row = weights_from_raw(np.array(remembered, dtype=float))
        else:
            continue
        numbers.append(trial.number)
        rows.append(row)
    if not rows:
        raise NothingToPlotError(
            f"Study {study.study_name!r} has no filter weights: none of its finished trials was "
            "made of a filter ensemble (representation='filter_ensemble' or 'single_filter') or "
            "by "
            "FilterEnsembleNSGA2Sampler on features with filters."
        )
    return filters, np.array(numbers), np.array(rows)


def moving_mean(rows: NDArray[np.float64], window: int) -> NDArray[np.float64]:
    """Mean of the last ``window`` rows up to each, fewer at the start.

    Example:
        >>> moving_mean(np.array([[1.0], [3.0], [5.0]]), 2).ravel().tolist()
        [1.0, 2.0, 4.0]
    """
    sums = np.cumsum(np.vstack([np.zeros(rows.shape[1]), rows]), axis=0)
    last = np.arange(1, len(rows) + 1)
    first = np.maximum(0, last - window)
    means: NDArray[np.float64] = (sums[last] - sums[first]) / (last - first)[:, None]
    return means
