"""Honest values of a front: what to expect on new rows, beside the cross-validated values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._typing import Floats, Indices
from optuna_mofs.fronts._candidates import FrontCandidates
from optuna_mofs.fronts._honest import SelectionBootstrap, interval
from optuna_mofs.fronts._warnings import chance_warning
from optuna_mofs.study._baselines import Baselines
from optuna_mofs.study._losses import read_losses

if TYPE_CHECKING:
    import pandas as pd

    from optuna_mofs.fronts._front import Front

#: Number of new rows of the intervals, relative to the rows of the search.
_NEW_ROWS = 0.5


@dataclass(frozen=True)
class HonestEstimate:
    """What to expect on new rows.

    The interval is for a value measured on new rows, half as many as the search had. It covers
    the uncertainty of the expected value and the sampling of these rows.

    Attributes:
        value: The expected value; NaN if it is unknown.
        low: Lower limit of the interval.
        high: Upper limit.

    Example:
        >>> print(HonestEstimate(0.194, 0.131, 0.277))
        0.194 (0.131 to 0.277)
    """

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        value, low, high = (f"{number:.3g}" for number in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


@dataclass(frozen=True, eq=False)
class HonestFront:
    """Honest values of a front, see :meth:`Front.honest`. All are in the study's directions.

    Attributes:
        source: ``"bootstrap"`` if the choice was repeated on bootstrap samples of the out-of-fold
            losses of all trials, ``"holdout"`` if the values come from rows that the search did
            not use, None if there are no honest values.
        metric_name: The metric that the values belong to.
        members: One estimate per trial of the front, in its order.
        curve: The best value with at most ``n_features`` features, for every number of features
            that occurs: columns ``n_features``, ``raw``, ``honest``, ``honest_low``,
            ``honest_high``.
        picks: Estimates for the trials of :meth:`Front.pick` (``"pick"``), :meth:`Front.best`,
            :meth:`Front.knee` and :meth:`Front.one_standard_error`, as far as the front has them.
            The bootstrap repeats the rules of the last three.
        baselines: Values to compare with.
        warning: A sentence that begins with "Not clearly better than chance", or None.
        numbers: Numbers of the trials.
        raw: Cross-validated values of the trials.
    """

    source: Literal["bootstrap", "holdout"] | None
    metric_name: str
    members: list[HonestEstimate]
    curve: pd.DataFrame
    picks: dict[str, HonestEstimate]
    baselines: Baselines
    warning: str | None = None
    numbers: list[int] = field(default_factory=list)
    raw: list[float] = field(default_factory=list)

    def to_frame(self) -> pd.DataFrame:
        """Return the estimates of the members as a table, indexed by trial number.

        Columns: ``raw``, the cross-validated value, ``honest``, ``honest_low`` and
        ``honest_high``.
        """
        import pandas as pd

        index = pd.Index(self.numbers, name="number", dtype="int64")
        return pd.DataFrame({"raw": self.raw, **estimate_columns(self.members)}, index=index)


def estimate_columns(estimates: Sequence[HonestEstimate]) -> dict[str, list[float]]:
    """Return estimates as the columns ``honest``, ``honest_low`` and ``honest_high``."""
    return {
        "honest": [estimate.value for estimate in estimates],
        "honest_low": [estimate.low for estimate in estimates],
        "honest_high": [estimate.high for estimate in estimates],
    }


def honest_front(front: Front, *, n_bootstraps: int, confidence: float, seed: int) -> HonestFront:
    """Compute the honest values of a front; see :meth:`Front.honest`."""
    import pandas as pd

    candidates = FrontCandidates.of(front)
    values = find_values(candidates, n_bootstraps=n_bootstraps, seed=seed)
    raw = candidates.errors[candidates.best]
    curve = {
        "n_features": candidates.distinct_sizes.astype(np.int64),
        "raw": raw * candidates.sign + 0.0,
        **estimate_columns(_estimates(values.limits(raw, values.curve, confidence), candidates)),
    }
    picks = {
        name: _estimates(values.limits(*pick, confidence), candidates)[0]
        for name, pick in values.picks.items()
    }
    members = values.limits(candidates.member_losses, values.members, confidence)
    return HonestFront(
        source=values.source,
        metric_name=candidates.metric_name,
        members=_estimates(members, candidates),
        curve=pd.DataFrame(curve),
        picks=picks,
        baselines=front.baselines,
        warning=chance_warning(candidates, values, picks, confidence=confidence),
        numbers=[trial.number for trial in front],
        raw=front.values[:, candidates.column].tolist(),
    )


def _estimates(limits: Limits, candidates: FrontCandidates) -> list[HonestEstimate]:
    """Return estimates in the direction of the metric."""
    value, low, high = limits
    if candidates.sign < 0:
        value, low, high = -value, -high, -low
    return [HonestEstimate(*row) for row in np.column_stack([value, low, high]).tolist()]


# ---- sources ------------------------------------------------------------------------------------


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


def find_values(candidates: FrontCandidates, *, n_bootstraps: int, seed: int) -> SourceValues:
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
    candidates: FrontCandidates, *, n_bootstraps: int, seed: int
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
    # The rules that compare trials by their errors are repeated on the samples. The default pick
    # has the value that the table shows for its trial.
    others = np.delete(candidates.points.losses, candidates.column, axis=1)
    others = others[candidates.trials[positions]]
    rules: dict[str, Callable[[], Indices]] = {
        "best": lambda: chosen[-1],
        "one_standard_error": lambda: bootstrap.one_standard_error(candidates.min_standard_error),
        "knee": lambda: bootstrap.knee(others, constant=candidates.constant),
    }
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


def holdout_values(candidates: FrontCandidates) -> SourceValues | None:
    """Return honest values from the rows that the search did not use.

    They take no part in any choice, or else their values would be too good as well.
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

    There are half as many new rows as rows of the search; the expected value comes from ``share``
    times the rows of the search.
    """
    return float(np.sqrt(1.0 + share / _NEW_ROWS))
