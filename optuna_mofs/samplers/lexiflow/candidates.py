"""Many points at once for a model to choose from: steps from trials, and points anywhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.history._history import History
from optuna_mofs.samplers.lexiflow.directions import HARDLY, change_mask
from optuna_mofs.samplers.lexiflow.start import restart_row, start_mask
from optuna_mofs.samplers.operators.places import Places
from optuna_mofs.samplers.operators.rows import fill_missing

#: Share of candidates that are drawn anywhere in the space.
ANYWHERE = 0.25
#: Candidates for one that is drawn where there are masks, which take longer to change.
_DEARER = 4


@dataclass(frozen=True)
class Candidates:
    """Points, and where they come from.

    Args:
        places: Candidates × axes.
        rows: Candidates × parameters.
        masks: Candidates × free features, or None.
        bases: Position of the trial from which each steps, -1 for a point anywhere.
        steps: Step of each, for each axis.
    """

    places: Array
    rows: Array
    masks: Array | None
    bases: Array
    steps: Array


def draw_candidates(
    rng: np.random.Generator,
    history: History,
    places: Places,
    count: int,
    bases: Sequence[int],
    steps: Sequence[float],
    *,
    sparse: float,
    start: Mapping[str, Any],
) -> Candidates:
    """Steps from each of several trials with each of several lengths, and points anywhere.

    Args:
        rng: Generator.
        history: Finished trials.
        places: Their space.
        count: Number of candidates; fewer are drawn if there are masks.
        bases: Positions of trials in the history.
        steps: Steps for each axis.
        sparse: Probability that only some axes take part in a step.
        start: The user's point, around which points anywhere are drawn.
    """
    count = count if history.table is None else max(1, count // _DEARER)
    base = np.array(bases)[rng.integers(len(bases), size=count)]
    anywhere = rng.random(count) < ANYWHERE
    base[anywhere] = -1
    step = np.array(steps)[rng.integers(len(steps), size=count)]
    masks, moved = _masks(rng, history, base, step)
    along = random_directions(rng, count, places.dimension, sparse=sparse)
    along *= (step * moved)[:, None]
    found = np.empty((count, places.dimension))
    unit = rng.random((np.count_nonzero(anywhere), len(history.space)))
    found[anywhere] = places.place(restart_row(rng, places, start, unit))
    for i in np.unique(base[~anywhere]):
        row = fill_missing(rng, history.space, history.rows[i])
        here = places.remembered(row, history.notes[i].get("place"))
        found[base == i] = places.inside(here + along[base == i])
    return Candidates(found, places.row(found), masks, base, step)


def random_directions(
    rng: np.random.Generator, count: int, dimension: int, *, sparse: float
) -> Array:
    """Several directions as :func:`~optuna_mofs.samplers.lexiflow.directions.random_direction`."""
    part = rng.random((count, dimension)) < 0.5
    if dimension:
        part[np.arange(count), rng.integers(dimension, size=count)] = True
    part |= rng.random((count, 1)) >= sparse
    weight = np.where(part, 1.0, HARDLY)
    weight *= np.sqrt(dimension / np.maximum(1e-9, (weight**2).sum(axis=1, keepdims=True)))
    directions: Array = weight * rng.standard_normal((count, dimension))
    return directions


def _masks(
    rng: np.random.Generator, history: History, base: Array, step: Array
) -> tuple[Array | None, Array]:
    """Changed masks if there are any, and how much the hyperparameters move beside them."""
    moved = np.ones(len(base))
    if history.table is None:
        return None, moved
    masks = np.empty((len(base), len(history.table.free)), dtype=bool)
    for k, i in enumerate(base.tolist()):
        if i < 0:
            masks[k] = start_mask(rng, history, int(rng.integers(2**16)))
        else:
            masks[k], moved[k] = change_mask(rng, history, i, sign=1, step=float(step[k]))
    return masks, moved
