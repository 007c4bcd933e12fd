"""The trials to choose from: errors, numbers of features and losses of rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs.fronts._honest import UnitLosses, contenders, unit_losses
from optuna_mofs.fronts._picks import round_off
from optuna_mofs.study._completed_trials import CompletedTrials, feature_count
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._losses import (
    Source,
    read_loss_measure,
    read_losses,
    read_row_groups,
    read_row_weights,
)

if TYPE_CHECKING:
    from optuna_mofs.fronts._front import Front

#: Maximum number of losses to read; beyond it, trials that cannot be the best are left out.
_MAX_ENTRIES = 12_000_000
#: Trials this many standard errors above the best of their size are not the best by chance.
_MAX_STANDARD_ERRORS = 4.0


class TrialLosses(NamedTuple):
    """Losses of some trials on the rows that all of them have.

    Attributes:
        positions: The trials, as positions in a list.
        units: Their losses, with the means and standard errors of all rows.
        n_rows: Number of all rows.
        n_units: Number of all rows, or of groups of rows.
    """

    positions: Indices
    units: UnitLosses
    n_rows: int
    n_units: float


@dataclass(frozen=True, eq=False)
class FrontCandidates:
    """A front and all trials that could have been on it, in terms of one minimized metric.

    Attributes:
        front: The front.
        column: The metric: the one with losses of rows, or else the first.
        has_losses: Whether trials may have losses of rows for this metric.
        trials: Rows of ``front.points``: feasible trials with a known number of features.
        errors: Their losses.
        sizes: Their numbers of features.
        best: For each distinct size, the trial (position in ``trials``) with the lowest error
            among those with at most that many features.
        member_sizes: Number of features of each trial of the front; NaN if unknown.
    """

    front: Front
    column: int
    has_losses: bool
    trials: Indices
    errors: Floats
    sizes: Floats
    best: Indices
    member_sizes: Floats

    @classmethod
    def of(cls, front: Front) -> FrontCandidates:
        """Read the candidates of a front."""
        points = front.points
        measure = read_loss_measure(points.study)
        known = measure in points.measure_names
        column = points.measure_names.index(str(measure)) if known else 0
        allowed = points.feasible.copy()
        allowed[front._rows] = True
        counts = np.array(
            [_count(points, row) if ok else np.nan for row, ok in enumerate(allowed)],
            dtype=np.float64,
        )
        trials = np.flatnonzero(~np.isnan(counts) & np.isfinite(points.losses[:, column]))
        errors, sizes = points.losses[trials, column], counts[trials]
        return cls(
            front=front,
            column=column,
            has_losses=known,
            trials=trials,
            errors=errors,
            sizes=sizes,
            best=best_at_most(errors, sizes),
            member_sizes=counts[front._rows],
        )

    @property
    def points(self) -> CompletedTrials:
        """All completed trials."""
        return self.front.points

    @property
    def sign(self) -> float:
        """-1 for a maximized metric."""
        return float(self.points.signs[self.column])

    @property
    def metric_name(self) -> str:
        """Name of the metric."""
        return self.front.metric_names[self.column]

    @property
    def constant(self) -> float:
        """Loss below which a trial is better than the constant model."""
        return self.front._constant_loss(self.column)

    @property
    def min_standard_error(self) -> float:
        """Smallest standard error that counts."""
        return self.front._min_standard_error(self.column)

    @property
    def selects_inside_folds(self) -> bool:
        """Whether no test fold took part in the selection of the features tested on it."""
        description = StudyDescription.read(self.points.study)
        representation = None if description is None else description.representation
        return representation is None or representation.ranks == "fold"

    @property
    def member_losses(self) -> Floats:
        """Loss of each trial of the front."""
        return self.points.losses[self.front._rows, self.column]

    @property
    def distinct_sizes(self) -> Floats:
        """Numbers of features that occur, ascending."""
        return np.unique(self.sizes)

    @property
    def member_limits(self) -> Floats:
        """For each trial of the front, the largest k for which it is the best with k features.

        It was chosen among all trials with at most k features, even if it has fewer itself.
        """
        distinct = self.distinct_sizes
        last = dict(zip(self.best, distinct))
        limits = {size: last[best] for best, size in zip(self.best, distinct)}
        return np.array([limits.get(size, np.nan) for size in self.member_sizes], dtype=np.float64)

    @property
    def best_members(self) -> Indices:
        """Positions of the trials of the front that are the best with at most their size.

        A front with ``by=`` also has others.
        """
        if not len(self.errors):
            return np.zeros(0, dtype=np.intp)
        index = np.searchsorted(self.distinct_sizes, self.member_sizes, side="right") - 1
        lowest = self.errors[self.best][index]
        is_best = self.member_losses <= lowest + 1e-9 * np.abs(lowest)
        return np.flatnonzero(is_best & ~np.isnan(self.member_sizes))

    def rule_trials(self) -> dict[str, FrozenTrial]:
        """Return the trial that each rule picks, for the rules that apply to the front."""
        front = self.front
        if not len(front):
            return {}
        found = {
            "pick": front.pick(),
            "best": front.best(self.column),
            "knee": front.knee(),
        }
        with suppress(ValueError):  # no values per fold, or no numbers of features
            found["one_standard_error"] = front.one_standard_error(metric=self.column)
        return found

    def loss_of(self, trial: FrozenTrial) -> float:
        """Return the loss of a trial."""
        index = self.points.value_indices[self.column]
        return float(trial.values[index]) * self.sign

    def read_losses(self, trials: Sequence[FrozenTrial], source: Source) -> TrialLosses | None:
        """Return the losses of the trials that have them, or None if there are too few rows."""
        arrays = {i: read_losses(trial, source) for i, trial in enumerate(trials)}
        found = {i: losses for i, losses in arrays.items() if losses is not None}
        if not found:
            return None
        n_kept = min(len(losses.values) for losses in found.values())
        losses: Array = np.stack([each.values[:n_kept] for each in found.values()])
        # Rows in no test fold have no loss in any trial; trials that lack more are left out.
        finite = np.isfinite(losses)
        rows = np.flatnonzero(finite[finite.sum(axis=1).argmax()])
        complete = finite[:, rows].all(axis=1)
        study = self.points.study
        groups, weights = read_row_groups(study, source), read_row_weights(study, source)
        units = unit_losses(
            losses[complete][:, rows] * np.float32(self.sign),
            groups=None if groups is None else groups[rows],
            weights=None if weights is None else weights[rows],
        )
        if len(units.weights) < 2:
            return None
        means = np.array([each.mean for each in found.values()])[complete] * self.sign
        n_rows = max(each.n_rows for each in found.values())
        # More rows of the same groups hardly make a mean more certain.
        share = len(rows) / n_rows if groups is None else 1.0
        if len(rows) < n_rows:
            units = units.as_sample_of(means if weights is None else units.means, share)
        kept = np.array(list(found), dtype=np.intp)[complete]
        return TrialLosses(kept, units, n_rows, len(units.weights) / share)

    def read_contenders(self) -> TrialLosses | None:
        """Return the out-of-fold losses of the trials (positions in ``trials``) that could win.

        These are all trials, unless there are very many losses.
        """
        everything = [self.points.trials[row] for row in self.trials]
        positions = np.arange(len(everything))
        first = self.read_losses([everything[i] for i in self.best], "cross_validation")
        if first is not None and len(everything) * len(first.units.weights) > _MAX_ENTRIES:
            # The difference of two independent means has a variance twice as large.
            margin = _MAX_STANDARD_ERRORS * np.sqrt(2.0) * first.units.standard_errors.max()
            limit = max(_MAX_ENTRIES // len(first.units.weights), len(self.best))
            positions = contenders(self.errors, self.sizes, float(margin), limit)
        found = self.read_losses([everything[i] for i in positions], "cross_validation")
        return None if found is None else found._replace(positions=positions[found.positions])


def _count(points: CompletedTrials, row: int) -> float:
    count = feature_count(points.study, points.trials[row])
    return np.nan if count is None else float(count)


def best_at_most(errors: Floats, sizes: Floats) -> Indices:
    """Return for each distinct size the best trial with at most that many features.

    Ties (up to rounding errors) are broken by fewer features, then by the first trial.

    Example:
        >>> best_at_most(np.array([0.2, 0.3, 0.1, 0.2]), np.array([3, 1, 5, 4])).tolist()
        [1, 0, 0, 2]
    """
    order = np.argsort(sizes, kind="stable")
    rounded = round_off(errors[order])
    lowest = np.minimum.accumulate(rounded)
    improves = np.ones(len(order), dtype=np.bool_)
    improves[1:] = lowest[1:] < lowest[:-1]
    best = np.maximum.accumulate(np.where(improves, np.arange(len(order)), 0))
    return order[best[np.flatnonzero(np.diff(sizes[order], append=np.inf))]]
