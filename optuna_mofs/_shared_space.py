"""A space whose parameters are positions that several learners share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial


@dataclass(frozen=True)
class SharedSpace:
    """The ranges of one learner, as positions in [0, 1] that all learners of a study have.

    Rosales-Pérez et al. (2014), equation 12: the first position is the first parameter of the
    learner that is chosen, and so on. A learner with fewer parameters ignores the last positions.

    Args:
        distributions: Distributions by parameter name.
        n_positions: Number of positions, that of the learner with the most parameters.

    Example:
        >>> import optuna
        >>> space = SharedSpace({"depth": IntDistribution(1, 5)}, n_positions=2)
        >>> space(optuna.trial.FixedTrial({"shared_1": 0.5, "shared_2": 0.1}))
        {'depth': 3}
    """

    distributions: Mapping[str, BaseDistribution]
    n_positions: int

    def __call__(self, trial: Trial) -> dict[str, Any]:
        """Suggest all positions, and return the values of the learner's own parameters."""
        positions = [
            trial.suggest_float(f"shared_{k + 1}", 0.0, 1.0) for k in range(self.n_positions)
        ]
        return {
            name: value_at(distribution, position)
            for (name, distribution), position in zip(self.distributions.items(), positions)
        }


def value_at(distribution: BaseDistribution, position: float) -> Any:
    """Return the value at a position in [0, 1] of a range, the nearest one of integers.

    Example:
        >>> value_at(FloatDistribution(1, 100, log=True), 0.5)
        10.0
    """
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[round(position * (len(distribution.choices) - 1))]
    assert isinstance(distribution, FloatDistribution | IntDistribution)
    low, high = distribution.low, distribution.high
    value = low + position * (high - low)
    if distribution.log:
        value = low * (high / low) ** position
    if isinstance(distribution, IntDistribution):
        return min(max(round(value), low), high)
    return min(max(value, low), high)
