"""Completed trials as training data: scaled values, encoded rows, known objectives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._codec import count_selected
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._candidates import Candidates
from optuna_mofs.samplers._context import ProposalContext
from optuna_mofs.samplers._encoding import (
    SurrogateEncoder,
    TriedFeatureSets,
    filter_sets,
)
from optuna_mofs.samplers._gaussian_process import (
    RefitSchedule,
    SplitInputs,
    fit_column_scales,
    representative_subset,
)

#: With at most this many columns (one per choice of a category, one per feature set) the
#: surrogate ``"auto"`` is a Gaussian process.
_MAX_GAUSSIAN_PROCESS_COLUMNS = 200
#: Bounds of the reference point on the scale of the better half of the trials.
_REFERENCE_BOUNDS = (1.1, 3.0)
#: Length scales are estimated for every proposal up to 50 trials, then with every tenth more.
_REFIT_SCHEDULE = partial(RefitSchedule, n_always=50, growth=1.1)
#: Predictions are not extrapolated beyond this saturated value: 4.9 on the linear scale.
_MAX_SATURATED = 1.98
#: Maximum number of trials from which a Gaussian process predicts, and from which its length
#: scales are estimated.
_MAX_TRIALS, _MAX_SCALE_TRIALS = 200, 200
#: Different numbers of features at which a known objective must have been observed.
_MIN_SIZES = 3


@dataclass(frozen=True)
class EncodedBatch:
    """Configurations as inputs of surrogates.

    Args:
        inputs: Columns, and feature sets if surrogates get them by distance.
        known_values: Configurations × objectives: linearly scaled values that need no model, else
            NaN.
        sizes: Number of features of each, if the study selects features.
    """

    inputs: SplitInputs
    known_values: Array
    sizes: Array | None = None


class TrainingData:
    """Everything of the history that a model-based sampler uses.

    A Gaussian process learns from at most 200 trials, half of them the best by non-domination, the
    others an even spread of the rest; other surrogates learn from all.

    Args:
        ctx: History and study cache.
        surrogate: The sampler's argument, see :func:`get_surrogate`.
        plain: Whether it is as in the papers: all trials, values as they are, a model
            of every objective, and no limit of trials per feature set. None for no, else the
            number of the first trial that does not count.
    """

    def __init__(
        self, ctx: ProposalContext, surrogate: Any = "auto", plain: int | None = None
    ) -> None:
        history = self.history = ctx.history
        #: Whether it is as in the papers.
        self.is_plain = plain is not None
        counted = np.arange(len(history))
        if plain is not None:
            counted = np.flatnonzero(history.numbers < plain)
            counted = counted if len(counted) else np.arange(len(history))
        self._study_cache = ctx.study_cache
        self.space = history.space
        self.conditional = ConditionalParameters(self.space, history.rows, history.active_if)
        fit_scale = ObjectiveScale.identity if self.is_plain else ObjectiveScale.fit
        self.scale = fit_scale(history.values[counted], history.violations[counted])
        self.filters = filter_sets(history)
        self.tried_sets = TriedFeatureSets(history, self.filters, ctx.study_cache)
        encoder = partial(SurrogateEncoder, history, self.filters, ctx.study_cache)
        self._encoder = encoder(by_distance=not self.is_plain)
        #: Whether ``surrogate`` means a Gaussian process on this number of columns.
        self.uses_gaussian_process = isinstance(surrogate, str) and (
            surrogate == "gaussian_process"
            or (surrogate == "auto" and self._encoder.width <= _MAX_GAUSSIAN_PROCESS_COLUMNS)
        )
        if not self.uses_gaussian_process:
            self._encoder = encoder(by_distance=False)
        #: Whether surrogates get feature sets by distance.
        self.has_sets = self._encoder.n_shared_columns > 0
        scaled = self.scale(history.values, history.violations)
        best_first = counted[np.argsort(ranks(scaled[counted]), kind="stable")]
        if self.uses_gaussian_process and not self.is_plain:
            best_first = representative_subset(best_first, _MAX_TRIALS, _MAX_TRIALS // 2)
        #: Positions in the history of the trials to learn from, ascending.
        self.positions = np.sort(best_first)
        #: Positions among them by non-domination rank.
        self.best_first = np.searchsorted(self.positions, best_first)
        #: Hyperparameters, constraint violations, and values on one scale, minimized.
        self.rows = history.rows[self.positions]
        self.violations = history.violations[self.positions]
        self.values = scaled[self.positions]
        #: Variances of the values, positive for trials that were stopped.
        self.variances = self.scale.variances(history.values, history.variances)[self.positions]
        #: Lower limit of all bounds: an objective that was never negative gets none below 0.
        self.floor = np.where(
            (history.values.min(axis=0) >= 0) & (not self.is_plain),
            self.scale.linear(np.zeros(1)),
            -np.inf,
        )
        sizes = None if self.filters is None else self.filters.sizes(self.rows)
        if history.table is not None:
            sizes = history.sizes[self.positions]
        #: Costs of the features that sets are made of, if they differ.
        self._feature_costs = None if self.is_plain else self._costs_of_features()
        costs = self._costs_of_trials()
        values = history.values[self.positions]
        totals = [np.zeros(len(values)) if sizes is None or self.is_plain else sizes]
        self._known = KnownObjectives(values, totals + ([] if costs is None else [costs]))
        #: Positions of the objectives that need a model.
        self.modeled = self._known.unknown
        #: The trials as inputs of surrogates.
        self.trials = self._batch(self._encoder.of_trials(self.positions), sizes, costs)
        #: The running trials that have suggested their parameters, likewise.
        self.running = self._running()
        described = history.described
        features = None if described is None else described.features
        #: Number of features to select from.
        self.n_free_features = 0 if features is None else len(features.free)
        p = 0 if history.table is None else len(history.table.free)
        #: Whether the space has at most as many configurations as there are trials.
        self.is_exhausted = p <= 30 and self.space.size() * 2.0**p <= len(history)

    def _batch(
        self, inputs: SplitInputs, sizes: Array | None, costs: Array | None
    ) -> EncodedBatch:
        totals = [np.zeros(len(inputs.own)) if sizes is None else sizes]
        values = self._known(totals + ([] if costs is None else [costs]))
        return EncodedBatch(inputs, self.scale.linear(values), sizes)

    def _running(self) -> EncodedBatch | None:
        rows, masks = self.history.running_configurations()
        # A rule without all of its parameters selects nothing yet.
        known = np.ones(len(rows), bool) if self.filters is None else self.filters.complete(rows)
        rows, masks = rows[known], None if masks is None else masks[known]
        if not len(rows) or self.is_plain:
            return None
        parents, operators = np.full((len(rows), 1), -1), np.full(len(rows), "")
        return self.encode(Candidates(rows, parents, operators, masks))

    def _costs_of_features(self) -> Array | None:
        described = self.history.described
        table = None if described is None else described.features
        costs = None if table is None else table.free_costs
        if costs is None or np.ptp(costs) == 0:
            return None
        return costs if self.filters is None else costs[self.filters.embedding.features]

    def _costs_of_trials(self) -> Array | None:
        history = self.history
        if self._feature_costs is None or (self.filters is None and history.table is None):
            return None
        if self.filters is None:
            masks = history.masks(self.positions)
        else:
            packed = self.filters.packed(history, self._study_cache, self.positions)
            masks = np.unpackbits(packed, axis=1, count=len(self._feature_costs))
        return masks @ self._feature_costs

    def costs(self, candidates: Candidates) -> Array | None:
        """Return the costs of the free features of each candidate, if they differ and matter."""
        if self._feature_costs is None or candidates.masks is None or not self._known.uses_costs:
            return None
        total: Array = candidates.masks @ self._feature_costs
        return total if candidates.mask_index is None else total[candidates.mask_index]

    def rescaled(self, norm: Array) -> Array:
        """Return one number per trial, scaled over the better half of the trials.

        With weights that favor one end of the front, the differences that matter are far smaller
        than those that do not. The papers leave the norm as it is.
        """
        if self.is_plain:
            return norm
        scale = ObjectiveScale.fit(norm[:, None], self.violations)
        return scale(norm[:, None], np.zeros(len(norm)))[:, 0]

    def reference(self) -> Array:
        """Return the scaled reference point of hypervolumes, not far from the better half.

        In the papers it is the worst value of each objective plus one.
        """
        if self.is_plain:
            worst: Array = self.values.max(axis=0)
            return worst + 1
        return np.clip(self.scale.linear(self.history.reference()), *_REFERENCE_BOUNDS)

    def described_reference(self) -> Array:
        """Return the linearly scaled reference point: the described worst values, else bounded."""
        described = self.history.described
        measures = () if described is None else described.measures
        known = [measure.worst is not None for measure in measures]
        if len(known) != self.values.shape[1]:
            return self.reference()
        return np.where(known, self.scale.linear(self.history.reference()), self.reference())

    def sizes(self, candidates: Candidates) -> Array | None:
        """Return the number of features of each candidate, if the study selects features."""
        if self.filters is not None:
            return self.filters.sizes(candidates.rows)
        if candidates.masks is None:
            return None
        sizes = count_selected(candidates.masks)
        return sizes if candidates.mask_index is None else sizes[candidates.mask_index]

    def encode(self, candidates: Candidates) -> EncodedBatch:
        """Return candidates as inputs of surrogates.

        Values between those of a grid count as what will be evaluated: a gain that a model expects
        between two integers can never be had, and would be proposed forever.
        """
        candidates = replace(candidates, rows=self.space.snapped(candidates.rows))
        if self.filters is not None and candidates.masks is None and not self.is_plain:
            candidates = replace(candidates, masks=self.filters(candidates.rows))
        return self._batch(
            self._encoder(candidates), self.sizes(candidates), self.costs(candidates)
        )

    def length_scales(self, objective: int) -> Array:
        """Return the length scales of an objective.

        They are estimated from the first trials (see :class:`RefitSchedule`) on the scale of
        these trials, so that a resumed study gets the same ones.
        """
        schedule: RefitSchedule = self._study_cache("length scales", _REFIT_SCHEDULE)
        return schedule.fitted(
            objective,
            self.history.numbers,
            partial(self._fit_scales, objective),
            # A category that is inactive in some trials adds a column.
            depends_on=(self.space.distributions, self.trials.inputs.own.shape[1]),
        )

    def _fit_scales(self, objective: int, n_trials: int) -> Array:
        values = self.history.values[:n_trials]
        violations = self.history.violations[:n_trials]
        scale = ObjectiveScale.fit(values, violations)
        scaled = scale(values, violations)
        variances = scale.variances(values, self.history.variances[:n_trials])
        order = np.argsort(ranks(scaled), kind="stable")
        order = representative_subset(order, _MAX_SCALE_TRIALS, _MAX_SCALE_TRIALS // 2)
        return fit_column_scales(
            self._encoder.of_trials(order), scaled[order, objective], variances[order, objective]
        )


class KnownObjectives:
    """Objectives that were ``a + b k`` in all trials, where ``k`` is a total of the features.

    Number, fraction and cost of features are such objectives: totals of ones or of costs. They
    are recognized by their values: a model of them would only add errors.

    Args:
        values: Trials × objectives.
        totals: The totals of each trial, one array per kind: numbers of features, costs.

    Example:
        >>> values = np.array([[0.3, 0.1], [0.2, 0.2], [0.4, 0.4]])
        >>> known = KnownObjectives(values, [np.array([1, 2, 4])])
        >>> known([np.array([10])]).round(9).tolist()
        [[nan, 1.0]]
    """

    def __init__(self, values: Array, totals: Sequence[Array]) -> None:
        self._lines = np.full((values.shape[1], 2), np.nan)
        self._kinds = np.zeros(values.shape[1], dtype=np.int64)
        for kind, total in enumerate(totals):
            if len(np.unique(total)) < _MIN_SIZES:
                continue
            low, high = int(total.argmin()), int(total.argmax())
            slope = (values[high] - values[low]) / (total[high] - total[low])
            intercept = values[low] - slope * total[low]
            error = np.abs(values - (intercept + slope * total[:, None])).max(axis=0)
            found = (slope != 0) & (error <= 1e-9 * np.abs(values[high] - values[low]))
            found &= np.isnan(self._lines[:, 0])
            self._lines[found] = np.column_stack([intercept, slope])[found]
            self._kinds[found] = kind
        #: Positions of the objectives that need a model.
        self.unknown: list[int] = np.flatnonzero(np.isnan(self._lines[:, 0])).tolist()
        #: Whether another total than the first is needed.
        self.uses_costs = bool(self._kinds.any())

    def __call__(self, totals: Sequence[Array]) -> Array:
        """Return values at these totals, NaN where a model is needed."""
        chosen = [np.asarray(totals[kind], dtype=float) for kind in self._kinds]
        return self._lines[:, 0] + self._lines[:, 1] * np.column_stack(chosen)


@dataclass(frozen=True)
class ObjectiveScale:
    """Scale values to [0, 1] over the better half of the trials; worse ones saturate below 2.

    ParEGO scales by the range of all points. One extreme value then compresses all others, and
    every weight vector leads to the same point; here it only saturates.

    Args:
        low: Best value of each objective.
        span: Distance from there to the worst value of the better half.
        limit: Largest value of each objective, instead of saturation.
    """

    low: Array
    span: Array
    limit: Array | None = None

    @classmethod
    def identity(cls, values: Array, violations: Array) -> ObjectiveScale:
        """Return the scale that leaves values as they are, except infinite ones."""
        finite = values[np.abs(values).max(axis=1) < 1e200]
        finite = finite if len(finite) else np.zeros((1, values.shape[1]))
        m, worst = values.shape[1], finite.max(axis=0)
        return cls(np.zeros(m), np.ones(m), limit=worst + np.ptp(finite, axis=0) + 1)

    @classmethod
    def fit(cls, values: Array, violations: Array) -> ObjectiveScale:
        """Return the scale of completed trials (minimized; infinite values as huge numbers)."""
        finite = np.ones(len(values), dtype=bool)
        for column in values.T:  # ten times as fast as all columns of each row
            finite &= np.abs(column) < 1e200
        usable = finite & (violations <= 0) if (finite & (violations <= 0)).any() else finite
        if not usable.any():
            return cls(np.zeros(values.shape[1]), np.ones(values.shape[1]))
        chosen = values[usable]
        rank = ranks(chosen)
        better = chosen[rank <= np.sort(rank)[(len(chosen) - 1) // 2]]
        low = np.array([column.min() for column in chosen.T])
        high = better.max(axis=0)
        # A single trial, or the same value in all of them: a constant stays a constant.
        high = np.where(high > low, high, chosen.max(axis=0))
        return cls(low, np.where(high > low, high - low, 1.0))

    def linear(self, values: Array) -> Array:
        """Return values scaled without saturation."""
        return (values - self.low) / self.span

    def inverse(self, scaled: Array) -> Array:
        """Return the inverse of :meth:`linear`."""
        return self.low + self.span * scaled

    def variances(self, values: Array, variances: Array) -> Array:
        """Return the variances of scaled values, given those of the values."""
        # Beyond 1 saturation has the slope exp(1 - scaled).
        slope = np.exp(1 - np.clip(self.linear(values), 1.0, 50.0)) / self.span
        return variances * slope**2

    @staticmethod
    def saturated(linear: Array) -> Array:
        """Return linearly scaled values, with those above 1 compressed to below 2."""
        scaled = np.clip(linear, -1.0, 50.0)
        return np.where(scaled > 1, 2 - np.exp(1 - scaled), scaled)

    @staticmethod
    def unsaturated(means: Array, sds: Array) -> tuple[Array, Array]:
        """Return predictions of saturated values on the linear scale.

        The probability of a value below 1 stays the same. The slope at the mean would be far too
        large: the worse the mean, the better a point would seem.
        """
        beyond = np.maximum(means - 1, 1e-9)
        linear = 1 - np.log(1 - np.minimum(beyond, _MAX_SATURATED - 1))
        is_worse = means > 1
        return np.where(is_worse, linear, means), sds * np.where(
            is_worse, (linear - 1) / beyond, 1.0
        )

    def __call__(self, values: Array, violations: Array) -> Array:
        """Return scaled values; those of infeasible trials are worse than all others."""
        linear = self.linear(values)
        scaled = self.saturated(linear) if self.limit is None else np.minimum(linear, self.limit)
        penalty = np.where(violations > 0, 1 + violations / (1 + violations), 0.0)
        return scaled + penalty[:, None]


def ranks(values: Array) -> Array:
    """Return non-domination ranks, 0 for the best; with one objective the order of the trials."""
    if values.shape[1] == 1:
        return np.argsort(np.argsort(values[:, 0], kind="stable"), kind="stable")
    return moocore.pareto_rank(values)
