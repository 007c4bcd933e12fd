"""Warnings about a front: hardly better than chance, or a feature that leaks the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from optuna_mofs._format import format_number
from optuna_mofs.fronts._candidates import FrontCandidates
from optuna_mofs.fronts._picks import fold_standard_error
from optuna_mofs.study._baselines import NoiseFloor
from optuna_mofs.study._description import StudyDescription
from optuna_mofs.study._feature_sets import selected_features

if TYPE_CHECKING:
    from optuna_mofs.fronts._front import Front
    from optuna_mofs.fronts._honest_front import HonestEstimate, SourceValues

#: Confidence of the interval that must exclude the constant model. It is strict, because a search
#: that adapts to the rows has some luck that the bootstrap cannot see.
_CLEAR = 0.99
#: If the constant model's error is lower, a low error says little about the rarer class.
_IMBALANCED = 0.1
#: A single feature with less than this share of the constant model's error may be a leak.
_LEAK = 0.02


def chance_warning(
    candidates: FrontCandidates,
    values: SourceValues,
    picks: Mapping[str, HonestEstimate],
    *,
    confidence: float,
) -> str | None:
    """Return a sentence if the front is not clearly better than a constant model, or None.

    Args:
        candidates: The front.
        values: Its honest values.
        picks: The honest values of the picks as they are shown.
        confidence: Confidence of the intervals that are shown.
    """
    if not len(candidates.front) or not len(candidates.errors):
        return None
    reason = _compared_with_constant(candidates, values, picks, max(confidence, _CLEAR))
    # Held-out rows are the better evidence: with many columns, masks fit noise as well as data.
    if reason is None and values.source != "holdout":
        reason = _compared_with_noise(candidates)
    if reason is None:
        return None
    return f"Not clearly better than chance: {reason}.{_scorer_hint(candidates, values)}"


def _side(candidates: FrontCandidates) -> str:
    return "below" if candidates.sign > 0 else "above"


def _best_raw(candidates: FrontCandidates) -> str:
    value = format_number(float(candidates.errors.min()) * candidates.sign)
    return f"the best cross-validated {candidates.metric_name} {value}"


def _compared_with_constant(
    candidates: FrontCandidates,
    values: SourceValues,
    picks: Mapping[str, HonestEstimate],
    confidence: float,
) -> str | None:
    constant, side = candidates.constant, _side(candidates)
    if not np.isfinite(constant):
        return None
    shown = format_number(constant * candidates.sign)
    highs = {
        name: float(values.limits(*values.picks[name], confidence, measured=False).high[0])
        for name in ("pick", "best")
        if name in picks and not np.isnan(picks[name].value)
    }
    if highs:
        if min(highs.values()) < constant:
            return None
        # Show the default pick, like everything else, if its value is known.
        return (
            f"the honest {candidates.metric_name} {picks[next(iter(highs))]} is not clearly "
            f"{side} that of the constant model, {shown}"
        )
    if candidates.errors.min() < constant * (1.0 - 1e-9 * np.sign(constant)):
        return None
    return f"{_best_raw(candidates)} is not {side} that of the constant model, {shown}"


def _compared_with_noise(candidates: FrontCandidates) -> str | None:
    floor = candidates.front.baselines.noise_floor
    if floor is None or not floor.sizes or _beats(candidates, floor):
        return None
    return (
        f"{_best_raw(candidates)} is not clearly {_side(candidates)} what the same search finds "
        f"on permuted labels, {format_number(floor.values[-1])}"
    )


def _beats(candidates: FrontCandidates, floor: NoiseFloor) -> bool:
    """Return whether any size beats the permuted labels by one standard error."""
    best = candidates.rule_trials()["best"]
    folds = candidates.front._fold_values(best, candidates.column)
    margin = 0.0 if folds is None else fold_standard_error(folds)
    margin = max(margin, candidates.min_standard_error)
    sizes, raw = candidates.distinct_sizes, candidates.errors[candidates.best]
    index = np.searchsorted(sizes, floor.sizes, side="right") - 1
    limits = np.array(floor.values) * candidates.sign - margin
    return bool(((index >= 0) & (raw[index] < limits)).any())


def _scorer_hint(candidates: FrontCandidates, values: SourceValues) -> str:
    """Return a hint at other scorers if nearly all rows belong to one class."""
    description = StudyDescription.read(candidates.points.study)
    measures = () if description is None else description.measures
    name = candidates.points.measure_names[candidates.column]
    labels = [getattr(measure, "label", "") for measure in measures if measure.name == name]
    counts_errors = labels == ["1 - accuracy"] or (not any(labels) and values.bound == 1.0)
    if not counts_errors or not 0.0 < candidates.constant < _IMBALANCED:
        return ""
    return (
        f" One class has {1.0 - candidates.constant:.0%} of the rows, so the error says little "
        "about the others: try scoring='balanced_accuracy' or 'roc_auc'."
    )


def leak_hint(front: Front) -> tuple[str, str] | None:
    """Return the name of a feature that is nearly perfect on its own, with a sentence about it.

    Such a feature is often known only after the target, or computed from it.

    Args:
        front: The front of a study of this package.

    Returns:
        None if there is no such feature.
    """
    constant = front.baselines.constant
    for trial, values in zip(front, front.values):
        names = selected_features(front.study, trial) or []
        if len(names) == 1 and constant is not None and values[0] <= _LEAK * constant[0]:
            return names[0], (
                f"{names[0]!r} alone is nearly perfect ({front.metric_names[0]} "
                f"{format_number(values[0])}). Is it known only after the target? Then leave it "
                "out"
            )
    return None
