"""The expected gain of a child, summed over all subproblems."""

from __future__ import annotations

from dataclasses import dataclass

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import LARGEST, History
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._encoding import LogFractionScale, points_of
from optuna_mofs.samplers._gaussian_process import (
    GaussianProcess,
    Points,
    RefitSchedule,
    fit_length_scales,
    normal_scores,
    representative_subset,
)
from optuna_mofs.samplers.moead._offspring import Children
from optuna_mofs.samplers.moead._subproblems import Decomposition

#: Maximum number of trials that predictions, and that length scales, are computed from.
_MAX_TRIALS, _MAX_TRIALS_LENGTH_SCALES = 80, 50
#: Factor of the standard deviations: length scales fitted to few trials make them too small.
_SD_FACTOR = 1.7
#: Number of draws of the values of a child.
_N_DRAWS = 16
#: Distance of the reference point below the best values, in units of the range. At the best
#: values themselves the ends of the front would have nothing to gain.
_REFERENCE_MARGIN = 0.1
#: Maximum range of an objective, in units of its range over the front.
_MAX_RANGE = 4.0


def objective_ranges(front: Array, worst: Array) -> tuple[Array, Array]:
    """Return the point that distances are measured from, and the range of each objective.

    The range extends from the best value to the worst sensible one, not to the worst of the
    members. The members converge, and with their range the ends of the front would be lost.

    Args:
        front: Nondominated points × objectives.
        worst: Worst sensible value of each objective.

    Example:
        >>> origin, span = objective_ranges(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([9, 2]))
        >>> origin.tolist(), span.tolist()
        ([-0.4, 0.9], [4.0, 1.0])
    """
    best = front.min(axis=0)
    covered = np.ptp(front, axis=0)
    span = np.where(covered > 0, np.clip(worst - best, covered, _MAX_RANGE * covered), 1.0)
    return best - _REFERENCE_MARGIN * span, span


def length_scales(points: Points, values: Array) -> Array:
    """Return the length scales of one objective, fitted to a representative subset of trials."""
    ranking = np.argsort(values, kind="stable")
    subset = np.sort(representative_subset(ranking, _MAX_TRIALS_LENGTH_SCALES, 0))
    chosen = points[subset]
    return fit_length_scales(chosen.squared_distances(chosen), normal_scores(values[subset]))


class ValueModel:
    """One Gaussian process per objective, on normal scores.

    Args:
        points: Trials.
        values: Trials × objectives.
        scales: Length scales of each objective.
    """

    def __init__(self, points: Points, values: Array, scales: list[Array]) -> None:
        self._points, self._values = points, values
        self._scores = [normal_scores(column) for column in values.T]
        squares = points.squared_distances(points)
        self._processes = [GaussianProcess(squares, z, s) for z, s in zip(self._scores, scales)]

    def sample(self, rng: np.random.Generator, candidates: Points) -> Array:
        """Return draws of the values of candidates: candidates × draws × objectives."""
        squares = candidates.squared_distances(self._points)
        n_objectives = len(self._processes)
        drawn = np.empty((squares.shape[1], _N_DRAWS, n_objectives))
        for j, normals in enumerate(rng.standard_normal((n_objectives, _N_DRAWS))):
            mean, sd = self._processes[j].predict(squares)
            scores = mean[:, None] + _SD_FACTOR * sd[:, None] * normals
            drawn[:, :, j] = values_from_scores(scores, self._scores[j], self._values[:, j])
        return drawn


