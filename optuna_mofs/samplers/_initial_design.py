"""Initial designs: random masks, Latin hypercubes, thinned designs, low-discrepancy sequences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.spatial.distance import pdist

from optuna_mofs._typing import Array
from optuna_mofs.features._mask_sampling import (
    MaskSampler,
    cost_adjusted,
    get_mask_sampler,
    simplex_weights,
    weights_from_raw,
)
from optuna_mofs.features._redundancy import BatchSelection, selection_order
from optuna_mofs.features._representation import (
    FRACTION,
    FilterEnsembleFeatures,
    FilterFeatures,
    weight_parameter,
)
from optuna_mofs.features._table import FeatureTable
from optuna_mofs.history._history import History
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._row_operators import reflect
from optuna_mofs.study._description import PER_FEATURE
from optuna_mofs.study._trial_note import TrialNote

#: Standard deviation of a start near the defaults, in units of the range.
_NEAR = 0.1


@dataclass(frozen=True)
class RandomDesign:
    """Feature sets of all sizes, hyperparameters at random or near the defaults.

    Two of three trials are near the estimator's own hyperparameters. The numbers of features of
    consecutive trials cover the logarithmic scale evenly. Masks are the best features by random
    filter weights, with a penalty for similar ones. Every second rule follows one filter alone,
    each of them in turn: often one is far better than a mixture of all.

    Args:
        mask_samplers: Other masks: names (``"ensemble"``, ``"prefix"``, ``"geometric"``,
            ``"wide"``, ``"uniform"``, ``"bernoulli"``) or functions of (generator, feature table,
            filter weights). Trial ``n`` takes the one at position ``n`` modulo their number.
        single_filters: Whether every second rule follows one filter.
        plain: Whether all hyperparameters are random, and the numbers of features of rules too.
        constant_filter: Whether a filter that ranks all features equally takes part.
    """

    mask_samplers: Sequence[str | MaskSampler] | None = None
    plain: bool = False
    single_filters: bool = True
    constant_filter: bool = False

    def __post_init__(self) -> None:
        for sampler in self.mask_samplers or ():
            get_mask_sampler(sampler)

    def __call__(
        self, rng: np.random.Generator, history: History, number: int, row: Array | None = None
    ) -> Proposal:
        """Return the configuration of a trial.

        Args:
            rng: Generator.
            history: The completed trials.
            number: Number of the trial.
            row: Hyperparameters of the trials that are not near the defaults; random if None.
        """
        drawn, table = history.space.sample(rng)[0], history.table
        row = drawn if row is None else row
        if table is None:
            if not self.plain:
                row = spread_size(row, history, number)
                if self.single_filters:
                    row = single_filter(row, history, number)
                row = near_defaults(rng, history, row, rule_size(history, row), number)
            return Proposal(row)
        table = table.with_constant_filter if self.constant_filter else table
        raw, operator = rng.random(len(table.filters)), initial_operator("spread")
        if self.mask_samplers:
            chosen = self.mask_samplers[number % len(self.mask_samplers)]
            mask = get_mask_sampler(chosen)(rng, table, weights_from_raw(raw))
            operator = initial_operator(chosen)
        else:
            raw **= 3  # often one or two filters have nearly all of the weight
            mask = spread_mask(rng, table, weights_from_raw(raw), number)
        if not self.plain:
            row = near_defaults(rng, history, row, int(np.count_nonzero(mask)), number)
        return Proposal(row, mask, TrialNote(operator, (), tuple(raw.tolist())))


def spread_size(row: Array, history: History, number: int) -> Array:
    """Return the row of trial ``number`` of a design, with a fraction of features from a sequence.

    The fractions of consecutive trials cover the logarithmic scale evenly, without exceptions. The
    second trial of a study with several objectives has no features, which is an end of the front
    of error and size.
    """
    described, space = history.described, history.space
    if described is None or FRACTION not in described.rule_parameters or not len(space):
        return row
    assert described.features is not None
    one_feature = space.encode({FRACTION: 1 / max(1, len(described.features.free))})
    spread = one_feature + (1 - one_feature) * sequence(number, 0.5)
    if number == 1 and len(described.measures) > 1:
        spread *= 0.0
    chosen = described.representation
    names = chosen.exception_parameters if isinstance(chosen, FilterFeatures) else ()
    spread = np.where(np.isin(space.names, names), space.encode(dict.fromkeys(names, 0)), spread)
    return np.where(np.isnan(spread), row, spread)


def single_filter(row: Array, history: History, number: int) -> Array:
    """Return the row of trial ``number`` of a design: every second rule follows one filter."""
    described, space = history.described, history.space
    chosen = None if described is None else described.representation
    if not isinstance(chosen, FilterEnsembleFeatures) or number % 2:
        return row
    names = [weight_parameter(name) for name in chosen.table.filters]
    if not set(names) <= set(space.names):
        return row
    one = names[number // 2 % len(names)]
    weights = space.encode({name: float(name == one) for name in names})
    return np.where(np.isnan(weights), row, weights)


def rule_size(history: History, row: Array) -> int:
    """Return the number of free features of a row; 0 without a rule or without its fraction."""
    described = history.described
    chosen = None if described is None else described.representation
    params = history.space.decode(row)
    if not isinstance(chosen, FilterFeatures) or FRACTION not in params:
        return 0
    return int(chosen.sizes(params))


def near_defaults(
    rng: np.random.Generator, history: History, row: Array, size: int, number: int
) -> Array:
    """Return the row of trial ``number`` of a design, near the estimator's own hyperparameters.

    The defaults of an estimator are the experience of its users; a random value of a wide range
    is rarely as good. Every third trial, and what has no default, stays as it is. ``size`` is the
    number of features.
    """
    known = {} if history.described is None else history.described.defaults
    if not known or number % 3 == 0:
        return row
    values = {n: 1 / max(1, size) if v == PER_FEATURE else v for n, v in known.items()}
    default = history.space.encode(values)
    near = reflect(default + _NEAR * rng.standard_normal(len(row)))
    return np.where(np.isnan(default), row, np.where(history.space.categorical, default, near))


def spread_mask(
    rng: np.random.Generator, table: FeatureTable, weights: Array, number: int
) -> Array:
    """Return the mask of trial ``number`` of a design whose sizes cover the logarithmic scale.

    It has the best features by weighted rank, with a random penalty for similar ones; the second
    one is empty, which is an end of the front of error and size.
    """
    p, (low, high) = len(table.free), table.size_limits
    size = 0 if number == 1 else int(np.rint((high + 0.5) ** sequence(number, 0.5)))
    size = min(max(size, low), high)
    scores = rng.random(p) if table.free_ranks is None else weights @ table.free_ranks
    scores = cost_adjusted(np.clip(scores, 1e-9, 1 - 1e-9), table.free_costs)
    selection = None
    if table.similar is not None:
        selection = BatchSelection(table.similar, table.free, table.fixed)
    penalties = rng.random(1) ** 3
    places = selection_order(selection, np.round(scores[None], 12), penalties, size)
    return places[0] < size


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
    return rows[number]


def with_empty_set(rows: Array, history: History) -> Array:
    """Return the rows of a design; the one of the smallest fraction of features gets none.

    The empty set is an end of the front of error and size, and random fractions rarely have it.
    With one objective, or without a fraction, the rows stay as they are.
    """
    described = history.described
    if described is None or not isinstance(described.representation, FilterFeatures):
        return rows
    if len(described.measures) < 2 or FRACTION not in history.space.names:
        return rows
    column = history.space.names.index(FRACTION)
    rows = rows.copy()
    rows[rows[:, column].argmin(), column] = 0.0
    return rows


def latin_hypercube(rng: np.random.Generator, count: int, d: int) -> Array:
    """Return points of the unit cube, one in each of ``count`` slices of every axis.

    Example:
        >>> design = latin_hypercube(np.random.default_rng(0), 4, 2)
        >>> sorted(np.floor(design[:, 1] * 4).astype(int).tolist())
        [0, 1, 2, 3]
    """
    slices = np.argsort(rng.random((count, d)), axis=0)
    return (slices + rng.random((count, d))) / max(1, count)


def maximin_hypercube(rng: np.random.Generator, count: int, d: int, n_draws: int = 100) -> Array:
    """Return the Latin hypercube, of several random ones, whose closest points are furthest apart.

    Example:
        >>> first = latin_hypercube(np.random.default_rng(0), 6, 2)
        >>> best = maximin_hypercube(np.random.default_rng(0), 6, 2)
        >>> bool(pdist(best).min() > pdist(first).min())
        True
    """
    cubes = [latin_hypercube(rng, count, d) for _ in range(n_draws)]
    if count < 2:
        return cubes[0]
    return max(cubes, key=lambda cube: float(pdist(cube).min()))


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
    # At most 1,500 points, because all their distances are computed.
    rows = sample(rng, max(count, min(10 * count, 1500)))
    remaining = thin(rng, gower_distances(rows, categorical), count)
    return rows[rng.permutation(remaining)]


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
    return ratio ** -np.arange(1.0, d + 1)
