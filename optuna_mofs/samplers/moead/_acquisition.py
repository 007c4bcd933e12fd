"""The expected gain of a child, summed over all subproblems."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import LARGEST, finite_bounds
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._acquisition import (
    MAX_TRAINING_TRIALS,
    GaussianProcessSurrogates,
    spread_subset,
)
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers._gaussian_process import RefitSchedule, representative_subset
from optuna_mofs.samplers.moead._subproblems import Decomposition

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

    Example:
        >>> origin, span = objective_ranges(np.array([[0.0, 2.0], [1.0, 1.0]]), np.array([9, 2]))
        >>> origin.tolist(), span.tolist()
        ([-0.4, 0.9], [4.0, 1.0])
    """
    best = front.min(axis=0)
    covered = np.ptp(front, axis=0)
    span = np.where(covered > 0, np.clip(worst - best, covered, _MAX_RANGE * covered), 1.0)
    return best - _REFERENCE_MARGIN * span, span


def values_from_scores(scores: Array, known_scores: Array, known_values: Array) -> Array:
    """Return the values of normal scores; below the lowest, extrapolate from the lowest tenth.

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
        losses: Trials × objectives, relative to the reference point; those that no other trial
            dominates suffice.
        weights: Subproblems × objectives.
        decomposition: Function of losses and weights, which must not decrease with a loss.
    """
    n_candidates, n_draws, n_objectives = drawn.shape
    reached = decomposition(losses, weights).min(axis=0)
    flat = np.maximum(drawn, 0.0).reshape(-1, n_objectives)
    gains = np.maximum(reached - decomposition(flat, weights), 0.0)
    return gains.reshape(n_candidates, n_draws, -1).mean(axis=1).sum(axis=1)


class ExpectedGain:
    """The acquisition function: minus the expected gain, given some feasible trials."""

    def __init__(self, ctx: ProposalContext, weights: Array, decomposition: Decomposition) -> None:
        self._history = history = ctx.history
        self._weights, self._decomposition = weights, decomposition
        values = feasible_values(history.values, history.violations)
        is_front = (history.violations <= 0) & moocore.is_nondominated(values)
        #: Positions of the nondominated feasible trials.
        self.front = np.flatnonzero(is_front)
        self._origin, self._span = objective_ranges(values[is_front], history.reference())
        losses = (values - self._origin) / self._span
        #: A dominated trial is best for no subproblem.
        self._front_losses = losses[is_front]
        worst = reduce(np.maximum, losses.T)
        # Two sorts of one key, which take less time than one of two keys.
        parts = (self.front, np.flatnonzero(~is_front))
        ranking = np.concatenate([part[np.argsort(worst[part], kind="stable")] for part in parts])
        subset = representative_subset(ranking, MAX_TRAINING_TRIALS, len(self.front))

        def first_losses(column: int, n: int) -> tuple[Array, Array]:
            # From the first trials only: a later worst value must not change an earlier fit.
            values = feasible_values(history.values[:n], history.violations[:n])
            return spread_subset(values[:, column])

        self._surrogates = GaussianProcessSurrogates(ctx, values, np.sort(subset), first_losses)
        self._conditional = ctx.study_cache("length scales", RefitSchedule).fitted(
            "conditional",
            history.numbers,
            lambda n: ConditionalParameters(history.space, history.rows[:n], history.active_if),
            depends_on=history.space.distributions,
        )

    def __call__(self, rng: np.random.Generator, candidates: Candidates) -> Array:
        """Return minus the expected gain of each candidate."""
        rows = self._conditional.apply(self._history.space.snapped(candidates.rows))
        means, sds = self._surrogates.predict(replace(candidates, rows=rows))
        normals = rng.standard_normal((len(means), 1, _N_DRAWS))
        scores = means[:, :, None] + _SD_FACTOR * sds[:, :, None] * normals
        known = self._surrogates.scores, self._surrogates.losses
        drawn = np.stack(list(map(values_from_scores, scores, *known)), axis=-1)
        drawn = (drawn - self._origin) / self._span
        return -expected_gain(drawn, self._front_losses, self._weights, self._decomposition)


def feasible_values(values: Array, violations: Array) -> Array:
    """Return values without infinities, with the worst of each objective for infeasible trials.

    If no trial is feasible, all keep their own values.
    """
    feasible = violations <= 0
    if not feasible.any():
        feasible = np.ones(len(values), dtype=bool)
    finite = feasible[:, None] & (np.abs(values) < LARGEST)
    low, high = finite_bounds(values, finite)
    high = np.maximum(low, high)
    return np.where(feasible[:, None], np.clip(values, low, high), high)
