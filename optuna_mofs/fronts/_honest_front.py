"""Honest values of a front: what to expect on new rows, beside the cross-validated values."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from optuna.trial import FrozenTrial

from optuna_mofs._format import format_number
from optuna_mofs._typing import Array, Floats, Indices
from optuna_mofs.fronts._honest import (
    Estimate,
    SelectionBootstrap,
    UnitLosses,
    contenders,
    interval,
    unit_losses,
)
from optuna_mofs.fronts._picks import fold_standard_error, round_off
from optuna_mofs.study._baselines import Baselines, NoiseFloor
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
    import pandas as pd

    from optuna_mofs.fronts._front import Front

#: More losses than this are not read: trials that cannot be the best of their size are left out.
_MAX_ENTRIES = 12_000_000
#: Trials this many standard errors above the best of their size do not become the best by chance.
_MAX_STANDARD_ERRORS = 4.0
#: Confidence of the interval that must leave out the constant model: stricter, because a search
#: that adapts to the rows keeps a little luck that the bootstrap cannot see.
_CLEAR = 0.99
#: Number of new rows of the intervals, relative to the rows of the search.
_NEW_ROWS = 0.5
#: Below this error of the constant model, few errors say little about the rarer class.
_IMBALANCED = 0.1


@dataclass(frozen=True)
class HonestEstimate:
    """What to expect on new rows.

    The interval is that of a value measured on new rows, half as many as the search had. It
    contains the uncertainty of the expected value and the luck of these rows.

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
            The bootstrap repeats the rule of each.
        baselines: Values to compare with.
        warning: A sentence that begins with "Not clearly better than chance", or None.
        pick_index: Position of the default pick on the front if honest values decide it.
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
    pick_index: int | None = None
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
    context = _Context.read(front, confidence)
    found: _Values | None = None
    if context.has_losses and context.selects_inside_folds:
        found = _bootstrap_values(context, n_bootstraps, seed)
    if context.has_losses and found is None:
        found = _holdout_values(context)
    if found is None:
        found = _no_values(context)
    picks = {name: context.estimate(*part, found) for name, part in found.picks.items()}
    return HonestFront(
        source=found.source,
        metric_name=front.metric_names[context.column],
        members=context.estimates(context.member_losses, found.members, found),
        curve=context.curve_frame(found),
        picks=picks,
        baselines=front.baselines,
        warning=_warning(context, found, picks),
        pick_index=found.pick_index,
        numbers=[trial.number for trial in front],
        raw=front.values[:, context.column].tolist(),
    )


# ---- what the sources share ---------------------------------------------------------------------


class _Shift(NamedTuple):
    """Honest value minus raw value, and standard error of the honest value."""

    shift: Any
    standard_error: Any


_UNKNOWN = _Shift(np.nan, np.nan)


class _Values(NamedTuple):
    """The result of one source, minimized.

    ``picks`` maps names to the raw loss of the chosen trial and its shift. ``widening`` is the
    standard error of a value that is measured on new rows, in units of that of the expected value.
    """

    source: Literal["bootstrap", "holdout"] | None
    members: _Shift
    curve: _Shift
    picks: dict[str, tuple[float, _Shift]]
    n_units: int = 0
    widening: float = 1.0
    bound: float | None = None
    pick_index: int | None = None


