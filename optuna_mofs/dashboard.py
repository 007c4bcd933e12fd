"""Our figures and a note of what is optimized, inside optuna-dashboard.

Metric names, feature names and the attributes of trials are in the study anyway, and the
dashboard shows them without help. What is here needs ``pip install 'optuna-mofs[dashboard]'``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from types import ModuleType
from typing import TYPE_CHECKING

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.study import Study
from optuna.trial import FrozenTrial

from optuna_mofs._imports import optional_import
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.study._completed_trials import read_metrics
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import shorten
from optuna_mofs.visualization._registry import checked_names, plot_all

if TYPE_CHECKING:
    import plotly.graph_objects as go

# A child of Optuna's logger, so that its verbosity holds here too.
_logger = optuna.logging.get_logger("optuna.mofs")

#: Before the names of our figures in the dashboard.
_ID = "mofs-"

#: What a study's page shows of ours unless told otherwise. The dashboard draws all figures of a
#: study before its own front, so each one delays the page.
DEFAULT_FIGURES = ("front", "hypervolume", "feature_frequency")

#: Features that one box of the dashboard has room for.
_ROWS = 15

#: The few tools that fit above a legend: in a row they would lie over the title.
_TOOLS = {
    "orientation": "v",
    "remove": ["zoom", "pan", "select", "lasso", "zoomin", "zoomout", "autoscale"],
}

#: Letters of a list of names in the note.
_SHOWN = 300


class DashboardFigures:
    """Callback that keeps the figures of a study in optuna-dashboard up to date.

    It also writes the study's note, if there is none. A figure that cannot be made is a warning in
    the log; the study goes on.

    Args:
        every: Trials between two refreshments. The first is after the first trial. Call
            :func:`save_figures` after ``study.optimize`` for the last ones.
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
        if isinstance(every, bool) or not isinstance(every, int) or every < 1:
            raise ValueError(f"every must be a number of trials of at least 1, but is {every!r}.")
        _dashboard()  # say at once if it is not installed
        self.every = every
        self.names = checked_names(names)
        self.preference = preference

    def __call__(self, study: Study, trial: FrozenTrial) -> None:
        """Refresh the figures if it is time; of several workers, one does it."""
        if trial.number % self.every:
            return
        try:
            if trial.number == 0:
                save_note(study)
            save_figures(study, names=self.names, preference=self.preference)
        except Exception as error:
            _logger.warning(f"The figures in the dashboard are not up to date: {error!r}")


def save_figures(
    study: Study,
    *,
    names: Collection[str] = DEFAULT_FIGURES,
    preference: LexicographicPreference | None = None,
    figures: Mapping[str, go.Figure] | None = None,
) -> list[str]:
    """Save figures into a study, where optuna-dashboard shows them among its graphs.

    Figures of the same names replace those saved before.

    Args:
        study: Any Optuna study.
        names: Of figures that :func:`optuna_mofs.visualization.plot_all` makes. The dashboard
            draws them all when the page is opened, so few are quick.
        preference: As for :func:`optuna_mofs.visualization.plot_all`.
        figures: Other figures instead, by name (letters, digits, hyphens, underscores).

    Returns:
        The names of the figures.
    """
    save: Callable[..., str] = _dashboard().save_plotly_graph_object
    made = dict(figures or {})
    if figures is None:
        made = plot_all(study, names=names, preference=preference, max_features=_ROWS)
        for figure in made.values():
            # The dashboard's boxes have one height.
            figure.update_layout(height=None, modebar=_TOOLS)
            # Most of the text of a small figure; what we set ourselves is the look.
            figure.layout.template = None
    for name, figure in made.items():
        save(study, figure, graph_object_id=_ID + name.replace("_", "-"))
    return list(made)


def save_note(study: Study, *, overwrite: bool = False) -> bool:
    """Write what is being optimized into the study's note, which optuna-dashboard shows.

    Args:
        study: Any Optuna study.
        overwrite: Whether a note that is there is replaced.

    Returns:
        Whether it was written.
    """
    dashboard = _dashboard()
    if dashboard.get_note(study).strip() and not overwrite:
        return False
    dashboard.save_note(study, study_note(study))
    return True


def study_note(study: Study) -> str:
    """What a study optimizes, in Markdown.

    Example:
        >>> study = optuna.create_study(directions=["minimize", "maximize"])
        >>> study.set_metric_names(["error", "speed"])
        >>> print(study_note(study))
        **Optimized:** minimize *error*, maximize *speed*.
    """
    names, signs = read_metrics(study)
    aims = [f"{'minimize' if s > 0 else 'maximize'} *{n}*" for n, s in zip(names, signs)]
    parts = [f"**Optimized:** {', '.join(aims)}."]
    described = StudyDescription.read(study)
    if described is not None:
        parts += _data_lines(described)
        parts += _space_lines(described)
    return "\n\n".join(parts)


def _data_lines(described: StudyDescription) -> list[str]:
    conditions, lines = described.conditions, []
    if "estimator" in conditions:
        # The folds are told with a fingerprint, which is for machines.
        folds = " ".join(conditions.get("folds", "").split()[:2])
        said = [conditions["estimator"], conditions.get("rows"), folds]
        scoring = conditions.get("scoring")
        said.append(None if scoring is None else f"scored by {scoring}")
        lines.append(f"**Model:** {', '.join(text for text in said if text)}.")
    table = described.features
    if table is not None and described.representation is not None:
        how = described.representation.kind.replace("_", " ")
        fixed = f", {len(table.fixed)} of them always in" if table.fixed else ""
        text = f"**Features:** {len(table):,}, chosen by a {how}{fixed}."
        if table.filters:
            text += f" Filters: {', '.join(table.filters)}."
        lines.append(f"{text}\n\n{shorten(table.names, _SHOWN)}")
    return lines


def _space_lines(described: StudyDescription) -> list[str]:
    if not described.space:
        return []
    rows = [f"| {name} | {_range(d)} |" for name, d in described.space.items()]
    return ["\n".join(["| hyperparameter | range |", "|---|---|", *rows])]


def _range(distribution: BaseDistribution) -> str:
    if isinstance(distribution, CategoricalDistribution):
        return shorten([str(choice) for choice in distribution.choices], _SHOWN)
    low, high = (getattr(distribution, end) for end in ("low", "high"))
    log = ", logarithmic" if getattr(distribution, "log", False) else ""
    return f"{low:g} to {high:g}{log}"


def _dashboard() -> ModuleType:
    return optional_import("optuna_dashboard", "dashboard")
