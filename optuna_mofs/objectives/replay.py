"""Stand-ins for a running trial, to ask a space that is a function of the trial."""

from __future__ import annotations

from typing import Any

from optuna.distributions import BaseDistribution, CategoricalDistribution
from optuna.trial import FixedTrial, FrozenTrial


class ReplayTrial(FixedTrial):
    """Suggests again what a finished trial was suggested.

    Unlike its base it knows choices by their position, since a storage may give them back as
    another type (tuples as lists).
    """

    def __init__(self, trial: FrozenTrial) -> None:
        super().__init__(trial.params, number=trial.number)
        self._known = trial

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if name not in self._known.params:
            raise ValueError(
                f"Trial {self._known.number} has no parameter {name!r}: it has "
                f"{sorted(self._known.params)}. Was it made by another space?"
            )
        return replayed(self._known, name, distribution)


class ProbeTrial(FixedTrial):
    """Suggests the first value of every parameter, to try a space before any trial."""

    def __init__(self) -> None:
        super().__init__({})

    def _suggest(self, name: str, distribution: BaseDistribution) -> Any:
        if isinstance(distribution, CategoricalDistribution):
            value = distribution.choices[0]
        else:
            value = distribution.low  # type: ignore[attr-defined]
        self._suggested_params[name] = value
        self._distributions[name] = distribution
        return value


def replayed(trial: FrozenTrial, name: str, distribution: BaseDistribution) -> Any:
    """A parameter of a finished trial as a distribution of today gives it."""
    value = trial.params[name]
    if isinstance(distribution, CategoricalDistribution):
        return distribution.choices[int(trial.distributions[name].to_internal_repr(value))]
    return value
