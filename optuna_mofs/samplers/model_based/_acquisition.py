"""Acquisition functions over several objectives; the lower the better."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.samplers.model_based._surrogates import Surrogate
from optuna_mofs.samplers.model_based._training_data import EncodedBatch, TrainingData
from optuna_mofs.study._trial_note import TrialNote


@dataclass(frozen=True)
class ModelBasedNote(TrialNote):
    """The note of :class:`ParEGOSampler` and :class:`SMSEGOSampler` on a trial.

    Args:
        kappa: Weight of the standard deviation in the lower confidence bound.
        objective_weights: ParEGO's weight vector.
        bounds: SMS-EGO's lower confidence bound of each objective.
        size_range: Smallest and largest size of a trial that explores larger feature sets.
    """

    kappa: float | None = None
    objective_weights: tuple[float, ...] = ()
    bounds: tuple[float, ...] = ()
    size_range: tuple[int, ...] = ()


#: Function of encoded candidates that returns their acquisition values, the lower the better.
Values = Callable[[EncodedBatch], Array]


@dataclass(frozen=True)
class Acquisition:
    """An acquisition function fitted to the history.

    Args:
        values: Acquisition values of encoded candidates, the lower the better.
        note: The note of the trial; operator and parents are added.
        bounds: Bounds of all objectives, scaled; if given, those of the best candidate are
            written on the trial too.
    """

    values: Values
    note: ModelBasedNote
    bounds: Values | None = None


class ObjectiveSurrogates:
    """One surrogate per objective that is not known exactly.

    ``fit`` is a function of targets, and length scales if known, that returns a surrogate.
    """

    def __init__(
        self, data: TrainingData, fit: Callable[[Array, Array | None], Surrogate]
    ) -> None:
        self._data = data
        self._models: dict[int, Surrogate] = {}
        # Predictions at the trials give the front, the ideal point and the start of the search.
        self._of_trials: dict[int, tuple[Array, Array]] = {}
        for j in data.modeled:
            scales = data.length_scales(j) if data.uses_gaussian_process else None
            self._models[j] = fit(data.values[:, j], scales)
            self._of_trials[j] = self._models[j].predict(data.trials.X)

    def lower_bounds(self, batch: EncodedBatch, kappa: float) -> Array:
        """Return ``mean - kappa * sd`` of each objective; known objectives have their value."""
        bounds = batch.known_values.copy()
        for j, model in self._models.items():
            is_trials = batch is self._data.trials
            mean, sd = self._of_trials[j] if is_trials else model.predict(batch.X)
            bounds[:, j] = np.maximum(mean - kappa * sd, self._data.floor[j])
        return bounds


#: Sizes differ from the middle of their range by at most this factor.
_SIZE_FACTOR = 1.25
#: Number of first trials after the initial design that explore larger sets in any case.
_N_SURE = 2
#: Later trials do if this many standard deviations could make a set better than all trials.
_OPTIMISTIC_KAPPA = 2.0
#: Larger than any bound.
_OUTSIDE = 100.0


class LargerSetAcquisition:
    """Lower confidence bound of the error among larger feature sets than the best one so far.

    Large sets need hyperparameters of their own. If no initial trial had both, the surrogate
    predicts that large sets are bad, and as they also cost most, no weights and no hypervolume
    gain ever lead there: some runs stayed at a handful of features where thirty had half the
    error. Some trials therefore minimize the error among sets of a given size (the
    epsilon-constraint method). ``position`` is that of the size between the size of the best set
    (0) and all features (1).
    """

    def __init__(
        self, data: TrainingData, surrogates: ObjectiveSurrogates, kappa: float, position: float
    ) -> None:
        self._modeled = data.modeled
        self._surrogates = surrogates
        self._kappa = kappa
        self._best = self._error_bound(data.trials, 0.0).min()
        start, p = _best_size(data) * _SIZE_FACTOR, data.n_free_features
        middle = start * (p / start) ** position
        low = max(_best_size(data) + 1, int(np.ceil(middle / _SIZE_FACTOR)))
        #: Smallest and largest number of features.
        self.size_range = low, max(low, min(p, int(middle * _SIZE_FACTOR)))

    @staticmethod
    def is_possible(data: TrainingData) -> bool:
        """Return whether size and a modeled value are objectives, and larger sets exist."""
        if data.trials.sizes is None or not 0 < len(data.modeled) < data.values.shape[1]:
            return False
        return _best_size(data) * _SIZE_FACTOR <= data.n_free_features

    def __call__(self, batch: EncodedBatch) -> Array:
        """Return acquisition values; sets of other sizes come last."""
        assert batch.sizes is not None
        low, high = self.size_range
        off = np.maximum(low - batch.sizes, 0) + np.maximum(batch.sizes - high, 0)
        return np.where(off > 0, _OUTSIDE + off, self._error_bound(batch, self._kappa))

    def is_promising(self, step: int, batch: EncodedBatch) -> bool:
        """Return whether the best candidate is to be evaluated."""
        if step < _N_SURE:
            return True
        return bool(self._error_bound(batch, _OPTIMISTIC_KAPPA)[0] < self._best)

    def _error_bound(self, batch: EncodedBatch, kappa: float) -> Array:
        bounds = self._surrogates.lower_bounds(batch, kappa)
        error: Array = bounds[:, self._modeled].mean(axis=1)
        return error


def _best_size(data: TrainingData) -> int:
    """Return the number of features of the trial with the least error, at least 1."""
    assert data.trials.sizes is not None
    error = data.values[:, data.modeled].mean(axis=1)
    return max(1, int(data.trials.sizes[np.lexsort((data.trials.sizes, error))[0]]))


def dominance_penalty(points: Array, front: Array, epsilon: Array) -> Array:
    """Return how far each point is behind the front; -1 where no member epsilon-dominates it.

    It is ``prod(1 + max(0, y - f)) - 1`` of the member from which the point is furthest
    (Ponweiser et al. 2008, section 3.2), which leads the search back to the front.
    """
    if not len(front):
        return np.full(len(points), -1.0)
    dominated = np.ones((len(points), len(front)), dtype=bool)
    depth = np.ones(dominated.shape)
    # One objective at a time: a sum over a short last axis would take longer than all the rest.
    for values, members, margin in zip(points.T, front.T, epsilon):
        behind = values[:, None] - members
        dominated &= behind >= -margin
        depth *= 1 + np.maximum(behind, 0.0, out=behind)
    # A point that is epsilon-dominated only counts as a point on the front.
    depth = np.where(dominated, np.maximum(depth - 1, 1e-9), -1.0)
    worst: Array = depth.max(axis=1)
    return worst


def dominance_tolerance(front: Array, n_left: int) -> Array:
    """Return epsilon of each objective: the range of the front over its size now and to come."""
    share = 1 - 0.5 ** front.shape[1]
    epsilon: Array = np.ptp(front, axis=0) / (len(front) + share * n_left)
    return epsilon
