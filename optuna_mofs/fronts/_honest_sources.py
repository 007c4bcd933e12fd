"""Where honest values come from: a bootstrap of the choice, or held-out rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Floats
from optuna_mofs.fronts._candidates import Candidates
from optuna_mofs.fronts._honest import SelectionBootstrap, interval
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
    """

    source: Literal["bootstrap", "holdout"] | None
    members: Shift
    curve: Shift
    picks: dict[str, tuple[float, Shift]]
    n_units: float = 0.0
    widening: float = 1.0
    lowest: float = -np.inf
    bound: float | None = None

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
        trials = candidates.rule_trials()
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
    positions, units = read.positions, read.units
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
    # The rules that compare trials by their own errors are repeated on the samples. The pick has
    # the value that the table shows for its trial.
    rules = {"best": lambda: chosen[-1]}
    rules["one_standard_error"] = lambda: bootstrap.one_standard_error(
        candidates.min_standard_error
    )
    others = np.delete(candidates.points.losses, candidates.column, axis=1)
    rules["knee"] = lambda: bootstrap.knee(
        others[candidates.trials[positions]], constant=candidates.constant
    )
    picks: dict[str, tuple[float, Shift]] = {}
    for name, trial in candidates.rule_trials().items():
        if name in rules:
            estimate = bootstrap.estimate(rules[name]()[None])
            part = Shift(estimate.optimism[0], estimate.standard_errors[0])
        else:
            position = [member.number for member in candidates.front].index(trial.number)
            part = Shift(members.shift[position], members.standard_error[position])
        picks[name] = (candidates.loss_of(trial), part)
    return SourceValues(
        source="bootstrap",
        members=members,
        curve=shift_at(candidates.distinct_sizes),
        picks=picks,
        n_units=read.n_units,
        widening=_widening(1.0),
        bound=units.bound,
    )


# ---- holdout ------------------------------------------------------------------------------------


def holdout_values(candidates: Candidates) -> SourceValues | None:
    """Return honest values from the rows that the search did not use.

    They take no part in any choice, or their values for the chosen trial would be too good again.
    """
    points = candidates.points
    trials = candidates.rule_trials()
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
    # A fifth of all rows is held out by default.
    n_searched = _n_search_rows(listed) or 4 * found.n_rows
    return SourceValues(
        source="holdout",
        members=shifts(candidates.front),
        curve=shifts(curve),
        picks=picks,
        n_units=found.n_units,
        widening=_widening(found.n_rows / n_searched),
        bound=found.units.bound,
    )


def _n_search_rows(trials: Sequence[FrozenTrial]) -> int:
    """Return the number of rows of the search, 0 if it is unknown."""
    found = (read_losses(trial, "cross_validation") for trial in trials)
    return max((losses.n_rows for losses in found if losses is not None), default=0)


def _widening(share: float) -> float:
    """Return how much more a value on new rows varies than the expected one.

    The new rows are half as many as those of the search; the expected value comes from ``share``
    times the rows of the search.
    """
    return float(np.sqrt(1.0 + share / _NEW_ROWS))
