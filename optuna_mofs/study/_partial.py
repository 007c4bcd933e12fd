"""What is known of a trial that was stopped after some of its folds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from optuna.trial import FrozenTrial, TrialState

from optuna_mofs._optuna import frozen_attr

_KEY = "race"


@dataclass(frozen=True)
class PartialEstimate:
    """The values that a stopped trial would have had, and what they were compared with.

    Args:
        values: Estimate of each value: that of the rival plus the mean difference on the same
            folds, because folds differ more than trials do.
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


def measured_values(trial: FrozenTrial) -> Sequence[float] | None:
    """Return the values of a completed trial, the estimate of a stopped one, else None."""
    if trial.state == TrialState.COMPLETE:
        return list(trial.values)
    found = partial_estimate(trial)
    return None if found is None else found.values


def value_variances(trial: FrozenTrial, n_values: int) -> Sequence[float]:
    """Return the variance of each of the :func:`measured_values`, 0 for a completed trial."""
    found = partial_estimate(trial)
    return [0.0] * n_values if found is None or not found.variances else found.variances
