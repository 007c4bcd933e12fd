"""All figures that a study has something to show for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from optuna.study import Study

from optuna_mofs.preferences import LexicographicPreference
from optuna_mofs.visualization._studies import NothingToPlotError
from optuna_mofs.visualization.feature_frequency import plot_feature_frequency
from optuna_mofs.visualization.feature_order import plot_feature_order
from optuna_mofs.visualization.filter_weights import plot_filter_weights
from optuna_mofs.visualization.front import plot_front
from optuna_mofs.visualization.hypervolume import plot_hypervolume
from optuna_mofs.visualization.lexicographic_targets import plot_lexicographic_targets
from optuna_mofs.visualization.operators import plot_operators

if TYPE_CHECKING:
    import plotly.graph_objects as go


def plot_all(
    study: Study,
    *,
    preference: LexicographicPreference | None = None,
    max_features: int = 30,
) -> dict[str, go.Figure]:
    """Return every figure of one study that applies to it, by name, the most important first.

    What a study lacks (features, filter weights, operators) is left out.

    Args:
        study: Any Optuna study.
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
    makers: dict[str, Callable[[], go.Figure]] = {
        "front": lambda: plot_front(study, preference=preference),
        "hypervolume": lambda: plot_hypervolume(study),
        "feature_order": lambda: plot_feature_order(study, max_features=max_features),
        "feature_frequency": lambda: plot_feature_frequency(study, max_features=max_features),
        "operators": lambda: plot_operators(study),
        "filter_weights": lambda: plot_filter_weights(study),
    }
    if preference is not None:
        makers["lexicographic_targets"] = lambda: plot_lexicographic_targets(study, preference)
    figures = {}
    for name, make in makers.items():
        try:
            figures[name] = make()
        except NothingToPlotError:
            continue
    return figures