def values_from_scores(scores: Array, known_scores: Array, known_values: Array) -> Array:
    """Return the values of normal scores; below the lowest, extrapolate from the lowest tenth.

    Args:
        scores: Normal scores.
        known_scores: Normal scores of known values.
        known_values: The known values.

    Example:
        >>> known = np.array([-1.0, 0.0, 1.0])
        >>> values_from_scores(np.array([-2.0, 0.5]), known, np.arange(3.0)).tolist()
        [-1.0, 1.5]
    """
    z, first = np.unique(known_scores, return_index=True)
    values = known_values[first]
    found: Array = np.interp(scores, z, values)
    if len(z) > 2:
        k = max(2, len(z) // 10)
        slope = (values[k] - values[0]) / (z[k] - z[0])
        found = np.where(scores < z[0], values[0] + slope * (scores - z[0]), found)
    return found


def expected_gain(
    drawn: Array, losses: Array, weights: Array, decomposition: Decomposition
) -> Array:
    """Return the expected gain of each candidate, summed over all subproblems.

    Args:
        drawn: Candidates × draws × objectives, scaled like the losses.
        losses: Trials × objectives, relative to the reference point.
        weights: Subproblems × objectives.
        decomposition: Function of losses and weights.

    Example:
        >>> from optuna_mofs.samplers.moead._subproblems import tchebycheff
        >>> drawn = np.array([[[0.5, 0.5]], [[0.1, 0.9]]])
        >>> best = np.array([[0.2, 0.9], [0.9, 0.2]])
        >>> expected_gain(drawn, best, np.array([[0.5, 0.5], [1.0, 0.0]]), tchebycheff).round(2)
        array([0.2, 0.1])
    """
    n_candidates, n_draws, n_objectives = drawn.shape
    reached = decomposition(losses, weights).min(axis=0)
    flat = np.maximum(drawn, 0.0).reshape(-1, n_objectives)
    gains = np.maximum(reached - decomposition(flat, weights), 0.0)
    total: Array = gains.reshape(n_candidates, n_draws, -1).mean(axis=1).sum(axis=1)
    return total


@dataclass(frozen=True)
class FittedGain:
    """The expected gain given the completed trials.

    Args:
        front: Positions of the nondominated feasible trials.
        model: Model of the values.
        origin: Point that distances are measured from.
        span: Range of each objective.
        losses: Trials × objectives, relative to ``origin`` in units of ``span``.
        conditional: Which parameters of a child are active.
    """

    front: Array
    model: ValueModel
    origin: Array
    span: Array
    losses: Array
    conditional: ConditionalParameters


class ExpectedGain:
    """Ranks children by their expected gain. All that it keeps is a cache.

    Args:
        weights: Subproblems × objectives.
        decomposition: Function of losses and weights.
    """

    def __init__(self, weights: Array, decomposition: Decomposition) -> None:
        self._weights = weights
        self._decomposition = decomposition
        self._schedule = RefitSchedule()

    def fit(self, history: History) -> FittedGain | None:
        """Fit the model to the completed trials; return None if no trial is feasible."""
        feasible = history.violations <= 0
        if not feasible.any():
            return None
        values = feasible_values(history.values, history.violations)
        is_front = feasible & moocore.is_nondominated(values)
        front = np.flatnonzero(is_front)
        origin, span = objective_ranges(values[front], history.reference())
        losses = (values - origin) / span
        ranking = np.argsort(losses.max(axis=1), kind="stable")
        ranking = np.concatenate([ranking[is_front[ranking]], ranking[~is_front[ranking]]])
        subset = np.sort(representative_subset(ranking, _MAX_TRIALS, len(front)))
        conditional, scales = self._schedule.fitted(
            "model",
            history.numbers,
            lambda n: _fit_first_trials(history, n),
            depends_on=history.space.distributions,
        )
        points = points_of(history, LogFractionScale.of(history), subset)
        model = ValueModel(points, values[subset], scales)
        return FittedGain(front, model, origin, span, losses, conditional)

    def order(
        self, rng: np.random.Generator, history: History, fitted: FittedGain, children: Children
    ) -> Array:
        """Return the positions of children, the largest expected gain first."""
        rows = fitted.conditional.apply(history.space.snapped(children.rows))
        rows = LogFractionScale.of(history).coordinates(rows)
        candidates = Points(rows, history.space.categorical, children.masks)
        drawn = (fitted.model.sample(rng, candidates) - fitted.origin) / fitted.span
        gain = expected_gain(drawn, fitted.losses, self._weights, self._decomposition)
        return np.argsort(-gain, kind="stable")


def _fit_first_trials(history: History, count: int) -> tuple[ConditionalParameters, list[Array]]:
    """Return the conditions of parameters and the length scales of each objective."""
    points = points_of(history, LogFractionScale.of(history), np.arange(count))
    # Of the first trials only: a later worst value must not change an earlier fit.
    values = feasible_values(history.values[:count], history.violations[:count])
    conditional = ConditionalParameters(history.space, history.rows[:count], history.active_if)
    return conditional, [length_scales(points, column) for column in values.T]


def feasible_values(values: Array, violations: Array) -> Array:
    """Return values without infinities, with the worst of each objective for infeasible trials.

    If no trial is feasible, all keep their own values.

    Args:
        values: Trials × objectives.
        violations: Sum of constraint violations of each trial.
    """
    feasible = violations <= 0
    if not feasible.any():
        feasible = np.ones(len(values), dtype=bool)
    finite = feasible[:, None] & (np.abs(values) < LARGEST)
    low = values.min(axis=0, where=finite, initial=LARGEST)
    high = np.maximum(low, values.max(axis=0, where=finite, initial=-LARGEST))
    return np.where(feasible[:, None], np.clip(values, low, high), high)
