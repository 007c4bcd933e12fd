"""Where honest values come from: a bootstrap of the choice, or held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Floats, Indices
from optuna_mofs.fronts._candidates import Candidates
from optuna_mofs.fronts._honest import SelectionBootstrap, interval
from optuna_mofs.fronts._picks import round_off
from optuna_mofs.study._losses import read_losses

#: Number of new rows of the intervals, relative to the rows of the search.
_NEW_ROWS = 0.5


class Shift(NamedTuple):
    """Honest value minus raw value, and standard error of the honest value."""

    shift: Any
    standard_error: Any


_UNKNOWN = Shift(np.nan, np.nan)


class Limits(NamedTuple):
    """Honest values with intervals, minimized."""

    value: Floats
    low: Floats
    high: Floats


class SourceValues(NamedTuple):
    """The honest values of one source, minimized.

    Attributes:
        source: Name of the source.
        members: One shift per trial of the front.
        curve: One shift per distinct number of features.
        picks: Raw loss of the trial that each rule picks, and its shift.
        n_units: Number of rows or groups of rows.
        widening: Standard error of a value that is measured on new rows, in units of that of the
            expected value.
        lowest: The lowest possible loss.
        bound: The largest loss of a row, or None if losses can be negative.
        pick_index: Position of the default pick on the front if honest values decide it.
    """

    source: Literal["bootstrap", "holdout"] | None
    members: Shift
    curve: Shift
    picks: dict[str, tuple[float, Shift]]
    n_units: int = 0
    widening: float = 1.0
    lowest: float = -np.inf
    bound: float | None = None
    pick_index: int | None = None

    def limits(
        self, raw: Floats | float, part: Shift, confidence: float, *, measured: bool = True
    ) -> Limits:
        """Return values and intervals, of values measured on new rows or of the expected ones."""
        value = np.atleast_1d(raw) + part.shift
        widening = self.widening if measured else 1.0
        low, high = interval(
            value,
            widening * np.broadcast_to(part.standard_error, value.shape),
            max(round(self.n_units / widening**2), 2),
            bound=self.bound,
            confidence=confidence,
        )
        return Limits(np.maximum(value, self.lowest), np.maximum(low, self.lowest), high)


def find_values(candidates: Candidates, *, n_bootstraps: int, seed: int) -> SourceValues:
    """Return the honest values of the best source that a study has, NaN if it has none."""
    found: SourceValues | None = None
    if candidates.has_losses and candidates.selects_inside_folds:
        found = bootstrap_values(candidates, n_bootstraps=n_bootstraps, seed=seed)
    if candidates.has_losses and found is None:
        found = holdout_values(candidates)
    if found is None:
        trials = _trials_by_raw_values(candidates)
        picks = {name: (candidates.loss_of(trial), _UNKNOWN) for name, trial in trials.items()}
        found = SourceValues(None, _UNKNOWN, _UNKNOWN, picks)
    nonnegative = len(candidates.errors) > 0 and candidates.errors.min() >= 0.0
    return found._replace(lowest=0.0 if nonnegative else -np.inf)


# ---- bootstrap ----------------------------------------------------------------------------------


def bootstrap_values(
    candidates: Candidates, *, n_bootstraps: int, seed: int
) -> SourceValues | None:
    """Return honest values from the out-of-fold losses of all trials, or None without losses."""
    read = candidates.read_contenders() if len(candidates.trials) else None
    if read is None:
        return None
    positions, units = read
    sizes = candidates.sizes[positions]
    bootstrap = SelectionBootstrap(units, sizes, n_bootstraps=n_bootstraps, seed=seed)
    chosen = bootstrap.best_at_most()
    at_most = bootstrap.estimate(chosen)

    def at(limits: Floats, values: Floats) -> Floats:
        index = np.searchsorted(bootstrap.sizes, limits, side="right") - 1
        return np.where((index >= 0) & ~np.isnan(limits), values[index], np.nan)

    def shift_at(limits: Floats) -> Shift:
        return Shift(at(limits, at_most.optimism), at(limits, at_most.standard_errors))

    members = shift_at(candidates.member_limits)
    picks: dict[str, tuple[float, Shift]] = {}
    spread = units._replace(sums=units.sums[chosen[:, 0]]).standard_errors
    pick_index = _honest_pick(candidates, members.shift, at(candidates.member_limits, spread))
    if pick_index is not None:
        part = Shift(members.shift[pick_index], members.standard_error[pick_index])
        picks["pick"] = (float(candidates.member_losses[pick_index]), part)
    # Each rule on raw values is repeated on the samples.
    rules = {"best": lambda: chosen[-1]}
    rules["one_standard_error"] = lambda: bootstrap.one_standard_error(
        candidates.min_standard_error
    )
    others = np.delete(candidates.points.losses, candidates.column, axis=1)
    rules["knee"] = lambda: bootstrap.knee(
        others[candidates.trials[positions]], constant=candidates.constant
    )
    trials = candidates.rule_trials()
    for name in trials:
        estimate = bootstrap.estimate(rules[name]()[None])
        part = Shift(estimate.optimism[0], estimate.standard_errors[0])
        picks[name] = (candidates.loss_of(trials[name]), part)
    return SourceValues(
        source="bootstrap",
        members=members,
        curve=shift_at(candidates.distinct_sizes),
        picks=picks,
        n_units=len(units.weights),
        widening=_widening(1.0),
        bound=units.bound,
        pick_index=pick_index,
    )


def _honest_pick(candidates: Candidates, shifts: Floats, standard_errors: Floats) -> int | None:
    """Return the sparsest trial of the front whose honest value is close to the lowest.

    Args:
        candidates: The front.
        shifts: Honest minus raw value of each trial of the front.
        standard_errors: Standard error of the mean loss of the best trial of that size. A value
            within one of the lowest is close.

    Returns:
        The position on the front, or None if no honest value is known.
    """
    values = candidates.member_losses + shifts
    rows = np.flatnonzero(~np.isnan(values))
    better = rows[candidates.member_losses[rows] < candidates.constant]
    rows = better if len(better) else rows
    rows = _nonempty(rows, candidates)
    if not len(rows):
        return None
    lowest = rows[values[rows].argmin()]
    spread = max(standard_errors[lowest], candidates.min_standard_error)
    if values[lowest] < candidates.constant:
        rows = rows[values[rows] < candidates.constant]
    rows = rows[values[rows] <= values[lowest] + spread]
    return int(rows[np.lexsort((values[rows], candidates.member_sizes[rows]))[0]])


def _nonempty(rows: Indices, candidates: Candidates) -> Indices:
    """Leave out the empty set, unless it is the best or alone."""
    if not len(rows):
        return rows
    best = rows[
        np.lexsort((candidates.member_sizes[rows], round_off(candidates.member_losses[rows])))[0]
    ]
    return rows if candidates.member_sizes[best] == 0 else rows[candidates.member_sizes[rows] > 0]


# ---- holdout ------------------------------------------------------------------------------------


def holdout_values(candidates: Candidates) -> SourceValues | None:
    """Return honest values from the rows that the search did not use.

    Raw values choose every trial: if the held-out rows took part in a choice, their values for the
    chosen trial would be too good again.
    """
    points = candidates.points
    trials = _trials_by_raw_values(candidates)
    curve = [points.trials[row] for row in candidates.trials[candidates.best]]
    wanted = {trial.number: trial for trial in (*candidates.front, *curve, *trials.values())}
    listed = list(wanted.values())
    found = candidates.read_losses(listed, "holdout") if listed else None
    if found is None:
        return None
    means, standard_errors = found.units.means, found.units.standard_errors
    by_number = {
        listed[i].number: (mean - candidates.loss_of(listed[i]), error)
        for i, mean, error in zip(found.positions, means, standard_errors)
    }

    def shifts(some: Sequence[FrozenTrial]) -> Shift:
        parts = [by_number.get(trial.number, (np.nan, np.nan)) for trial in some]
        return Shift(*np.array(parts, dtype=np.float64).reshape(-1, 2).T)

    picks = {
        name: (candidates.loss_of(trial), Shift(*by_number.get(trial.number, _UNKNOWN)))
        for name, trial in trials.items()
    }
    return SourceValues(
        source="holdout",
        members=shifts(candidates.front),
        curve=shifts(curve),
        picks=picks,
        n_units=len(found.units.weights),
        widening=_widening(_holdout_share(listed)),
        bound=found.units.bound,
    )


def _holdout_share(trials: Sequence[FrozenTrial]) -> float:
    """Return the number of held-out rows relative to that of the search."""
    held_out, searched = (
        {len(losses) for trial in trials if (losses := read_losses(trial, source)) is not None}
        for source in ("holdout", "cross_validation")
    )
    return max(held_out) / max(searched) if searched else 0.25


def _widening(share: float) -> float:
    """Return how much more a value on new rows varies than the expected one.

    The new rows are half as many as those of the search; the expected value comes from ``share``
    times the rows of the search.
    """
    return float(np.sqrt(1.0 + share / _NEW_ROWS))


def _trials_by_raw_values(candidates: Candidates) -> dict[str, FrozenTrial]:
    """Return the picks where raw values choose all of them."""
    trials = candidates.rule_trials()
    if trials:
        trials["pick"] = trials.get("one_standard_error", trials["knee"])
    return trials
