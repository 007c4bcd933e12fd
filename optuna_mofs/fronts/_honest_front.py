"""Honest values of a front: what to expect on new rows, beside the cross-validated values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import numpy as np

from optuna_mofs.fronts._candidates import Candidates
from optuna_mofs.fronts._chance import chance_warning
from optuna_mofs.fronts._honest_sources import Limits, find_values
from optuna_mofs.study._baselines import Baselines

if TYPE_CHECKING:
    import pandas as pd

    from optuna_mofs.fronts._front import Front


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

    candidates = Candidates.of(front)
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


def _estimates(limits: Limits, candidates: Candidates) -> list[HonestEstimate]:
    """Return estimates in the direction of the metric."""
    value, low, high = limits
    if candidates.sign < 0:
        value, low, high = -value, -high, -low
    return [HonestEstimate(*row) for row in np.column_stack([value, low, high]).tolist()]
