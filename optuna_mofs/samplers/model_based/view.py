"""The history, and candidates, as surrogates see them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import moocore
import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._duplicates import FeatureSets
from optuna_mofs.history._history import History
from optuna_mofs.history._search_space import Activity
from optuna_mofs.samplers.model_based.columns import Columns
from optuna_mofs.samplers.model_based.exact import ExactObjectives
from optuna_mofs.samplers.model_based.scalarise import Scale, ranks
from optuna_mofs.samplers.model_based.set_view import filter_sets
from optuna_mofs.samplers.model_based.surrogates import takes_kriging
from optuna_mofs.samplers.model_based.warp import Warp

#: Bounds of the reference point on the scale of the better half of the trials.
_REFERENCE = (1.1, 3.0)


@dataclass(frozen=True)
class Seen:
    """Configurations as surrogates see them.

    Args:
        X: Configurations × columns.
        exact: Configurations × objectives: scaled values that need no model, else NaN.
        sizes: Number of features of each, if the study chooses some.
    """

    X: Array
    exact: Array
    sizes: Array | None = None


class View:
    """Everything of the history that a model-based sampler works on.

    Args:
        history: What is known.
        kept: Keeps from trial to trial what was made of each.
        surrogate: What the user asked for, see :func:`surrogate_factory`.
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
        self.warp = Warp(self.space.names, history.described)
        self.rows = self.warp(history.rows)
        self.activity = Activity(self.space, self.rows, history.active_if)
        self._violations = history.violations.ravel()
        self.scale = Scale.of(history.values, self._violations)
        #: Trials × objectives, minimised and on one scale.
        self.values = self.scale(history.values, self._violations)
        #: Positions of the trials by non-domination rank.
        self.best_first = np.argsort(ranks(self.values), kind="stable")
        #: No bound is better than this: what was never negative is not promised to be.
        self.floor = np.where(
            history.values.min(axis=0) >= 0, self.scale.linear(np.zeros(1)), -np.inf
        )
        filters = filter_sets(history)
        self._sets = FeatureSets(history, filters, kept)
        self._columns = Columns(history, filters, self.warp, kept, by_distance=True)
        #: Whether the surrogate is Kriging.
        self.kriging = takes_kriging(surrogate, self._columns.width)
        if not self.kriging:
            self._columns = Columns(history, filters, self.warp, kept, by_distance=False)
        #: The last so many columns are a feature set: they have one scale.
        self.together = self._columns.together
        X = self._columns.of_trials()
        sizes = self.warp.sizes(self.rows) if history.table is None else history.sizes.ravel()
        self._exact = ExactObjectives(history.values, np.zeros(len(X)) if sizes is None else sizes)
        #: Objectives that need a model.
        self.unknown = self._exact.unknown
        #: The trials.
        self.seen = self._seen(X, sizes)

    def _seen(self, X: Array, sizes: Array | None) -> Seen:
        values = self._exact(np.zeros(len(X)) if sizes is None else sizes)
        return Seen(X, self.scale(values, np.zeros(len(X))), sizes)

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
    ) -> Seen:
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

    def is_known(self, row: Array, mask: Array | None) -> bool:
        """Whether a trial has this configuration."""
        return self.history.has_tried(self.warp.back(row), mask)

    def spent(self, rows: Array, masks: Array | None) -> Array:
        """Whether the feature set of each configuration was tried often enough.

        Args:
            rows: Warped rows.
            masks: Mask of each, if there are masks.
        """
        return self._sets.spent(self.warp.back(rows), masks)
