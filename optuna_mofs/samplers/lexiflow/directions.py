"""Random directions, and the two points they lead to (line 4 to 6 of Algorithm 1)."""

from __future__ import annotations

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import cheap_first, simplex_weights
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History

#: What is left of the movement of an axis that does not take part: no value is tried twice.
HARDLY = 0.05


def random_direction(
    rng: np.random.Generator, dimension: int, *, sparse: float = 0.0, sphere: bool = False
) -> Array:
    """A direction uniform on the sphere; the square of its length is ``dimension`` on average.

    One length for all directions would leave just two points to try where there is one axis.

    Args:
        rng: Generator.
        dimension: Number of axes.
        sparse: Probability that only some axes take part (each with probability 1/2, at least
            one) and the others hardly move: of many parameters a few matter, and moving all of
            them at once hides which.
        sphere: Whether the length is always that of the average.
    """
    u = rng.standard_normal(dimension)
    part = rng.random(dimension) < 0.5
    forced = int(rng.integers(max(1, dimension)))
    if rng.random() < sparse and dimension:
        part[forced] = True
        u = np.where(part, u, HARDLY * u)
        u *= np.sqrt(dimension / np.sum(np.where(part, 1.0, HARDLY**2)))
    return u * np.sqrt(dimension / np.sum(u**2)) if sphere and dimension else u


def flip_near_boundary(
    rng: np.random.Generator, mask: Array, table: FeatureTable, *, sign: int, step: float
) -> Array:
    """Flip a few bits near the boundary that the filters draw.

    A direction is a list of features in random order, the near ones first, and two numbers: how
    many are dropped and how many are added. The opposite direction drops as many as this one
    adds, adds as many as it drops, and takes the features that come next in the list. How many
    bits a step flips is in proportion to the size of the mask.

    Args:
        rng: Generator, the same for a direction and its opposite.
        mask: Over the free features.
        table: The features.
        sign: 1 for the direction, -1 for the opposite.
        step: Step size as a share of the mask's size.
    """
    p, size = len(mask), int(np.count_nonzero(mask))
    weights = simplex_weights(rng, len(table.filters))
    score = np.full(p, 0.5) if table.free_ranks is None else weights @ table.free_ranks
    score = cheap_first(score, table.free_costs)
    place = np.empty(p)
    place[np.argsort(-score, kind="stable")] = np.arange(p)
    # Depth: how far a feature is from the boundary, on the side where it is or beyond.
    depth = np.where(mask, size - place, place - size + 1)
    pull = 1.0 / (np.maximum(depth, 1.0) + 1.0)
    keys = np.argsort(rng.exponential(size=p) / pull, kind="stable")
    amount = 1 + int(step * abs(rng.standard_normal()) * max(1, size))
    lean = int(rng.binomial(amount, rng.random()))
    counts = (lean, amount - lean)
    drop, add = counts[::sign]
    skip_drop, skip_add = (0, 0) if sign > 0 else counts
    changed = mask.copy()
    inside, outside = keys[mask[keys]], keys[~mask[keys]]
    # A mask is not emptied: a model without features has nothing to say.
    drop = min(drop, max(0, size - 1 + min(add, len(outside))))
    changed[_next(inside, skip_drop, drop)] = False
    changed[_next(outside, skip_add, add)] = True
    return changed


def change_mask(
    rng: np.random.Generator, history: History, i: int, *, sign: int, step: float
) -> tuple[Array, float]:
    """The mask of the i-th trial changed, and how much the hyperparameters move beside it.

    A third of the directions moves the mask, a third the hyperparameters, a third both.
    """
    assert history.table is not None
    mask = history.mask(i)
    part = rng.random()
    if part < 1 / 3 and len(history.space):
        return mask, 1.0
    flipped = flip_near_boundary(rng, mask, history.table, sign=sign, step=step)
    return flipped, 1.0 if part < 2 / 3 else 0.0


def _next(keys: Array, skip: int, count: int) -> Array:
    """``count`` entries after the first ``skip``, from the start again at the end."""
    return keys[(skip + np.arange(min(count, len(keys)))) % max(1, len(keys))]
