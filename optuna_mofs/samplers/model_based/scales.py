"""Length scales of the objectives' models, kept while trials are but a few more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optuna_mofs.features.table import Array
from optuna_mofs.samplers.gaussian.process import learned_from
from optuna_mofs.samplers.model_based.kriging import likely_scales
from optuna_mofs.samplers.model_based.scalarise import Scale, ranks
from optuna_mofs.samplers.model_based.view import View

#: Up to so many trials scales are estimated for each proposal, then when trials are a tenth more.
_ALWAYS, _AGAIN = 50, 1.1


def objective_scales(
    view: View, kept: Callable[[str, Callable[[], Any]], Any]
) -> dict[int, Array]:
    """Scales of each objective that needs a model.

    They are estimated from the first trials, as many as :func:`learned_from` says, on the scale of
    these: whoever reads the history later finds the same ones.

    Args:
        view: The history.
        kept: Keeps the scales from trial to trial.
    """
    X, history = view.seen.X, view.history
    count = learned_from(len(X), first=_ALWAYS, again=_AGAIN)
    numbers = view.numbers[:count].tobytes()
    known: dict[int, tuple[Any, Array]] = kept("scales", dict)
    # Trials that end late can be among the first; categories seen to be missing add columns, and
    # a range that grows moves all that lies in it.
    key = X.shape[1], numbers, history.space.distributions
    if any(j not in known or known[j][0] != key for j in view.unknown):
        violations = history.violations.ravel()[:count]
        values = history.values[:count]
        scaled = Scale.of(values, violations)(values, violations)
        order = np.argsort(ranks(scaled), kind="stable")
        for j in view.unknown:
            found = likely_scales(X[order], scaled[order, j], together=view.together)
            known[j] = key, found
    return {j: known[j][1] for j in view.unknown}
