"""Values of a trial by fold, and the estimate for a trial that was stopped after some folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import frozen_attr

_KEY = "race"
_FOLD_SCORES = "fold_scores"


@dataclass(frozen=True)
class PartialEstimate:
    """Estimate of the values of a stopped trial, and the trial that stopped it.

    Args:
        values: Estimate of each value after all folds.
        folds: The folds that were fitted.
        rival: Number of the trial that dominates, or None if a pruner of Optuna decided.
        bound: Lower confidence bound of the difference to the rival.
        variances: Variance of each value around what all folds would give; 0 where it is known.
        n_rows: Training rows, if only a part of a fold was fitted.
    """

    values: tuple[float, ...]
    folds: tuple[int, ...]
    rival: int | None = None
    bound: float = 0.0
    n_rows: int | None = None
    variances: tuple[float, ...] = ()

    def to_attr(self) -> dict[str, Any]:
        """Return the system attribute of a trial."""
        data = asdict(self)
        return {_KEY: {k: list(v) if isinstance(v, tuple) else v for k, v in data.items()}}

    def user_attrs(self) -> dict[str, Any]:
        """Return the user attributes of a trial."""
        found: dict[str, Any] = {"n_folds": len(self.folds)}
        if self.n_rows is not None:
            found["n_rows"] = self.n_rows
        return found if self.rival is None else {**found, "stopped_by": self.rival}


def partial_estimate(trial: FrozenTrial) -> PartialEstimate | None:
    """Return the estimate of a trial that was stopped, or None."""
    found = frozen_attr(trial, _KEY)
    if found is None or trial.state != TrialState.PRUNED:
        return None
    data: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in found.items()}
    return PartialEstimate(**data)


def measured_values(trial: FrozenTrial) -> tuple[Sequence[float], Sequence[float]] | None:
    """Return values and variances of a trial; None if it is neither completed nor stopped.

    The values of a completed trial count as exact. A stopped trial has its estimate.
    """
    if trial.state == TrialState.COMPLETE:
        return trial.values, [0.0] * len(trial.values)
    found = partial_estimate(trial)
    if found is None:
        return None
    return found.values, found.variances or [0.0] * len(found.values)


def fold_scores(trial: FrozenTrial) -> dict[str, list[float]]:
    """Return the values of a trial per fold, by measure; an empty dict if there are none.

    An objective function of your own stores them in the user attribute ``fold_scores``.

    Example:
        >>> import optuna
        >>> scores = {"error": [0.25, 0.5]}
        >>> trial = optuna.trial.create_trial(value=0.375, user_attrs={"fold_scores": scores})
        >>> fold_scores(trial)
        {'error': [0.25, 0.5]}
    """
    stored = frozen_attr(trial, _FOLD_SCORES)
    if stored is None:
        stored = trial.user_attrs.get("fold_scores")
    if not isinstance(stored, dict):  # something else has written an attribute of this name
        return {}
    return {name: scores for name, scores in stored.items() if _are_numbers(scores)}


def fold_scores_attr(scores: Mapping[str, Sequence[float]]) -> dict[str, Any]:
    """Return the system attribute of a trial.

    As a user attribute, a list per measure would make the rows of the dashboard's table tall.
    """
    return {_FOLD_SCORES: dict(scores)} if scores else {}


def _are_numbers(scores: Any) -> bool:
    return isinstance(scores, list) and all(isinstance(score, int | float) for score in scores)
