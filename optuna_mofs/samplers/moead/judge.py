"""From a history to the model that judges children."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import Activity
from optuna_mofs.samplers.gaussian.lasting import Lasting
from optuna_mofs.samplers.gaussian.points import Points, points_of
from optuna_mofs.samplers.moead.children import Children
from optuna_mofs.samplers.moead.decomposition import Decomposition
from optuna_mofs.samplers.moead.guide import (
    KEEP,
    drawn_values,
    expected_gain,
    ranges,
    scales,
    spread,
)
from optuna_mofs.samplers.operators.places import Places

#: Values beyond this are infinities (see :class:`History`).
_FINITE = 1e299


class Judge:
    """Puts children in order of what they are expected to gain.

    What it keeps are caches of things learned from the first trials only, so that they last.

    Args:
        weights: Subproblems × objectives.
        decomposition: Losses and weights in, one number a subproblem out.
    """

    def __init__(self, weights: Array, decomposition: Decomposition) -> None:
        self._weights = weights
        self._decomposition = decomposition
        self._learned = Lasting()

    def order(
        self, rng: np.random.Generator, history: History, children: Children, front: Array
    ) -> Array:
        """Positions of children, the most promising first."""
        values = feasible_values(history.values, history.violations)
        origin, span = ranges(values[front], history.reference())
        losses = (values - origin) / span
        sure = np.zeros(len(values), dtype=bool)
        sure[front] = True
        kept = spread(losses.max(axis=1), sure, KEEP)
        activity, lengths = self._learned.of(history, "model", lambda n: _learn(history, n))
        places = Places.of(history)
        rows = activity.apply(history.space.snapped(children.rows))
        candidates = Points(places.coordinates(rows), history.space.categorical, children.masks)
        drawn = drawn_values(
            rng, points_of(history, places, kept), values[kept], candidates, lengths
        )
        gain = expected_gain((drawn - origin) / span, losses, self._weights, self._decomposition)
        return np.argsort(-gain, kind="stable")


def _learn(history: History, count: int) -> tuple[Activity, list[Array]]:
    """Which parameters are active, and length scales of each objective, from the first trials."""
    points = points_of(history, Places.of(history), np.arange(count))
    # What later trials say of the worst value must not change what was learned before.
    values = feasible_values(history.values[:count], history.violations[:count])
    activity = Activity(history.space, history.rows[:count], history.active_if)
    return activity, [scales(points, column) for column in values.T]


def feasible_values(values: Array, violations: Array) -> Array:
    """Values without infinities; a trial that breaks a constraint has the worst of each.

    If all break one, they count with what they have.

    Args:
        values: Trials × objectives.
        violations: Sum of constraint violations of each trial.
    """
    feasible = violations <= 0
    if not feasible.any():
        feasible = np.ones(len(values), dtype=bool)
    finite = feasible[:, None] & (np.abs(values) < _FINITE)
    low = values.min(axis=0, where=finite, initial=_FINITE)
    high = values.max(axis=0, where=finite, initial=-_FINITE)
    high = np.maximum(low, high)
    return np.where(feasible[:, None], np.clip(values, low, high), high)
