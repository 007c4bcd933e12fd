"""Figures and a note for optuna-dashboard.

The dashboard shows metric names, feature names and attributes of trials without this module. The
figures and the note need ``pip install 'optuna-mofs[dashboard]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._format import format_number
from optuna_mofs._imports import optional_import
from optuna_mofs._optuna import read_study_attr, write_study_attr
from optuna_mofs._validation import check_int
from optuna_mofs.fronts._front import pareto_front
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import read_metrics
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import shorten
from optuna_mofs.visualization._honest_layers import expectation
from optuna_mofs.visualization._registry import check_figure_names, plot_all
from optuna_mofs.visualization._utils import metric_label

if TYPE_CHECKING:
    import plotly.graph_objects as go

# A child of Optuna's logger: it has the same verbosity.
_logger = optuna.logging.get_logger("optuna.mofs")
#: Prefix of the identifiers of figures in the dashboard.
_ID_PREFIX = "mofs-"
#: Figures that are saved by default. The dashboard draws all saved figures of a study before its
#: own front, so each one delays the page.
DEFAULT_FIGURES = ("front", "hypervolume", "feature_frequency")
#: Maximum number of features that fit into one box of the dashboard.
_MAX_FEATURES = 15
#: A vertical toolbar with few buttons: a horizontal one would overlap the title.
_TOOLBAR = {
    "orientation": "v",
    "remove": ["zoom", "pan", "select", "lasso", "zoomin", "zoomout", "autoscale"],
}
#: Key of the study attribute with the last note that was written.
_NOTE = "note"
#: Maximum number of characters of a list of names in the note.
_MAX_LIST = 300


class DashboardFigures:
    """Callback that updates the figures of a study in optuna-dashboard.

    It also writes the note of the study, unless you wrote one. If a figure cannot be created, a
    warning is logged and the study continues.

    Args:
        every: Number of trials between two updates. The first update is after the first trial.
            Call :func:`save_figures` after ``study.optimize`` to include the last trials.
        names: As for :func:`save_figures`.
        preference: As for :func:`optuna_mofs.visualization.plot_all`.

    Example:
        .. code-block:: python

            study.optimize(objective, n_trials=500, callbacks=[DashboardFigures(every=50)])
    """

    def __init__(
        self,
        every: int = 50,
        *,
        names: Collection[str] = DEFAULT_FIGURES,
        preference: LexicographicPreference | None = None,
    ) -> None:
        _dashboard()  # raise now if it is not installed
        self.every = check_int("every", every, 1)
        self.names = check_figure_names(names)
        self.preference = preference

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Update the figures if it is time; only one of several workers does it."""
        if trial.number % self.every:
            return
        try:
            save_note(study)
            save_figures(study, names=self.names, preference=self.preference)
        except Exception as error:
            _logger.warning(f"The figures in the dashboard could not be updated: {error!r}")


def save_figures(
    study: Study,
    *,
    names: Collection[str] = DEFAULT_FIGURES,
    preference: LexicographicPreference | None = None,
    figures: Mapping[str, go.Figure] | None = None,
) -> list[str]:
    """Save figures in a study; optuna-dashboard shows them among its graphs.

    A figure replaces an earlier one of the same name.

    Args:
        study: Any Optuna study.
        names: Names of figures of :func:`optuna_mofs.visualization.plot_all`. The dashboard draws
            all saved figures when the page is opened, so fewer figures open faster.
        preference: As for :func:`optuna_mofs.visualization.plot_all`.
        figures: Figures of your own to save instead, by name (letters, digits, hyphens,
            underscores).

    Returns:
        The names of the saved figures.
    """
    save: Callable[..., str] = _dashboard().save_plotly_graph_object
    saved = dict(figures or {})
    if figures is None:
        saved = plot_all(study, names=names, preference=preference, max_features=_MAX_FEATURES)
        for figure in saved.values():
            # All boxes of the dashboard have the same height.
            figure.update_layout(height=None, modebar=_TOOLBAR)
            # The template is most of the JSON of a small figure, and the style is set explicitly.
            figure.layout.template = None
    for name, figure in saved.items():
        save(study, figure, graph_object_id=_ID_PREFIX + name.replace("_", "-"))
    return list(saved)