@dataclass(frozen=True, eq=False)
class _Context:
    """A front with the numbers of features of all trials that may be chosen.

    Attributes:
        front: The front.
        column: The metric.
        has_losses: Whether trials may have losses of rows for this metric.
        confidence: Of the intervals.
        trials: Rows of ``front.points``: feasible trials with a known number of features.
        errors: Their losses.
        sizes: Their numbers of features.
        best: For each distinct size, the trial (position in ``trials``) with the lowest error
            among those with at most as many features.
        member_sizes: Number of features of each trial of the front; NaN if unknown.
    """

    front: Front
    column: int
    has_losses: bool
    confidence: float
    trials: Indices
    errors: Floats
    sizes: Floats
    best: Indices
    member_sizes: Floats

    @classmethod
    def read(cls, front: Front, confidence: float) -> _Context:
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
            confidence=confidence,
            trials=trials,
            errors=errors,
            sizes=sizes,
            best=_best_at_most(errors, sizes),
            member_sizes=counts[front._rows],
        )

    @property
    def points(self) -> CompletedTrials:
        return self.front.points

    @property
    def sign(self) -> float:
        return float(self.points.signs[self.column])

    @property
    def constant(self) -> float:
        return self.front._constant_loss(self.column)

    @property
    def selects_inside_folds(self) -> bool:
        """Whether no test fold took part in the selection of the features tested on it."""
        description = StudyDescription.read(self.points.study)
        representation = None if description is None else description.representation
        return representation is None or representation.ranks == "fold"

    @property
    def member_losses(self) -> Floats:
        return np.asarray(self.points.losses[self.front._rows, self.column])

    @property
    def distinct_sizes(self) -> Floats:
        return np.unique(self.sizes)

    @property
    def member_limits(self) -> Floats:
        """For each trial of the front, the largest k up to which the best of its size stays best.

        It was chosen among all trials with at most k features, also those with more than its own.
        """
        distinct = self.distinct_sizes
        last = dict(zip(self.best, distinct))
        limits = {size: last[best] for best, size in zip(self.best, distinct)}
        return np.array([limits.get(size, np.nan) for size in self.member_sizes], dtype=np.float64)

    def estimates(
        self, raw: Floats, part: _Shift, found: _Values, *, measured: bool = True
    ) -> list[HonestEstimate]:
        """Return estimates in the study's direction.

        The intervals are those of values measured on new rows, or of the expected values.
        """
        value = raw + part.shift
        widening = found.widening if measured else 1.0
        low, high = interval(
            value,
            widening * np.broadcast_to(part.standard_error, value.shape),
            max(round(found.n_units / widening**2), 2),
            bound=found.bound,
            confidence=self.confidence,
        )
        if len(self.errors) and self.errors.min() >= 0.0:
            value, low = np.maximum(value, 0.0), np.maximum(low, 0.0)
        if self.sign < 0:
            value, low, high = -value, -high, -low
        rows = np.column_stack([value, low, high]).tolist()
        return [HonestEstimate(*row) for row in rows]

    def estimate(
        self, raw: float, part: _Shift, found: _Values, *, measured: bool = True
    ) -> HonestEstimate:
        """Return one estimate in the study's direction."""
        return self.estimates(np.array([raw]), part, found, measured=measured)[0]

    def curve_frame(self, found: _Values) -> pd.DataFrame:
        import pandas as pd

        raw = self.errors[self.best]
        return pd.DataFrame(
            {
                "n_features": self.distinct_sizes.astype(np.int64),
                "raw": raw * self.sign + 0.0,
                **estimate_columns(self.estimates(raw, found.curve, found)),
            }
        )

    def rule_trials(self) -> dict[str, FrozenTrial]:
        """Return the trials of the rules on raw values that the front can follow."""
        front = self.front
        if not len(front):
            return {}
        found = {"best": front.best(self.column), "knee": front.knee()}
        with suppress(ValueError):  # no values per fold, or no numbers of features
            found["one_standard_error"] = front.one_standard_error(metric=self.column)
        return found

    def loss_of(self, trial: FrozenTrial) -> float:
        """Return the loss of a trial."""
        index = self.points.value_indices[self.column]
        return float(trial.values[index]) * self.sign


def _count(points: CompletedTrials, row: int) -> float:
    count = feature_count(points.study, points.trials[row])
    return np.nan if count is None else float(count)


