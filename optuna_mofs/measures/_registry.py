"""Measures by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from optuna_mofs._validation import check_choice
from optuna_mofs.measures._base import Fold, Measure

# Some measures depend on the objective's scorer, so each entry is a function of it.
_MEASURES: dict[str, Callable[[Any], Measure]] = {}
_ALIASES = {
    "false_negative_rate": "fnr",
    "false_positive_rate": "fpr",
    "predict_time": "prediction_time",
}


def register_measure(measure: Measure | Callable[[Any], Measure]) -> None:
    """Make a measure available by its name.

    Args:
        measure: The measure, or a function of the objective's scorer that returns it.

    Example:
        >>> register_measure(Measure("depth", fold=lambda fold: fold.estimator.get_depth()))
        >>> get_measure("depth").name
        'depth'
        >>> del _MEASURES["depth"]
    """
    if isinstance(measure, Measure):
        _MEASURES[measure.name] = lambda scorer: measure
    else:
        _MEASURES[measure(None).name] = measure


def measure_names() -> list[str]:
    """Return the names of all measures."""
    return sorted(_MEASURES)


def get_measure(what: str | Measure | Callable[[Fold], float], scorer: object = None) -> Measure:
    """Return a measure by name, the user's own :class:`Measure`, or one of a function of a fold.

    Args:
        what: Name, measure, or function ``f(fold) -> float`` to minimize.
        scorer: The objective's scorer, which ``error`` and ``training_error`` use.

    Example:
        >>> get_measure("fraction").name
        'fraction'
    """
    if isinstance(what, Measure):
        return what
    if isinstance(what, str):
        name = check_choice("measure", _ALIASES.get(what, what), measure_names())
        return _MEASURES[name](scorer)
    if callable(what):
        return Measure(getattr(what, "__name__", "measure"), fold=what)
    raise ValueError(f"A measure must be a name, a Measure or a function of a fold, got {what!r}.")