def save_note(study: Study, *, overwrite: bool = False) -> bool:
    """Write a description of the study into its note, which optuna-dashboard shows.

    It says what to expect on new rows if that is known. A note that this function wrote is
    replaced, one that you wrote or changed is not.

    Args:
        study: Any Optuna study.
        overwrite: Whether to replace any note.

    Returns:
        Whether the note was written.
    """
    dashboard = _dashboard()
    found = dashboard.get_note(study)
    if found.strip() and found != read_study_attr(study, _NOTE) and not overwrite:
        return False
    text = study_note(study)
    if text != found:
        dashboard.save_note(study, text)
        write_study_attr(study, _NOTE, text)
    return True


def study_note(study: Study) -> str:
    """Return a description of what a study optimizes, in Markdown.

    Example:
        >>> study = optuna.create_study(directions=["minimize", "maximize"])
        >>> study.set_metric_names(["error", "speed"])
        >>> print(study_note(study))
        **Optimized:** minimize *error*, maximize *speed*.
    """
    names, signs = read_metrics(study)
    objectives = [f"{'minimize' if s > 0 else 'maximize'} *{n}*" for n, s in zip(names, signs)]
    parts = [f"**Optimized:** {', '.join(objectives)}."]
    description = StudyDescription.read(study)
    parts += _expectation_lines(study)
    if description is not None:
        parts += _data_lines(description)
    if description is not None and description.space:
        rows = [f"| {name} | {_format_range(d)} |" for name, d in description.space.items()]
        parts.append("\n".join(["| hyperparameter | range |", "|---|---|", *rows]))
    return "\n\n".join(parts)


def _expectation_lines(study: Study) -> list[str]:
    """Return what to expect on new rows, if it is known, and the warning of the front."""
    front = pareto_front(study, duplicates=False)
    honest = front.honest()
    lines = []
    if honest.source is not None and len(front):
        what = metric_label(front.points, front.metric_names.index(honest.metric_name))
        lines.append(f"**To expect on new rows:** {what} of the {expectation(front)}.")
    return [*lines, f"**{honest.warning}**"] if honest.warning else lines


def _data_lines(description: StudyDescription) -> list[str]:
    conditions, lines = description.conditions, []
    if "estimator" in conditions:
        # Without the fingerprint of the folds, which is not meant to be read.
        folds = " ".join(conditions.get("folds", "").split()[:2])
        texts = [conditions["estimator"], conditions.get("rows"), folds]
        if "scoring" in conditions:
            texts.append(f"scored by {conditions['scoring']}")
        lines.append(f"**Model:** {', '.join(text for text in texts if text)}.")
    table = description.features
    if table is not None and description.representation is not None:
        kind = description.representation.kind.replace("_", " ")
        fixed = f", {len(table.fixed)} of them fixed" if table.fixed else ""
        text = f"**Features:** {len(table):,}, selected by a {kind}{fixed}."
        if table.filters:
            text += f" Filters: {', '.join(table.filters)}."
        lines.append(f"{text}\n\n{shorten(table.names, _MAX_LIST)}")
    return lines


def _format_range(distribution: BaseDistribution) -> str:
    if isinstance(distribution, CategoricalDistribution):
        return shorten([str(choice) for choice in distribution.choices], _MAX_LIST)
    low, high = (format_number(getattr(distribution, end)) for end in ("low", "high"))
    log = ", logarithmic" if getattr(distribution, "log", False) else ""
    return f"{low} to {high}{log}"


def _dashboard() -> ModuleType:
    return optional_import("optuna_dashboard", "dashboard")