def _best_at_most(errors: Floats, sizes: Floats) -> Indices:
    """Return for each distinct size the best trial with at most as many features.

    Ties, also those up to rounding errors, are broken by fewer features, then by the first trial.
    """
    order = np.argsort(sizes, kind="stable")
    rounded = round_off(errors[order])
    lowest = np.minimum.accumulate(rounded)
    improves = np.ones(len(order), dtype=np.bool_)
    improves[1:] = lowest[1:] < lowest[:-1]
    best = np.maximum.accumulate(np.where(improves, np.arange(len(order)), 0))
    return np.asarray(order[best[np.flatnonzero(np.diff(sizes[order], append=np.inf))]])


def _no_values(context: _Context) -> _Values:
    trials = context.rule_trials()
    if trials:
        trials["pick"] = trials.get("one_standard_error", trials["knee"])
    picks = {name: (context.loss_of(trial), _UNKNOWN) for name, trial in trials.items()}
    return _Values(None, _UNKNOWN, _UNKNOWN, picks)


# ---- losses of rows -----------------------------------------------------------------------------


class _Losses(NamedTuple):
    """Losses of some trials (positions in a list) on the rows that all of them have."""

    kept: Indices
    units: UnitLosses


def _read_units(
    context: _Context, trials: Sequence[FrozenTrial], source: Source
) -> _Losses | None:
    """Return the losses of the trials that have them, or None if there are too few rows."""
    arrays = {i: read_losses(trial, source) for i, trial in enumerate(trials)}
    found = {i: losses for i, losses in arrays.items() if losses is not None}
    if not found:
        return None
    n_rows = min(len(losses) for losses in found.values())
    kept = np.array(list(found), dtype=np.intp)
    losses: Array = np.stack([array[:n_rows] for array in found.values()])
    # Rows in no test fold have no loss in any trial; a trial that lacks more is left out.
    finite = np.isfinite(losses)
    rows = np.flatnonzero(finite[finite.sum(axis=1).argmax()])
    complete = finite[:, rows].all(axis=1)
    kept, losses = kept[complete], losses[complete][:, rows]
    study = context.points.study
    groups, weights = read_row_groups(study, source), read_row_weights(study, source)
    units = unit_losses(
        losses * np.float32(context.sign),
        groups=None if groups is None else groups[rows],
        weights=None if weights is None else weights[rows],
    )
    return _Losses(kept, units) if len(units.weights) > 1 else None


