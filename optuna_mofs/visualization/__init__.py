"""Plotly figures of studies, in the style of ``optuna.visualization``.

Each function takes one study or several and returns a :class:`plotly.graph_objects.Figure`. It
raises :exc:`NothingToPlotError` if a study lacks what the figure shows. Plotly is imported when
the first figure is created.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optuna_mofs.visualization._attainment import plot_attainment
from optuna_mofs.visualization._critical_difference import plot_critical_difference
from optuna_mofs.visualization._feature_frequency import plot_feature_frequency
from optuna_mofs.visualization._feature_order import plot_feature_order
from optuna_mofs.visualization._filter_weights import plot_filter_weights
from optuna_mofs.visualization._front import plot_front
from optuna_mofs.visualization._hypervolume import plot_hypervolume
from optuna_mofs.visualization._lexicographic_targets import plot_lexicographic_targets
from optuna_mofs.visualization._operators import plot_operators
from optuna_mofs.visualization._registry import figure_functions, plot_all, register_figure
from optuna_mofs.visualization._stability import plot_stability
from optuna_mofs.visualization._utils import NothingToPlotError

__all__ = [
    "NothingToPlotError",
    "plot_all",
    "plot_attainment",
    "plot_critical_difference",
    "plot_feature_frequency",
    "plot_feature_order",
    "plot_filter_weights",
    "plot_front",
    "plot_hypervolume",
    "plot_lexicographic_targets",
    "plot_operators",
    "plot_stability",
    "register_figure",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """Return a registered figure that is not in the list above."""
        figure = name.removeprefix("plot_")
        if name.startswith("plot_") and figure in figure_functions():
            return figure_functions()[figure]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
