"""Where local searches begin: the user's low-cost point, a random one, and restarts around it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from optuna.distributions import BaseDistribution

from optuna_mofs._typing import Array
from optuna_mofs._validation import did_you_mean
from optuna_mofs.features._mask_sampling import (
    ensemble_start,
    geometric_start,
    prefix_start,
    simplex_weights,
)
from optuna_mofs.history._history import History
from optuna_mofs.samplers.operators.hypercube import latin_hypercube
from optuna_mofs.samplers.operators.places import Places
from optuna_mofs.samplers.operators.rows import reflect

#: Sets the generator of the design apart from those of trials.
_DESIGN = 2**31

_MASKS = (prefix_start, ensemble_start, geometric_start)


def checked_value(name: str, value: Any, distribution: BaseDistribution) -> Any:
    """A value of the user's point, if the parameter can have it."""
    if not distribution._contains(distribution.to_internal_repr(value)):
        raise ValueError(
            f"start gives {name!r} the value {value!r}, which {distribution} does not hold. "
            "Give one that it does."
        )
    return value


def check_start(start: Mapping[str, Any], space: Mapping[str, BaseDistribution]) -> None:
    """Refuse a point that names what is no parameter, or values that none can have.

    Args:
        start: The user's point.
        space: All parameters of the study.
    """
    for name, value in start.items():
        if name not in space:
            hint = did_you_mean(name, space)
            raise ValueError(f"start names {name!r}, which is no parameter of the study.{hint}")
        checked_value(name, value, space[name])


def first_row(rng: np.random.Generator, places: Places, start: Mapping[str, Any]) -> Array:
    """The user's point; parameters it does not name are random."""
    row = places.from_unit(rng.random(len(places.space)))
    given = places.space.encode({k: v for k, v in start.items() if k in places.space.names})
    return np.where(np.isnan(given), row, given)


def restart_row(
    rng: np.random.Generator,
    places: Places,
    start: Mapping[str, Any],
    unit: Array | None = None,
) -> Array:
    """A point drawn from N(x_0, I) around the user's point, folded into the space (line 11).

    Over a range of 1 that is all but uniform, which it is where there is no such point.

    Args:
        rng: Generator.
        places: The space.
        start: The user's point.
        unit: Points of the unit cube for the parameters that the user's point does not name,
            fractions of features from all of their range; by default one point is drawn.
    """
    wide = unit is not None
    unit = rng.random(len(places.space)) if unit is None else unit
    row = places.from_unit(unit, wide=wide)
    numbers = ~places.space.categorical
    given = places.space.encode({k: v for k, v in start.items() if k in places.space.names})
    near = reflect(given + rng.standard_normal(unit.shape))
    return np.where(numbers & ~np.isnan(given), near, row)


def design_row(
    seed: int, number: int, count: int, places: Places, start: Mapping[str, Any]
) -> Array:
    """A point of a Latin hypercube of ``count`` points that all trials of a study share."""
    rng = np.random.default_rng([seed, _DESIGN])
    rows = restart_row(rng, places, start, latin_hypercube(rng, count, len(places.space)))
    row: Array = rows[number % count]
    return row


def start_mask(rng: np.random.Generator, history: History, number: int) -> Array | None:
    """A first mask, by one of several recipes in turn."""
    table = history.table
    if table is None:
        return None
    recipe = _MASKS[number % len(_MASKS)]
    return recipe(rng, table, simplex_weights(rng, len(table.filters)))
