"""All figures that a study has something to show for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from optuna.study import Study

from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.visualization._feature_frequency import plot_feature_frequency
from optuna_mofs.visualization._feature_order import plot_feature_order
from optuna_mofs.visualization._filter_weights import plot_filter_weights
from optuna_mofs.visualization._front import plot_front
from optuna_mofs.visualization._hypervolume import plot_hypervolume
from optuna_mofs.visualization._lexicographic_targets import plot_lexicographic_targets
from optuna_mofs.visualization._operators import plot_operators
from optuna_mofs.visualization._utils import NothingToPlotError

if TYPE_CHECKING:
    import plotly.graph_objects as go

_Maker = Callable[[Study, LexicographicPreference | None, int], "go.Figure"]


def _targets(study: Study, preference: LexicographicPreference | None) -> go.Figure:
    if preference is None:
        raise NothingToPlotError("No preference is given whose targets could be shown.")
    return plot_lexicographic_targets(study, preference)


#: The most important first.
_MAKERS: dict[str, _Maker] = {
    "front": lambda study, preference, _: plot_front(study, preference=preference),
    "hypervolume": lambda study, _, __: plot_hypervolume(study),
    "feature_order": lambda study, _, most: plot_feature_order(study, max_features=most),
    "feature_frequency": lambda study, _, most: plot_feature_frequency(study, max_features=most),
    "operators": lambda study, _, __: plot_operators(study),
    "filter_weights": lambda study, _, __: plot_filter_weights(study),
    "lexicographic_targets": lambda study, preference, _: _targets(study, preference),
}


def checked_names(names: Collection[str] | None) -> list[str]:
    """Names of figures in our order, all for None; an unknown one is refused."""
    for name in names or ():
        if name not in _MAKERS:
            raise ValueError(f"No figure {name!r}; there are {', '.join(map(repr, _MAKERS))}.")
    return [name for name in _MAKERS if names is None or name in names]


def plot_all(
    study: Study,
    *,
    names: Collection[str] | None = None,
    preference: LexicographicPreference | None = None,
    max_features: int = 30,
) -> dict[str, go.Figure]:
    """Return every figure of one study that applies to it, by name, the most important first.

    What a study lacks (features, filter weights, operators) is left out.

    Args:
        study: Any Optuna study.
        names: Of the figures wanted. Default: all.
        preference: Marks its pick on the front and adds the figure of its targets.
        max_features: Most features in figures that list them.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2)
        >>> study.add_trial(optuna.trial.create_trial(values=(0.3, 1)))
        >>> list(plot_all(study))
        ['front', 'hypervolume']
    """
    figures = {}
    for name in checked_names(names):
        try:
            figures[name] = _MAKERS[name](study, preference, max_features)
        except NothingToPlotError:
            continue
    return figures
