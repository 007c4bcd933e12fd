"""Initial designs: random masks, Latin hypercubes, thinned designs, low-discrepancy sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    MaskSampler,
    get_mask_sampler,
    simplex_weights,
    weights_from_raw,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal, ProposalContext
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
    """Return the operator name of trials whose mask comes from a mask sampler."""
    name = sampler if isinstance(sampler, str) else getattr(sampler, "__name__", "mask")
    return f"initial_{name}"


def sample_mask(
    rng: np.random.Generator, table: FeatureTable | None, samplers: Sequence[str], number: int
) -> Array | None:
    """Return a mask from one of several mask samplers in turn, None in a study without masks."""
    if table is None:
        return None
    sampler = get_mask_sampler(samplers[number % len(samplers)])
    return sampler(rng, table, simplex_weights(rng, len(table.filters)))


def design_row(
    ctx: ProposalContext,
    number: int,
    stream: int,
    make: Callable[[np.random.Generator], Array],
    key: str = "",
) -> Array | None:
    """Return a row of the design that all trials of a study share.

    Args:
        ctx: The context of the proposal.
        number: Number of the row.
        stream: Stream of the design's generator.
        make: Function of the generator that returns the design.
        key: Other inputs of the design besides the distributions of the parameters.

    Returns:
        The row, or None if the design has fewer rows or, in a study without masks, if a trial
        has this row already.
    """
    history = ctx.history
    key = f"design {history.space.distributions!r} {key}"
    rows = ctx.study_cache(key, lambda: make(ctx.study_rng(stream)))
    if number >= len(rows) or (history.table is None and history.contains(rows[number])):
        return None
    row: Array = rows[number]
    return row


def latin_hypercube(rng: np.random.Generator, count: int, d: int) -> Array:
    """Return points of the unit cube, one in each of ``count`` slices of every axis.

    Example:
        >>> design = latin_hypercube(np.random.default_rng(0), 4, 2)
        >>> sorted(np.floor(design[:, 1] * 4).astype(int).tolist())
        [0, 1, 2, 3]
    """
    slices = np.argsort(rng.random((count, d)), axis=0)
    cube: Array = (slices + rng.random((count, d))) / max(1, count)
    return cube


def gower_distances(rows: Array, categorical: Array) -> Array:
    """Return Gower's distances of all pairs of rows (Gower 1971).

    Numbers in [0, 1] differ by their distance, categories by 0 or 1, and a parameter that is
    active in only one of the two rows by 1. A parameter that is inactive in both is left out of
    the mean.
    """
    count = len(rows)
    total, weight = np.zeros((count, count)), np.zeros((count, count))
    for column, nominal in zip(rows.T, categorical):
        inactive = np.isnan(column)
        value = np.where(inactive, 0.0, column)
        distance = np.abs(value[:, None] - value)
        if nominal:
            distance = (distance > 0).astype(float)
        in_one, in_both = inactive[:, None] ^ inactive, inactive[:, None] & inactive
        total += np.where(in_one, 1.0, distance)
        weight += ~in_both
    return np.divide(total, weight, out=np.zeros_like(total), where=weight > 0)


def thin(rng: np.random.Generator, distances: Array, keep: int) -> Array:
    """Return the positions that remain after one of the two closest points is dropped repeatedly.

    The generator decides which of the two is dropped.
    """
    count = len(distances)
    distances = distances.copy()
    np.fill_diagonal(distances, np.inf)
    nearest = distances.argmin(axis=1)
    gap = distances[np.arange(count), nearest]
    remains = np.ones(count, dtype=bool)
    coins = rng.random(count) < 0.5
    for step in range(count - max(1, keep)):
        i = int(gap.argmin())
        dropped = int(nearest[i]) if coins[step] else i
        remains[dropped] = False
        gap[dropped] = np.inf
        distances[:, dropped] = np.inf
        # Only points whose nearest point was dropped need another one.
        for j in np.flatnonzero(remains & (nearest == dropped)):
            nearest[j] = distances[j].argmin()
            gap[j] = distances[j, nearest[j]]
    return np.flatnonzero(remains)


def thinned_design(
    rng: np.random.Generator,
    sample: Callable[[np.random.Generator, int], Array],
    categorical: Array,
    count: int,
) -> Array:
    """Return ``count`` rows of a random design of ten times as many, thinned, in random order."""
    # At most 600 points, because all their distances are computed.
    rows = sample(rng, max(count, min(10 * count, 600)))
    remaining = thin(rng, gower_distances(rows, categorical), count)
    design: Array = rows[rng.permutation(remaining)]
    return design


def sequence(number: int, offset: float) -> float:
    """Return an element of a low-discrepancy sequence in [0, 1), see :func:`recurrence_steps`."""
    return float((offset + number * recurrence_steps(1)[0]) % 1.0)


def recurrence_steps(d: int) -> Array:
    """Return the step per axis of an additive recurrence, which covers the unit cube evenly.

    The points ``(offset + n * steps) % 1`` of all ``n`` are a low-discrepancy sequence that
    generalizes the golden ratio to ``d`` dimensions (Roberts 2018).

    Example:
        >>> recurrence_steps(1).round(3).tolist()
        [0.618]
    """
    ratio = 2.0
    for _ in range(30):  # the root of x^(d+1) = x + 1
        ratio = (1 + ratio) ** (1 / (d + 1))
    steps: Array = ratio ** -np.arange(1.0, d + 1)
    return steps
