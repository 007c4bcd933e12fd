"""Checks before the first trial: the space, the measures, the weights."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

from optuna_mofs.measures import Measure
from optuna_mofs.measures._registry import CLASSIFIER_ONLY
from optuna_mofs.objectives._evaluator import last_step


def check_measures(measures: Sequence[Measure], estimator: Any, classification: bool) -> None:
    """Refuse measures that are none, share a name or do not fit the task."""
    names = [m.name for m in measures]
    if not names:
        raise ValueError("measures is empty: name at least one, for example 'error'.")
    if len(set(names)) != len(names):
        raise ValueError(
            f"Measures must have different names, but are {names}. "
            "Name functions of your own: Measure('depth', fold=...)."
        )
    wrong = [n for n in names if n in CLASSIFIER_ONLY and not classification]
    if wrong:
        raise ValueError(
            f"Measures {wrong} need a classifier, but the estimator is {type(estimator).__name__}."
        )


def check_weights(estimator: Any, scorer: Any) -> None:
    """Refuse sample weights that the estimator or the scorer would not take."""
    final = last_step(estimator)[0]
    if hasattr(final, "fit") and not _takes_weights(final.fit):
        raise ValueError(
            f"sample_weight is given, but {type(final).__name__}.fit does not take it. "
            "Leave it out, or use an estimator that does."
        )
    score = getattr(scorer, "_score_func", scorer)
    if not _takes_weights(score):
        raise ValueError(
            f"sample_weight is given, but scoring {getattr(score, '__name__', score)!r} does not "
            "take it. Leave it out, or add an argument sample_weight=None to the scorer."
        )


def _takes_weights(function: Callable[..., Any]) -> bool:
    try:
        parameters = inspect.signature(function).parameters
    except ValueError:  # compiled, without a signature: the first trial will tell
        return True
    return "sample_weight" in parameters or any(
        p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values()
    )
