"""Length scales of the objectives' models, kept while trials are but a few more."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.gaussian.lasting import Lasting
from optuna_mofs.samplers.model_based.kriging import likely_scales
from optuna_mofs.samplers.model_based.scalarise import Scale, ranks
from optuna_mofs.samplers.model_based.view import View

#: Up to so many trials scales are estimated for each proposal, then when trials are a tenth more.
_ALWAYS, _AGAIN = 50, 1.1


def objective_scales(
    view: View, kept: Callable[[str, Callable[[], Any]], Any]
) -> dict[int, Array]:
    """Scales of each objective that needs a model.

    They are estimated from the first trials, as many as :class:`Lasting` says, on the scale of
    these: whoever reads the history later finds the same ones.

    Args:
        view: The history.
        kept: Keeps the scales from trial to trial.
    """
    lasting: Lasting = kept("scales", lambda: Lasting(first=_ALWAYS, again=_AGAIN))
    # Categories that are seen to be missing add columns.
    columns = view.seen.X.shape[1]
    return {
        j: lasting.of(view.history, j, partial(_likely, view, j), form=columns)
        for j in view.unknown
    }


def _likely(view: View, objective: int, count: int) -> Array:
    violations = view.history.violations.ravel()[:count]
    values = view.history.values[:count]
    scaled = Scale.of(values, violations)(values, violations)
    order = np.argsort(ranks(scaled), kind="stable")
    return likely_scales(view.seen.X[order], scaled[order, objective], together=view.together)
