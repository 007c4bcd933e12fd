"""The figures of one study by name. A new figure is one new file in this folder."""

from __future__ import annotations

import functools
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from optuna.study import Study

from optuna_mofs._validation import check_choice
from optuna_mofs.fronts._preference import LexicographicPreference
from optuna_mofs.visualization._utils import NothingToPlotError

if TYPE_CHECKING:
    import plotly.graph_objects as go

_Plot = TypeVar("_Plot", bound=Callable[..., Any])

#: Position and function of each figure, by name.
_FIGURES: dict[str, tuple[float, Callable[..., go.Figure]]] = {}


def register_figure(*, order: float = 100.0) -> Callable[[_Plot], _Plot]:
    """Return a decorator that adds a figure to :func:`plot_all` and to the dashboard.

    The function takes a study and returns a plotly figure. It raises :exc:`NothingToPlotError` if
    the study lacks what it shows. If it has a parameter ``preference`` or ``max_features``, it
    gets those of :func:`plot_all`; without a default for ``preference`` it is only called if there
    is one. ``plot_front`` is registered as ``"front"``.

    Args:
        order: Position among the figures; smaller numbers come first. The figures of this package
            have the numbers 1 to 7.

    Example:
        .. code-block:: python

            @register_figure()
            def plot_durations(study):
                seconds = [trial.duration.total_seconds() for trial in study.trials]
                return go.Figure(go.Histogram(x=seconds))
    """

    def register(function: _Plot) -> _Plot:
        name = function.__name__.removeprefix("plot_")
        known = _FIGURES.get(name, (order, function))[1]
        if known.__module__ != function.__module__:
            raise ValueError(
                f"A figure named {name!r} is registered already, by {known.__module__}. Rename "
                "the function."
            )
        _FIGURES[name] = (order, function)
        return function

    return register


@functools.cache
def _import_figures() -> None:
    """Import the modules of this folder, which register their figures."""
    package = importlib.import_module("optuna_mofs.visualization")
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{package.__name__}.{module.name}")


def figure_functions() -> dict[str, Callable[..., go.Figure]]:
    """Return all registered functions by name of the figure, the most important first."""
    _import_figures()
    names = sorted(_FIGURES, key=lambda name: (_FIGURES[name][0], name))
    return {name: _FIGURES[name][1] for name in names}


def check_figure_names(names: Collection[str] | None) -> list[str]:
    """Return names of figures (None: all) in the order of the registry; raise if unknown."""
    known = figure_functions()
    for name in names or ():
        check_choice("The name of a figure", name, known)
    return [name for name in known if names is None or name in names]


def plot_all(
    study: Study,
    *,
    names: Collection[str] | None = None,
    preference: LexicographicPreference | None = None,
    max_features: int = 30,
) -> dict[str, go.Figure]:
    """Return every figure of a study that applies to it, by name, the most important first.

    Figures that need something that the study lacks (features, filter weights, operators) are left
    out.

    Args:
        study: Any Optuna study.
        names: Names of the figures. Default: all.
        preference: Its trial is marked on the front, and the figure of its targets is added.
        max_features: Maximum number of features in figures that list them.

    Example:
        >>> import optuna
        >>> optuna.logging.set_verbosity(optuna.logging.WARNING)
        >>> study = optuna.create_study(directions=["minimize"] * 2)
        >>> study.add_trial(optuna.trial.create_trial(values=(0.3, 1)))
        >>> list(plot_all(study))
        ['front', 'hypervolume']
    """
    options: dict[str, Any] = {"max_features": max_features}
    if preference is not None:
        options["preference"] = preference
    functions, figures = figure_functions(), {}
    for name in check_figure_names(names):
        parameters = inspect.signature(functions[name]).parameters
        required = [key for key, p in parameters.items() if p.default is inspect.Parameter.empty]
        if "preference" in required and preference is None:
            continue
        used = {key: value for key, value in options.items() if key in parameters}
        try:
            figures[name] = functions[name](study, **used)
        except NothingToPlotError:
            continue
    return figures
