"""Spaces of hyperparameters as users write them: Optuna, SciPy, lists, lists of dicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)
from optuna.trial import Trial

#: Distribution of one parameter: of Optuna, frozen and of SciPy, or a sequence of values.
Values = Any
#: Hyperparameters to search.
Space = (
    Mapping[str, Values] | Sequence[Mapping[str, Values]] | Callable[[Trial], Mapping[str, Any]]
)
#: Quantiles that bound the range of a SciPy distribution other than uniform ones.
_TAIL = 0.005
#: A positive range is searched on a logarithmic scale if its ends differ by this factor.
_WIDE = 100.0
#: Fewer values than these are choices, even if they are integers in equal steps.
_MIN_STEPS = 3


class ParameterSpace(NamedTuple):
    """Distributions by parameter name, and the objects behind choices that no study can store.

    Attributes:
        distributions: Distribution of each parameter.
        objects: For parameters with such choices, the object behind each label.
    """

    distributions: dict[str, BaseDistribution]
    objects: dict[str, dict[str, Any]]

    def decode(self, name: str, value: Any) -> Any:
        """Return the value of the estimator's parameter for a value of the trial's."""
        labels = self.objects.get(name, {})
        return labels.get(value, value) if isinstance(value, str) else value

    def label(self, name: str, value: Any) -> Any:
        """Return the value of the trial's parameter for one of the estimator's."""
        return _label(value) if name in self.objects else value


def parameter_space(space: Mapping[str, Values]) -> ParameterSpace:
    """Convert distributions and lists to distributions of Optuna.

    Args:
        space: By parameter name: an Optuna distribution; a frozen SciPy distribution, of which
            the range is searched; or a sequence of values, as in
            scikit-learn. Values that a study cannot store, such as estimators, are represented by
            their names.

    Raises:
        ValueError: If something else is given.

    Example:
        >>> from scipy.stats import loguniform
        >>> found = parameter_space({"C": loguniform(0.1, 10), "n": range(1, 6), "k": ["a", "b"]})
        >>> found.distributions["C"]
        FloatDistribution(high=10.0, log=True, low=0.1, step=None)
        >>> found.distributions["n"]
        IntDistribution(high=5, log=False, low=1, step=1)
        >>> found.distributions["k"]
        CategoricalDistribution(choices=('a', 'b'))
    """
    distributions: dict[str, BaseDistribution] = {}
    objects: dict[str, dict[str, Any]] = {}
    for name, given in space.items():
        if isinstance(given, BaseDistribution):
            distributions[name] = given
        elif hasattr(given, "rvs"):
            distributions[name] = _of_scipy(name, given)
        elif (isinstance(given, Sequence) or hasattr(given, "tolist")) and not isinstance(
            given, str
        ):
            distributions[name], labels = _of_values(name, given)
            if labels:
                objects[name] = labels
        else:
            raise ValueError(
                f"space[{name!r}] must be an Optuna distribution such as FloatDistribution(0, 1), "
                f"a SciPy distribution such as loguniform(0.1, 10) or a list of values, "
                f"got {given!r}."
            )
    return ParameterSpace(distributions, objects)


# ---- SciPy --------------------------------------------------------------------------------------


def _of_scipy(name: str, given: Any) -> BaseDistribution:
    """Return the range of a frozen distribution, or raise if it has no quantiles."""
    kind = getattr(getattr(given, "dist", given), "name", "")
    try:
        ends = np.array([given.ppf(0.0), given.ppf(_TAIL), given.ppf(1.0 - _TAIL), given.ppf(1.0)])
        lowest, low, high, highest = map(float, ends)
        # Below the support of a discrete distribution, the quantile of 0 is one too low.
        is_discrete = hasattr(given, "pmf")
        lowest += float(is_discrete)
    except (AttributeError, TypeError, ValueError):
        raise ValueError(
            f"space[{name!r}] must be a frozen SciPy distribution of one number, got {given!r}. "
            "Pass its range as an Optuna distribution, such as FloatDistribution(0, 1)."
        ) from None
    if kind in ("uniform", "loguniform", "reciprocal", "randint"):
        low, high = lowest, highest
    if is_discrete:
        return IntDistribution(int(low), int(high), log=_is_wide(low, high))
    log = kind in ("loguniform", "reciprocal") or (kind != "uniform" and _is_wide(low, high))
    return FloatDistribution(low, high, log=log)


def _is_wide(low: float, high: float) -> bool:
    return low > 0.0 and low * _WIDE <= high


# ---- lists --------------------------------------------------------------------------------------


def _of_values(name: str, given: Any) -> tuple[BaseDistribution, dict[str, Any]]:
    """Return the distribution of a list of values, and the objects behind labels."""
    values = [v.item() if isinstance(v, np.generic) else v for v in given]
    if not values:
        raise ValueError(f"space[{name!r}] is an empty list. Pass at least one value.")
    step = _equal_step(values)
    if step is not None:
        return IntDistribution(min(values), max(values), step=step), {}
    objects: dict[str, Any] = {}
    choices: list[Any] = []
    for value in values:
        label = _label(value)
        if label is not value:
            if label in choices:  # two objects that look the same
                label = f"{label} ({len(choices)})"
            objects[label] = value
        if not any(label is c or (type(label) is type(c) and label == c) for c in choices):
            choices.append(label)
    return CategoricalDistribution(choices), objects


def _equal_step(values: Sequence[Any]) -> int | None:
    """Return the step of three or more integers in equal steps, else None."""
    if len(values) < _MIN_STEPS or any(type(v) is not int for v in values):
        return None
    ordered = sorted(values)
    steps = {b - a for a, b in pairwise(ordered)}
    return steps.pop() if len(steps) == 1 and 0 not in steps else None


def _label(value: Any) -> Any:
    """Return a value that a study can store, or else a name of it, the same in each process."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, list | tuple):
        return f"({', '.join(str(_label(v)) for v in value)})"
    if callable(value) and hasattr(value, "__qualname__"):
        return str(value.__qualname__)
    return " ".join(repr(value).split())
