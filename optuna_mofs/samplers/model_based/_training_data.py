"""The completed trials as a surrogate sees them: scaled values, encoded rows, known objectives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._duplicates import FeatureSets
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import ConditionalParameters
from optuna_mofs.samplers._encoding import InputWarping, SurrogateEncoder, filter_sets
from optuna_mofs.samplers._gaussian_process import RefitSchedule, likely_scales
from optuna_mofs.samplers.model_based._surrogates import takes_kriging

#: Bounds of the reference point on the scale of the better half of the trials.
_REFERENCE = (1.1, 3.0)


@dataclass(frozen=True)
class EncodedBatch:
    """Configurations as surrogates see them.

    Args:
        X: Configurations × columns.
        exact: Configurations × objectives: scaled values that need no model, else NaN.
        sizes: Number of features of each, if the study chooses some.
    """

    X: Array
    exact: Array
    sizes: Array | None = None


class TrainingData:
    """Everything of the history that a model-based sampler works on.

    Args:
        history: What is known.
        kept: Keeps from trial to trial what was made of each.
        surrogate: What the user asked for, see :func:`get_surrogate`.
    """

    def __init__(
        self,
        history: History,
        kept: Callable[[str, Callable[[], Any]], Any],
        surrogate: Any = "auto",
    ) -> None:
        self.history = history
        self.space = history.space
        self.numbers = history.numbers.ravel()
        self.warp = InputWarping(self.space.names, history.described)
        self.rows = self.warp(history.rows)
        self.activity = ConditionalParameters(self.space, self.rows, history.active_if)
        self._violations = history.violations.ravel()
        self.scale = Scale.of(history.values, self._violations)
        #: Trials × objectives, minimized and on one scale.
        self.values = self.scale(history.values, self._violations)
        #: Positions of the trials by non-domination rank.
        self.best_first = np.argsort(ranks(self.values), kind="stable")
        #: No bound is better than this: what was never negative is not promised to be.
        self.floor = np.where(
            history.values.min(axis=0) >= 0, self.scale.linear(np.zeros(1)), -np.inf
        )
        filters = filter_sets(history)
        self._sets = FeatureSets(history, filters, kept)
        self._columns = SurrogateEncoder(history, filters, self.warp, kept, by_distance=True)
        #: Whether the surrogate is Kriging.
        self.kriging = takes_kriging(surrogate, self._columns.width)
        if not self.kriging:
            self._columns = SurrogateEncoder(history, filters, self.warp, kept, by_distance=False)
        #: The last so many columns are a feature set: they have one scale.
        self.together = self._columns.together
        X = self._columns.of_trials()
        sizes = self.warp.sizes(self.rows) if history.table is None else history.sizes.ravel()
        self._exact = KnownObjectives(history.values, np.zeros(len(X)) if sizes is None else sizes)
        #: Objectives that need a model.
        self.unknown = self._exact.unknown
        #: The trials.
        self.seen = self._seen(X, sizes)

    def _seen(self, X: Array, sizes: Array | None) -> EncodedBatch:
        values = self._exact(np.zeros(len(X)) if sizes is None else sizes)
        return EncodedBatch(X, self.scale(values, np.zeros(len(X))), sizes)

    @property
    def most_features(self) -> int:
        """How many features there are to choose from."""
        described = self.history.described
        features = None if described is None else described.features
        return 0 if features is None else len(features.free)

    @property
    def exhausted(self) -> bool:
        """Whether the space has hardly more configurations than there are trials."""
        p = 0 if self.history.table is None else len(self.history.table.free)
        return p <= 30 and self.space.size() * 2.0**p <= len(self.numbers)

    def front(self, values: Array | None = None) -> Array:
        """The non-dominated of scaled values; of all trials if none keeps the constraints.

        Args:
            values: A row a trial; by default what the trials had.
        """
        values = self.values if values is None else values
        feasible = self._violations <= 0
        front: Array = moocore.filter_dominated(values[feasible] if feasible.any() else values)
        return front

    def rescaled(self, norm: Array) -> Array:
        """One number a trial on the scale of the better half.

        Weights that ask for an end of the front leave differences that matter far below those
        that do not.
        """
        scale = Scale.of(norm[:, None], self._violations)
        scaled: Array = scale(norm[:, None], np.zeros(len(norm)))[:, 0]
        return scaled

    def reference(self) -> Array:
        """The reference point of hypervolumes, scaled."""
        return np.clip(self.scale.linear(self.history.reference()), *_REFERENCE)

    def candidates(
        self, rows: Array, masks: Array | None = None, index: Array | None = None
    ) -> EncodedBatch:
        """Configurations that no trial has.

        Args:
            rows: Warped rows.
            masks: Distinct masks.
            index: Which mask each row has.
        """
        X = self._columns(rows, masks, index)
        if masks is None or index is None:
            return self._seen(X, self.warp.sizes(rows))
        return self._seen(X, masks.sum(axis=1)[index])

    def contains_params(self, row: Array, mask: Array | None) -> bool:
        """Whether a trial has this configuration."""
        return self.history.contains(self.warp.back(row), mask)

    def spent(self, rows: Array, masks: Array | None) -> Array:
        """Whether the feature set of each configuration was tried often enough.

        Args:
            rows: Warped rows.
            masks: Mask of each, if there are masks.
        """
        return self._sets.spent(self.warp.back(rows), masks)


#: Different numbers of features that an objective must have been seen at.
_LEAST = 3


class KnownObjectives:
    """Finds objectives that were ``a + b k`` in all trials, ``k`` the number of features.

    The fraction of features is such a one, and their number. Nobody has to say so: it shows in the
    trials. A model of them would be an error where there need be none.

    Args:
        values: Trials × objectives.
        sizes: Number of features of each trial.

    Example:
        >>> values = np.array([[0.3, 0.1], [0.2, 0.2], [0.4, 0.4]])
        >>> exact = KnownObjectives(values, np.array([1, 2, 4]))
        >>> exact(np.array([10])).round(9).tolist()
        [[nan, 1.0]]
    """

    def __init__(self, values: Array, sizes: Array) -> None:
        m = values.shape[1]
        self._lines = np.full((m, 2), np.nan)
        if len(np.unique(sizes)) < _LEAST:
            return
        low, high = int(sizes.argmin()), int(sizes.argmax())
        slope = (values[high] - values[low]) / (sizes[high] - sizes[low])
        start = values[low] - slope * sizes[low]
        off = np.abs(values - (start + slope * sizes[:, None])).max(axis=0)
        found = (slope != 0) & (off <= 1e-9 * np.abs(values[high] - values[low]))
        self._lines[found] = np.column_stack([start, slope])[found]

    @property
    def unknown(self) -> list[int]:
        """Positions of the objectives that need a model."""
        return np.flatnonzero(np.isnan(self._lines[:, 0])).tolist()

    def __call__(self, sizes: Array) -> Array:
        """Values at these numbers of features, NaN where a model is needed."""
        values: Array = self._lines[:, 0] + self._lines[:, 1] * np.asarray(sizes)[:, None]
        return values


@dataclass(frozen=True)
class Scale:
    """Maps values to [0, 1] over the better half of the trials; worse ones come close to 2.

    ParEGO scales by the range of all points. One absurd value then squeezes all others together,
    so that every weight vector asks for the same point; here it only saturates.

    Args:
        low: Best value of each objective.
        span: From there to the worst of the better half.
    """

    low: Array
    span: Array

    @classmethod
    def of(cls, values: Array, violations: Array) -> Scale:
        """Learn the scale from finished trials (minimized; infinite values as huge numbers)."""
        finite = np.abs(values).max(axis=1) < 1e200
        usable = finite & (violations <= 0) if (finite & (violations <= 0)).any() else finite
        if not usable.any():
            return cls(np.zeros(values.shape[1]), np.ones(values.shape[1]))
        kept = values[usable]
        rank = ranks(kept)
        better = kept[rank <= np.sort(rank)[(len(kept) - 1) // 2]]
        low, high = kept.min(axis=0), better.max(axis=0)
        # One trial, or one value for all: a constant stays a constant.
        high = np.where(high > low, high, kept.max(axis=0))
        return cls(low, np.where(high > low, high - low, 1.0))

    def linear(self, values: Array) -> Array:
        """Scaled values, without a bound."""
        scaled: Array = (values - self.low) / self.span
        return scaled

    def raw(self, scaled: Array) -> Array:
        """The inverse of :meth:`linear`."""
        values: Array = self.low + self.span * scaled
        return values

    def __call__(self, values: Array, violations: Array) -> Array:
        """Scaled values; those of trials that violate a constraint are worse than all others."""
        scaled = np.clip(self.linear(values), -1.0, 50.0)
        scaled = np.where(scaled > 1, 2 - np.exp(1 - scaled), scaled)
        penalty = np.where(violations > 0, 1 + violations / (1 + violations), 0.0)
        bounded: Array = scaled + penalty[:, None]
        return bounded


def ranks(values: Array) -> Array:
    """Non-domination rank of each trial, 0 the best; with one objective the trials in order."""
    if values.shape[1] == 1:
        return np.argsort(np.argsort(values[:, 0], kind="stable"), kind="stable")
    found: Array = moocore.pareto_rank(values)
    return found


#: Up to so many trials scales are estimated for each proposal, then when trials are a tenth more.
_ALWAYS, _AGAIN = 50, 1.1


def objective_scales(
    view: TrainingData, kept: Callable[[str, Callable[[], Any]], Any]
) -> dict[int, Array]:
    """Scales of each objective that needs a model.

    They are estimated from the first trials, as many as :class:`RefitSchedule` says, on the scale of
    these: whoever reads the history later finds the same ones.

    Args:
        view: The history.
        kept: Keeps the scales from trial to trial.
    """
    lasting: RefitSchedule = kept("scales", lambda: RefitSchedule(first=_ALWAYS, again=_AGAIN))
    # Categories that are seen to be missing add columns.
    columns = view.seen.X.shape[1]
    return {
        j: lasting.of(view.history, j, partial(_likely, view, j), form=columns)
        for j in view.unknown
    }


def _likely(view: TrainingData, objective: int, count: int) -> Array:
    violations = view.history.violations.ravel()[:count]
    values = view.history.values[:count]
    scaled = Scale.of(values, violations)(values, violations)
    order = np.argsort(ranks(scaled), kind="stable")
    return likely_scales(view.seen.X[order], scaled[order, objective], together=view.together)
