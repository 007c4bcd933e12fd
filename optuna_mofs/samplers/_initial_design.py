"""The first trials: Latin hypercubes, thinned designs, and masks by several recipes in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import MaskSampler, get_mask_sampler
from optuna_mofs.features._representation import weights_from_raw
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal
from optuna_mofs.study._trial_note import TrialNote


@dataclass(frozen=True)
class RandomDesign:
    """Random hyperparameters, and masks from several mask samplers in turn.

    Args:
        mask_samplers: Names (``"ensemble"``, ``"prefix"``, ``"geometric"``, ``"wide"``,
            ``"uniform"``, ``"bernoulli"``) or functions of (generator, feature table, filter
            weights). Trial ``n`` takes the one at position ``n`` modulo their number.
    """

    mask_samplers: Sequence[str | MaskSampler] = ("ensemble", "prefix", "geometric", "wide")

    def __post_init__(self) -> None:
        for sampler in self.mask_samplers:
            get_mask_sampler(sampler)

    def __call__(self, rng: np.random.Generator, history: History, number: int) -> Proposal:
        """Return the configuration of a trial."""
        row = history.space.sample(rng)[0]
        if history.table is None:
            return Proposal(row)
        sampler = self.mask_samplers[number % len(self.mask_samplers)]
        raw = rng.random(len(history.table.filters))
        mask = get_mask_sampler(sampler)(rng, history.table, weights_from_raw(raw))
        return Proposal(row, mask, TrialNote(initial_operator(sampler), (), tuple(raw.tolist())))


def initial_operator(sampler: str | MaskSampler) -> str:
    """Return the operator name of trials whose mask comes from a mask sampler.

    Example:
        >>> initial_operator("ensemble")
        'initial_ensemble'
    """
    name = sampler if isinstance(sampler, str) else getattr(sampler, "__name__", "mask")
    return f"initial_{name}"


def latin_hypercube(rng: np.random.Generator, count: int, d: int) -> Array:
    """Points of the unit cube, one in each of ``count`` slices of every axis.

    Example:
        >>> design = latin_hypercube(np.random.default_rng(0), 4, 2)
        >>> sorted(np.floor(design[:, 1] * 4).astype(int).tolist())
        [0, 1, 2, 3]
    """
    slices = np.argsort(rng.random((count, d)), axis=0)
    cube: Array = (slices + rng.random((count, d))) / max(1, count)
    return cube


#: Points of the random design for each point that stays.
OVERSAMPLE = 10
#: More random points than this are not worth their distances.
_MOST = 600


def gower_distances(rows: Array, categorical: Array) -> Array:
    """Gower's distance of all pairs of rows (Gower 1971).

    Numbers in [0, 1] differ by their distance, categories by 0 or 1, and a parameter that only one
    of the two has by 1. One that neither has says nothing and is left out of the mean.

    Args:
        rows: Encoded by :class:`~optuna_mofs.history._search_space.SearchSpace`, NaN where inactive.
        categorical: Which columns hold categories.
    """
    count = len(rows)
    total, weight = np.zeros((count, count)), np.zeros((count, count))
    for column, nominal in zip(rows.T, categorical):
        absent = np.isnan(column)
        value = np.where(absent, 0.0, column)
        apart = np.abs(value[:, None] - value)
        if nominal:
            apart = (apart > 0).astype(float)
        one, both = absent[:, None] ^ absent, absent[:, None] & absent
        total += np.where(one, 1.0, apart)
        weight += ~both
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)


def thin(rng: np.random.Generator, distances: Array, keep: int) -> Array:
    """Positions that stay when one of the two closest points is dropped again and again.

    Args:
        rng: Decides which of the two goes.
        distances: Of all pairs.
        keep: How many shall stay.
    """
    count = len(distances)
    apart = distances.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = apart.argmin(axis=1)
    gap = apart[np.arange(count), nearest]
    alive = np.ones(count, dtype=bool)
    coins = rng.random(count) < 0.5
    for step in range(count - max(1, keep)):
        i = int(gap.argmin())
        gone = int(nearest[i]) if coins[step] else i
        alive[gone] = False
        gap[gone] = np.inf
        apart[:, gone] = np.inf
        # Only those whose nearest point went have to look for another.
        for j in np.flatnonzero(alive & (nearest == gone)):
            nearest[j] = apart[j].argmin()
            gap[j] = apart[j, nearest[j]]
    return np.flatnonzero(alive)


def thinned_design(
    rng: np.random.Generator,
    sample: Callable[[np.random.Generator, int], Array],
    categorical: Array,
    count: int,
) -> Array:
    """A random design of ten times as many points, thinned, in random order.

    Args:
        rng: Generator.
        sample: Draws random rows, with NaN for inactive parameters.
        categorical: Which columns hold categories.
        count: Number of points.
    """
    rows = sample(rng, max(count, min(OVERSAMPLE * count, _MOST)))
    kept = thin(rng, gower_distances(rows, categorical), count)
    design: Array = rows[rng.permutation(kept)]
    return design


def sequence(number: int, offset: float) -> float:
    """The same kind of sequence in [0, 1)."""
    return float((offset + number * _steps(1)[0]) % 1.0)


def _steps(d: int) -> Array:
    ratio = 2.0
    for _ in range(30):  # the root of x^(d+1) = x + 1
        ratio = (1 + ratio) ** (1 / (d + 1))
    steps: Array = ratio ** -np.arange(1.0, d + 1)
    return steps
