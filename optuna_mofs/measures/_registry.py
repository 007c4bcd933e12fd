"""Measures by name."""

from __future__ import annotations

from collections.abc import Callable

from optuna_mofs._validation import did_you_mean
from optuna_mofs.measures._base import Fold, Measure
from optuna_mofs.measures._complexity import (
    COST,
    FRACTION,
    INSTABILITY,
    N_FEATURES,
    model_size,
    parameter_count,
    prediction_time,
)
from optuna_mofs.measures._prediction import (
    auc_loss,
    brier_loss,
    error_measure,
    false_negative_rate,
    false_positive_rate,
    geometric_mean_loss,
    log_loss,
    training_error_measure,
)
from optuna_mofs.measures._vc_dimension import vc_dimension_measure

# Some measures depend on the objective's scorer, so each entry is a function of it.
_MEASURES: dict[str, Callable[[object], Measure]] = {
    "error": error_measure,
    "training_error": training_error_measure,
    "brier_loss": lambda _: Measure("brier_loss", fold=brier_loss, worst=1.0),
    # A little above minus the logarithm of the least probability that counts.
    "log_loss": lambda _: Measure("log_loss", fold=log_loss, worst=4.7),
    "auc_loss": lambda _: Measure("auc_loss", fold=auc_loss, worst=1.0),
    "fnr": lambda _: Measure("fnr", fold=false_negative_rate, worst=1.0),
    "fpr": lambda _: Measure("fpr", fold=false_positive_rate, worst=1.0),
    "geometric_mean_loss": lambda _: Measure(
        "geometric_mean_loss", fold=geometric_mean_loss, worst=1.0
    ),
    "model_size": lambda _: Measure("model_size", fold=model_size),
    "parameter_count": lambda _: Measure("parameter_count", fold=parameter_count),
    "prediction_time": lambda _: prediction_time(),
    "vc_dimension": lambda _: vc_dimension_measure(),
    "fraction": lambda _: FRACTION,
    "n_features": lambda _: N_FEATURES,
    "cost": lambda _: COST,
    "instability": lambda _: INSTABILITY,
}

_ALIASES = {"false_negative_rate": "fnr", "false_positive_rate": "fpr"}
#: Measures that only make sense for classifiers.
CLASSIFIER_ONLY = frozenset(
    {"auc_loss", "brier_loss", "fnr", "fpr", "geometric_mean_loss", "log_loss", "vc_dimension"}
)


def measure_names() -> list[str]:
    """Names that :func:`measure` knows."""
    return sorted(_MEASURES)


def get_measure(what: str | Measure | Callable[[Fold], float], scorer: object = None) -> Measure:
    """A measure by name, the user's own :class:`Measure`, or a function of a fold.

    Args:
        what: Name, measure, or function ``f(fold) -> float`` to minimize.
        scorer: The objective's scorer, which ``error`` and ``training_error`` go by.

    Example:
        >>> get_measure("fraction").name
        'fraction'
    """
    if isinstance(what, Measure):
        return what
    if isinstance(what, str):
        name = _ALIASES.get(what, what)
        if name not in _MEASURES:
            hint = did_you_mean(name, _MEASURES)
            raise ValueError(f"Unknown measure {what!r}.{hint} Known: {measure_names()}.")
        return _MEASURES[name](scorer)
    if callable(what):
        return Measure(getattr(what, "__name__", "measure"), fold=what)
    raise ValueError(f"A measure is a name, a Measure or a function of a fold, not {what!r}.")