def _read_contenders(context: _Context) -> tuple[Indices, UnitLosses] | None:
    """Return positions in ``context.trials`` and the out-of-fold losses of these trials."""
    everything = [context.points.trials[row] for row in context.trials]
    positions = np.arange(len(everything))
    first = _read_units(context, [everything[i] for i in context.best], "cross_validation")
    if first is not None and len(everything) * len(first.units.weights) > _MAX_ENTRIES:
        # The difference of two independent means has a variance twice as large.
        margin = _MAX_STANDARD_ERRORS * np.sqrt(2.0) * first.units.standard_errors.max()
        limit = max(_MAX_ENTRIES // len(first.units.weights), len(context.best))
        positions = contenders(context.errors, context.sizes, float(margin), limit)
    found = _read_units(context, [everything[i] for i in positions], "cross_validation")
    return None if found is None else (positions[found.kept], found.units)


# ---- bootstrap ----------------------------------------------------------------------------------


def _bootstrap_values(context: _Context, n_bootstraps: int, seed: int) -> _Values | None:
    """Return honest values from the out-of-fold losses of all trials."""
    read = _read_contenders(context) if len(context.trials) else None
    if read is None:
        return None
    positions, units = read
    sizes = context.sizes[positions]
    bootstrap = SelectionBootstrap(units, sizes, n_bootstraps=n_bootstraps, seed=seed)
    chosen = bootstrap.best_at_most()
    at_most = bootstrap.estimate(chosen)

    def at(limits: Floats, values: Floats) -> Floats:
        index = np.searchsorted(bootstrap.sizes, limits, side="right") - 1
        return np.where((index >= 0) & ~np.isnan(limits), values[index], np.nan)

    def shift_at(limits: Floats) -> _Shift:
        return _Shift(at(limits, at_most.optimism), at(limits, at_most.standard_errors))

    curve = shift_at(context.distinct_sizes)
    members = shift_at(context.member_limits)
    trials = context.rule_trials()
    rules: dict[str, Estimate] = {}
    if "one_standard_error" in trials:
        floor = context.front._min_standard_error(context.column)
        rules["one_standard_error"] = bootstrap.estimate(bootstrap.one_standard_error(floor)[None])
    if "knee" in trials:
        others = np.delete(context.points.losses, context.column, axis=1)
        others = others[context.trials[positions]]
        knee = bootstrap.knee(others, constant=context.constant)
        rules["knee"] = bootstrap.estimate(knee[None])
    picks: dict[str, tuple[float, _Shift]] = {}
    spread = units._replace(sums=units.sums[chosen[:, 0]]).standard_errors
    pick_index = _honest_pick(context, members.shift, at(context.member_limits, spread))
    if pick_index is not None:
        shift = _Shift(members.shift[pick_index], members.standard_error[pick_index])
        picks["pick"] = (float(context.member_losses[pick_index]), shift)
    if "best" in trials:
        shift = _Shift(at_most.optimism[-1], at_most.standard_errors[-1])
        picks["best"] = (context.loss_of(trials["best"]), shift)
    for name, estimate in rules.items():
        shift = _Shift(estimate.optimism[0], estimate.standard_errors[0])
        picks[name] = (context.loss_of(trials[name]), shift)
    return _Values(
        source="bootstrap",
        members=members,
        curve=curve,
        picks=picks,
        n_units=len(units.weights),
        widening=_widening(1.0),
        bound=units.bound,
        pick_index=pick_index,
    )


def _honest_pick(context: _Context, shifts: Floats, standard_errors: Floats) -> int | None:
    """Return the sparsest trial of the front whose honest value is close to the lowest.

    Args:
        context: The front.
        shifts: Honest minus raw value of each trial of the front.
        standard_errors: Standard error of the mean loss of the best trial of that size. A value
            within one of the lowest is close.

    Returns:
        The position on the front, or None if no honest value is known.
    """
    values = context.member_losses + shifts
    rows = np.flatnonzero(~np.isnan(values))
    better = rows[context.member_losses[rows] < context.constant]
    rows = better if len(better) else rows
    rows = _nonempty(rows, context)
    if not len(rows):
        return None
    lowest = rows[values[rows].argmin()]
    spread = max(standard_errors[lowest], context.front._min_standard_error(context.column))
    if values[lowest] < context.constant:
        rows = rows[values[rows] < context.constant]
    rows = rows[values[rows] <= values[lowest] + spread]
    return int(rows[np.lexsort((values[rows], context.member_sizes[rows]))[0]])


def _nonempty(rows: Indices, context: _Context) -> Indices:
    """Leave out the empty set, unless it is the best or alone."""
    if not len(rows):
        return rows
    best = rows[
        np.lexsort((context.member_sizes[rows], round_off(context.member_losses[rows])))[0]
    ]
    return rows if context.member_sizes[best] == 0 else rows[context.member_sizes[rows] > 0]


# ---- holdout ------------------------------------------------------------------------------------


def _holdout_values(context: _Context) -> _Values | None:
    """Return honest values from the rows that the search did not use.

    Raw values choose every trial: if the held-out rows took part in a choice, their values for the
    chosen trial would be too good again.
    """
    points = context.points
    trials = context.rule_trials()
    if trials:
        trials["pick"] = trials.get("one_standard_error", trials["knee"])
    curve = [points.trials[row] for row in context.trials[context.best]]
    wanted = {trial.number: trial for trial in (*context.front, *curve, *trials.values())}
    listed = list(wanted.values())
    found = _read_units(context, listed, "holdout") if listed else None
    if found is None:
        return None
    means, standard_errors = found.units.means, found.units.standard_errors
    by_number = {
        listed[i].number: (mean - context.loss_of(listed[i]), error)
        for i, mean, error in zip(found.kept, means, standard_errors)
    }

    def shifts(some: Sequence[FrozenTrial]) -> _Shift:
        parts = [by_number.get(trial.number, (np.nan, np.nan)) for trial in some]
        return _Shift(*np.array(parts, dtype=np.float64).reshape(-1, 2).T)

    picks = {
        name: (context.loss_of(trial), _Shift(*by_number.get(trial.number, _UNKNOWN)))
        for name, trial in trials.items()
    }
    return _Values(
        source="holdout",
        members=shifts(context.front),
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


# ---- warning ------------------------------------------------------------------------------------


def _warning(context: _Context, found: _Values, picks: dict[str, HonestEstimate]) -> str | None:
    """Return a sentence if the front is not clearly better than a constant model."""
    if not len(context.front) or not len(context.errors):
        return None
    sign, name = context.sign, context.front.metric_names[context.column]
    side = "below" if sign > 0 else "above"
    reason = None
    constant = context.constant
    has_constant = bool(np.isfinite(constant))
    best = float(context.errors.min())
    known = [key for key in ("pick", "best") if key in picks and not np.isnan(picks[key].value)]
    if has_constant and known:
        strict = replace(context, confidence=max(context.confidence, _CLEAR))
        limits = {}
        for key in known:
            estimate = strict.estimate(*found.picks[key], found, measured=False)
            limits[key] = estimate.high if sign > 0 else -estimate.low
        chosen = min(limits, key=limits.__getitem__)
        if limits[chosen] >= constant:
            reason = (
                f"the honest {name} {picks[chosen]} is not clearly {side} that of the constant "
                f"model, {format_number(constant * sign)}"
            )
    elif has_constant and best >= constant * (1.0 - 1e-9 * np.sign(constant)):
        reason = (
            f"the best cross-validated {name} {format_number(best * sign)} is not {side} that of "
            f"the constant model, {format_number(constant * sign)}"
        )
    floor = context.front.baselines.noise_floor or NoiseFloor(0, (), ())
    # Held-out rows know better: on many columns, masks find as low an error in noise as in data.
    compares = reason is None and found.source != "holdout"
    if compares and not _beats(context, floor):
        reason = (
            f"the best cross-validated {name} {format_number(best * sign)} is not clearly {side} "
            f"what the same search finds on permuted labels, {format_number(floor.values[-1])}"
        )
    if reason is None:
        return None
    return f"Not clearly better than chance: {reason}.{_scorer_hint(context, found)}"


def _fold_standard_error(context: _Context, trial: FrozenTrial) -> float:
    """Return the standard error of a trial's mean over its folds, 0 if it is unknown."""
    folds = context.front._fold_values(trial, context.column)
    return 0.0 if folds is None else fold_standard_error(folds)


def _beats(context: _Context, floor: NoiseFloor) -> bool:
    """Return whether some size is better than on permuted labels by one standard error."""
    margin = context.front._min_standard_error(context.column)
    best = context.rule_trials()["best"]
    margin = max(margin, _fold_standard_error(context, best))
    raw = dict(zip(context.distinct_sizes, context.errors[context.best]))
    sizes = context.distinct_sizes
    for size, value in zip(floor.sizes, floor.values):
        below = sizes[sizes <= size]
        if len(below) and raw[below[-1]] < value * context.sign - margin:
            return True
    return not floor.sizes


def _scorer_hint(context: _Context, found: _Values) -> str:
    """Return a hint to other scorers if nearly all rows belong to one class."""
    description = StudyDescription.read(context.points.study)
    measures = () if description is None else description.measures
    name = context.points.measure_names[context.column]
    labels = [getattr(measure, "label", "") for measure in measures if measure.name == name]
    counts_errors = labels == ["1 - accuracy"] or (not any(labels) and found.bound == 1.0)
    if not counts_errors or not 0.0 < context.constant < _IMBALANCED:
        return ""
    return (
        f" One class has {1.0 - context.constant:.0%} of the rows, so the error says little about "
        "the others: try scoring='balanced_accuracy' or 'roc_auc'."
    )
