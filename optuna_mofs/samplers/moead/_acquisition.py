"""The expected gain of a child over all subproblems."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._encoding import LogFractionScale, points_of
from optuna_mofs.samplers._gaussian_process import (
    Points,
    GaussianProcess,
    RefitSchedule,
    fit_length_scales,
    normal_scores,
)
from optuna_mofs.samplers.moead._offspring import Children
from optuna_mofs.samplers.moead._subproblems import Decomposition

#: Trials that predictions are made from, and that length scales are estimated from.
KEEP, LEARN = 80, 50
#: The model is surer than it should be: standard deviations count this many times.
_WIDER = 1.7
#: Draws of what a child may turn out to be.
_DRAWS = 16
#: The point that distances are taken from lies this far below the best values, in units of the
#: range: at the best values themselves the ends of the front would have nothing left to gain.
_BELOW = 0.1
#: An objective's range is at most this many times that of the front.
_WIDEST = 4.0


def ranges(front: Array, reference: Array) -> tuple[Array, Array]:
    """Where distances are taken from, and the range of each objective.

    The range goes from the best value to the worst sensible one, not to the worst of the members:
    they come together, and their range with them, until the ends of the front are forgotten.

    Args:
        front: Points × objectives, those that no other dominates.
        reference: The worst sensible value of each objective.

    Example:
        >>> origin, span = ranges(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([9.0, 2.0]))
        >>> origin.tolist(), span.tolist()
        ([-0.4, 0.9], [4.0, 1.0])
    """
    best = front.min(axis=0)
    seen = np.ptp(front, axis=0)
    span = np.where(seen > 0, np.clip(reference - best, seen, _WIDEST * seen), 1.0)
    return best - _BELOW * span, span


def spread(scores: Array, sure: Array, most: int) -> Array:
    """Positions of at most ``most`` trials: those that must be in, and a spread of the others.

    Args:
        scores: Of each trial, the best lowest.
        sure: Which trials come first; a spread of them if they are too many.
        most: At most so many.
    """
    if len(scores) <= most:
        return np.arange(len(scores))
    order = np.argsort(scores, kind="stable")
    first, rest = order[sure[order]], order[~sure[order]]
    first = _evenly(first, most)
    return np.sort(np.concatenate([first, _evenly(rest, most - len(first))]))


def _evenly(positions: Array, most: int) -> Array:
    if len(positions) <= most:
        return positions
    chosen: Array = positions[np.linspace(0, len(positions) - 1, most).astype(np.int64)]
    return chosen


def scales(points: Points, values: Array) -> Array:
    """Length scales of the model of one objective, from a spread of these trials."""
    few = spread(values, np.zeros(len(values), dtype=bool), LEARN)
    chosen = points[few]
    return fit_length_scales(chosen.squared_distances(chosen), normal_scores(values[few]))


def drawn_values(
    rng: np.random.Generator,
    points: Points,
    values: Array,
    candidates: Points,
    scales: list[Array],
) -> Array:
    """What candidates may turn out to be: candidates × draws × objectives.

    Args:
        rng: Generator.
        points: Trials.
        values: Trials × objectives.
        candidates: To be judged.
        scales: Of each objective.
    """
    among, across = points.squared_distances(points), candidates.squared_distances(points)
    found = np.empty((across.shape[1], _DRAWS, values.shape[1]))
    for j, normals in enumerate(rng.standard_normal((values.shape[1], _DRAWS))):
        z = normal_scores(values[:, j])
        mean, sd = GaussianProcess(among, z, scales[j]).predict(across)
        found[:, :, j] = from_scores(
            mean[:, None] + _WIDER * sd[:, None] * normals, z, values[:, j]
        )
    return found


def from_scores(scores: Array, z: Array, values: Array) -> Array:
    """Values from normal scores, and below the least value along the line of the lowest tenth.

    Args:
        scores: To be turned back.
        z: Normal scores of some values.
        values: These values.

    Example:
        >>> from_scores(np.array([-2.0, 0.5]), np.array([-1.0, 0.0, 1.0]), np.arange(3.0)).tolist()
        [-1.0, 1.5]
    """
    known, first = np.unique(z, return_index=True)
    at = values[first]
    found: Array = np.interp(scores, known, at)
    if len(known) > 2:
        k = max(2, len(known) // 10)
        slope = (at[k] - at[0]) / (known[k] - known[0])
        found = np.where(scores < known[0], at[0] + slope * (scores - known[0]), found)
    return found


def expected_gain(
    drawn: Array, losses: Array, weights: Array, decomposition: Decomposition
) -> Array:
    """What each candidate is expected to gain the subproblems, all together.

    Args:
        drawn: Candidates × draws × objectives, scaled as the losses are.
        losses: Trials × objectives, above the point that distances are taken from.
        weights: Subproblems × objectives.
        decomposition: Losses and weights in, one number a subproblem out.

    Example:
        >>> from optuna_mofs.samplers.moead._subproblems import tchebycheff
        >>> drawn = np.array([[[0.5, 0.5]], [[0.1, 0.9]]])
        >>> best = np.array([[0.2, 0.9], [0.9, 0.2]])
        >>> expected_gain(drawn, best, np.array([[0.5, 0.5], [1.0, 0.0]]), tchebycheff).round(2)
        array([0.2, 0.1])
    """
    count, draws, objectives = drawn.shape
    reached = decomposition(losses, weights).min(axis=0)
    flat = np.maximum(drawn, 0.0).reshape(-1, objectives)
    gains = np.maximum(reached - decomposition(flat, weights), 0.0)
    total: Array = gains.reshape(count, draws, -1).mean(axis=1).sum(axis=1)
    return total


#: Values beyond this are infinities (see :class:`History`).
_FINITE = 1e299


class ExpectedGain:
    """Puts children in order of what they are expected to gain.

    What it keeps are caches of things learned from the first trials only, so that they last.

    Args:
        weights: Subproblems × objectives.
        decomposition: Losses and weights in, one number a subproblem out.
    """

    def __init__(self, weights: Array, decomposition: Decomposition) -> None:
        self._weights = weights
        self._decomposition = decomposition
        self._learned = RefitSchedule()

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
        activity, lengths = self._learned.fitted(
            "model",
            history.numbers,
            lambda n: _learn(history, n),
            depends_on=history.space.distributions,
        )
        scale = LogFractionScale.of(history)
        rows = activity.apply(history.space.snapped(children.rows))
        candidates = Points(scale.coordinates(rows), history.space.categorical, children.masks)
        drawn = drawn_values(
            rng, points_of(history, scale, kept), values[kept], candidates, lengths
        )
        gain = expected_gain((drawn - origin) / span, losses, self._weights, self._decomposition)
        return np.argsort(-gain, kind="stable")


def _learn(history: History, count: int) -> tuple[ConditionalParameters, list[Array]]:
    """Which parameters are active, and length scales of each objective, from the first trials."""
    points = points_of(history, LogFractionScale.of(history), np.arange(count))
    # What later trials say of the worst value must not change what was learned before.
    values = feasible_values(history.values[:count], history.violations[:count])
    activity = ConditionalParameters(history.space, history.rows[:count], history.active_if)
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
