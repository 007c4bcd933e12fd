"""One model-based proposal: surrogates, acquisition function, and the best new candidate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from operator import attrgetter
from typing import Any

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers._candidates import (
    AcquisitionFunction,
    Candidates,
    best_new_candidate,
)
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._gaussian_process import OrdinaryKriging, SplitInputs
from optuna_mofs.samplers._hypervolume_gain import expected_hypervolume_gain
from optuna_mofs.samplers._surrogates import Surrogate, get_surrogate
from optuna_mofs.samplers._training_data import EncodedBatch, TrainingData
from optuna_mofs.study._trial_note import TrialNote

#: Stream of the generators of surrogates.
SURROGATE_STREAM = 2**20
#: Shorter times count as equal, and fewer of them are not modeled.
_MIN_SECONDS, _MIN_TIMED = 1e-4, 8
#: Maximum number of candidates per number of features.
_MAX_PER_SIZE = 100


@dataclass(frozen=True)
class ExpectedNote(TrialNote):
    """A note with the values that are expected of a trial.

    Args:
        expected: Value of each objective that other workers expect while the trial is running.
    """

    expected: tuple[float, ...] = ()


@dataclass(frozen=True)
class ModelBasedNote(ExpectedNote):
    """The note of :class:`ParEGOSampler` and :class:`SMSEGOSampler` on a trial.

    Args:
        kappa: Weight of the standard deviation in the lower confidence bound.
        objective_weights: ParEGO's weight vector.
        size_range: Smallest and largest size of a trial that explores larger feature sets.
    """

    kappa: float | None = None
    objective_weights: tuple[float, ...] = ()
    size_range: tuple[int, ...] = ()


def running_values(history: History) -> list[tuple[float, ...]]:
    """Return the values that are expected of running trials."""
    notes = history.running_notes(ExpectedNote)
    return list(filter(None, map(attrgetter("expected"), notes)))


#: Function of encoded candidates that returns their acquisition values, the lower the better.
Values = Callable[[EncodedBatch], Array]


@dataclass(frozen=True)
class Acquisition:
    """An acquisition function fitted to the history.

    Args:
        values: Acquisition values of encoded candidates, the lower the better.
        note: The note of the trial; operator and parents are added.
        expected: Expected values of all objectives, scaled; if given, those of the best candidate
            are written on the trial too.
    """

    values: Values
    note: ExpectedNote
    expected: Values | None = None


class ObjectiveSurrogates:
    """One surrogate per objective that is not known exactly.

    ``fit`` is a function of targets, length scales if known, and variances of the targets that
    returns a surrogate.
    """

    def __init__(
        self, data: TrainingData, fit: Callable[[Array, Array | None, Array], Surrogate]
    ) -> None:
        self._data = data
        self._models: dict[int, Surrogate] = {}
        # Predictions at the trials give the front, the ideal point and the start of the search.
        self._of_trials: dict[int, tuple[Array, Array]] = {}
        for j in data.modeled:
            estimated = data.uses_gaussian_process and not data.is_plain
            scales = data.length_scales(j) if estimated else None
            self._models[j] = fit(data.values[:, j], scales, data.variances[:, j])
            self._of_trials[j] = self._models[j].predict(model_inputs(data, data.trials.inputs))

    def predict(self, batch: EncodedBatch) -> tuple[Array, Array]:
        """Return mean and standard deviation of each objective; 0 where it is known."""
        means = self._data.scale.saturated(batch.known_values)
        sds = np.zeros(means.shape)
        for j, model in self._models.items():
            is_trials = batch is self._data.trials
            means[:, j], sds[:, j] = (
                self._of_trials[j]
                if is_trials
                else model.predict(model_inputs(self._data, batch.inputs))
            )
        return means, sds

    def predict_linear(self, batch: EncodedBatch) -> tuple[Array, Array]:
        """Return :meth:`predict` on the linear scale of hypervolumes."""
        means, sds = self.predict(batch)
        means, sds = self._data.scale.unsaturated(np.maximum(means, self._data.floor), sds)
        known = ~np.isnan(batch.known_values)
        return np.where(known, batch.known_values, means), sds

    def lower_bounds(self, batch: EncodedBatch, kappa: float) -> Array:
        """Return ``mean - kappa * sd`` of each objective; known objectives have their value."""
        means, sds = self.predict(batch)
        return np.where(sds > 0, np.maximum(means - kappa * sds, self._data.floor), means)


def fit_surrogate(
    data: TrainingData,
    surrogate: Any,
    rng: np.random.Generator,
    targets: Array,
    scales: Array | None = None,
    variances: Array | None = None,
) -> Surrogate:
    """Return a surrogate fitted to one number per trial.

    Running trials count with the values that it predicts for them (the kriging believer of
    Ginsbourger et al. 2010): it is less uncertain near them, so that no two workers evaluate
    nearly the same point.

    Args:
        data: The training data.
        surrogate: The sampler's argument, see :func:`get_surrogate`.
        rng: Generator.
        targets: One number per trial.
        scales: Length scales of a Gaussian process, if known.
        variances: Variances of the targets. Only a Gaussian process takes them.
    """

    def fitted(inputs: SplitInputs, targets: Array, variances: Array) -> Surrogate:
        if data.uses_gaussian_process:
            model = OrdinaryKriging(scales=scales, plain=data.is_plain)
            return model.fit(inputs, targets, variances)
        return get_surrogate(surrogate)(rng).fit(inputs.joined(), targets)

    variances = np.zeros(len(targets)) if variances is None else variances[data.best_first]
    inputs, targets = data.trials.inputs[data.best_first], targets[data.best_first]
    model = fitted(inputs, targets, variances)
    if data.running is None:
        return model
    believed = model.predict(model_inputs(data, data.running.inputs))[0]
    return fitted(
        SplitInputs.joined_rows(data.running.inputs, inputs),
        np.concatenate([believed, targets]),
        np.concatenate([np.zeros(len(believed)), variances]),
    )


def model_inputs(data: TrainingData, inputs: SplitInputs) -> Any:
    """Return what the surrogates of a study get: only Gaussian processes take split inputs."""
    return inputs if data.uses_gaussian_process else inputs.joined()


def objective_surrogates(
    ctx: ProposalContext, data: TrainingData, surrogate: Any
) -> ObjectiveSurrogates:
    """Return the surrogates of all objectives that are not known, fitted once per trial."""
    fit = partial(fit_surrogate, data, surrogate, ctx.trial_rng(SURROGATE_STREAM))
    return ctx.trial_cache("surrogates", partial(ObjectiveSurrogates, data, fit))


class ExpectedHypervolumeGain:
    """Minus the expected gain of hypervolume over the front of the surrogates' means.

    Cross-validated values are noisy, and the best of them are too good by chance: their front
    would leave nothing to expect (Koch et al. 2015). Running trials count with the values that
    are expected of them, so that parallel workers propose different points.

    Args:
        data: The training data.
        surrogates: The surrogates.
        running: Running trials × objectives, minimized.
    """

    def __init__(
        self, data: TrainingData, surrogates: ObjectiveSurrogates, running: Sequence[Any] = ()
    ) -> None:
        self._surrogates = surrogates
        self._reference = data.described_reference()
        points, feasible = self.expected(data.trials), data.violations <= 0
        points = points[feasible] if feasible.any() else points
        if len(running):
            points = np.concatenate([points, data.scale.linear(np.array(running))])
        self._front = moocore.filter_dominated(points)

    def __call__(self, batch: EncodedBatch) -> Array:
        """Return acquisition values, the lower the better."""
        means, sds = self._surrogates.predict_linear(batch)
        return -expected_hypervolume_gain(means, sds, self._front, self._reference)

    def expected(self, batch: EncodedBatch) -> Array:
        """Return the means of all objectives."""
        return self._surrogates.predict_linear(batch)[0]


class GainPerSecond:
    """A gain divided by the seconds that a surrogate expects of a trial.

    Snoek, Larochelle, Adams (2012), *Practical Bayesian optimization of machine learning
    algorithms*, section 3.2: the surrogate predicts the logarithm of the seconds.

    Args:
        data: The training data.
        gain: Acquisition function whose values are minus gains.
        surrogate: The sampler's argument, see :func:`get_surrogate`.
        rng: Generator.
    """

    def __init__(
        self, data: TrainingData, gain: Values, surrogate: Any, rng: np.random.Generator
    ) -> None:
        self._data = data
        self._gain = gain
        self._model: Surrogate | None = None
        seconds = np.log(np.maximum(data.history.seconds[data.positions], _MIN_SECONDS))
        known = ~np.isnan(seconds)
        if known.sum() >= _MIN_TIMED:
            filled = np.where(known, seconds, np.median(seconds[known]))
            self._model = fit_surrogate(data, surrogate, rng, filled)

    def __call__(self, batch: EncodedBatch) -> Array:
        """Return acquisition values, the lower the better."""
        gains = self._gain(batch)
        if self._model is None:
            return gains
        return gains / np.exp(self._model.predict(model_inputs(self._data, batch.inputs))[0])


#: Function of (context, data, acquisition function, the trials in order of their acquisition
#: values) that returns candidates and their acquisition values.
Search = Callable[
    [ProposalContext, TrainingData, AcquisitionFunction, Array], tuple[Candidates, Array]
]


def starts_of(data: TrainingData, chosen: Array) -> Candidates:
    """Return trials, by their positions in the training data, from which a search starts."""
    history, positions = data.history, data.positions[chosen]
    masks = None if history.table is None else history.masks(positions)
    return Candidates(data.rows[chosen], positions[:, None], np.full(len(chosen), ""), masks)


def best_candidate(
    ctx: ProposalContext,
    data: TrainingData,
    acquisition: Acquisition,
    search: Search,
    *,
    may_return: bool = False,
) -> tuple[Proposal, EncodedBatch] | None:
    """Return the best new candidate and its encoding, or None if no candidate is new.

    Candidates whose feature set is exhausted are the last resort.

    Args:
        ctx: The context of the proposal.
        data: The training data.
        acquisition: The acquisition function.
        search: The search for candidates.
        may_return: Whether only the feature sets of running trials are exhausted.
    """
    order = np.argsort(acquisition.values(data.trials), kind="stable")
    found, values = search(
        ctx, data, lambda candidates: acquisition.values(data.encode(candidates)), order
    )
    sizes = data.sizes(found)
    if sizes is not None and not data.is_plain:
        values[_rank_in_group(sizes, values) >= _MAX_PER_SIZE] = np.inf

    def is_exhausted(chosen: Array) -> Array:
        masks = found.masks_of(chosen)
        return data.tried_sets.exhausted(found.rows[chosen], masks, may_return=may_return)

    k = best_new_candidate(
        ctx.history,
        found,
        values,
        is_last_resort=None if data.is_plain else is_exhausted,
    )
    if k is None:
        return None
    encoded, note = data.encode(found[[k]]), acquisition.note
    if acquisition.expected is not None:
        expected = data.scale.inverse(acquisition.expected(encoded)[0])
        note = replace(note, expected=tuple(expected.tolist()))
    return found.proposal(ctx.history, k, note), encoded


def _rank_in_group(groups: Array, values: Array) -> Array:
    """Return the rank of each value in its group, 0 for the lowest.

    One region can fill the list of candidates: a single feature that is as good as all.
    """
    order = np.lexsort((values, groups))
    sorted_groups = groups[order]
    starts = np.flatnonzero(np.diff(sorted_groups, prepend=sorted_groups[:1] - 1))
    rank = np.empty(len(values), dtype=np.int64)
    lengths = np.diff(np.append(starts, len(values)))
    rank[order] = np.arange(len(values)) - np.repeat(starts, lengths)
    return rank


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
        return bounds[:, self._modeled].mean(axis=1)


def _best_size(data: TrainingData) -> int:
    """Return the number of features of the trial with the least error, at least 1."""
    assert data.trials.sizes is not None
    error = data.values[:, data.modeled].mean(axis=1)
    return max(1, int(data.trials.sizes[np.lexsort((data.trials.sizes, error))[0]]))
