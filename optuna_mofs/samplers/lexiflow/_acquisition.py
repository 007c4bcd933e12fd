"""Candidates, and their expected improvement under the targets of the preference."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import log_ndtr

from optuna_mofs._typing import Array
from optuna_mofs.fronts._lexicographic import GrowingRanking, LexicographicOrder
from optuna_mofs.history._history import History
from optuna_mofs.samplers._acquisition import (
    MAX_LENGTH_SCALE_TRIALS,
    MAX_TRAINING_TRIALS,
    GaussianProcessSurrogates,
    log_expected_improvement,
)
from optuna_mofs.samplers._candidates import Candidates, best_new_candidate
from optuna_mofs.samplers._context import Proposal, ProposalContext
from optuna_mofs.samplers._gaussian_process import representative_subset
from optuna_mofs.samplers._initial_design import sample_mask
from optuna_mofs.samplers._row_operators import fill_missing
from optuna_mofs.samplers.lexiflow._directions import (
    MASK_SAMPLERS,
    EuclideanSpace,
    change_mask,
    random_directions,
    restart_row,
    rounded,
)
from optuna_mofs.samplers.lexiflow._local_search import (
    LexiFlowNote,
    LexiFlowSettings,
    LocalSearchReplay,
)

#: Share of candidates that are random points.
_RANDOM_SHARE = 0.25
#: The number of candidates is divided by this where there are masks, which take longer to change.
_MASK_DIVISOR = 4


@dataclass(frozen=True)
class ImprovementTarget:
    """A column to lower while the columns before it keep their targets.

    Args:
        column: The column.
        best: Its lowest value among the trials that reach all targets before it.
        constraints: Columns before it that differ among trials, with their targets.
    """

    column: int
    best: float
    constraints: tuple[tuple[int, float], ...]


def improvement_targets(
    order: LexicographicOrder, losses: Array, targets: Array
) -> list[ImprovementTarget]:
    """Return the columns that can be improved, in order of priority."""
    found = []
    reaching = np.ones(len(losses), dtype=bool)
    constraints: list[tuple[int, float]] = []
    for column in order.columns:
        values = losses[:, column]
        if np.ptp(values) > 0:
            best = float(values[reaching].min())
            # A column that has reached its goal need not be improved.
            if best > order.goals[column]:
                found.append(ImprovementTarget(column, best, tuple(constraints)))
            constraints.append((column, float(targets[column])))
        reaching &= order.reached(column, values, targets[column])
    return found


class _Rankings:
    """Rankings of the trials, with and without tolerances."""

    def __init__(self) -> None:
        self.tolerant, self.strict = GrowingRanking(), GrowingRanking()


def training_subset(
    order: LexicographicOrder, losses: Array, n_max: int, known: _Rankings | None = None
) -> Array:
    """Return the positions of the best trials and of an even spread of the rest.

    The best are those of the order with and without tolerances, a third of ``n_max`` each.
    ``known`` are the rankings of fewer trials.
    """
    known = known or _Rankings()
    ranking = strict_ranking = known.tolerant.update(order, losses)
    if order.has_tolerances:
        strict_ranking = known.strict.update(order.without_tolerances(), losses)
    best = np.union1d(ranking[: n_max // 3], strict_ranking[: n_max // 3])
    rest = strict_ranking[~np.isin(strict_ranking, best)]
    return np.sort(representative_subset(np.concatenate([best, rest]), n_max, len(best)))


def fit_surrogates(
    ctx: ProposalContext, order: LexicographicOrder, losses: Array
) -> GaussianProcessSurrogates:
    """Return the surrogates of the columns."""

    def first_losses(column: int, n: int) -> tuple[Array, Array]:
        subset = training_subset(order, losses[:n], MAX_LENGTH_SCALE_TRIALS)
        return losses[:n, column], subset

    rankings = ctx.study_cache("rankings", _Rankings)
    subset = training_subset(order, losses, MAX_TRAINING_TRIALS, rankings)
    return GaussianProcessSurrogates(ctx, losses, subset, first_losses)


def log_constrained_ei(
    target: ImprovementTarget, surrogates: GaussianProcessSurrogates, candidates: Candidates
) -> Array:
    """Return the logarithm of the constrained expected improvement (Gardner et al. 2014).

    It is the expected improvement of one column times the probability that the columns before it
    reach their targets.
    """
    limits = [(target.column, target.best), *target.constraints]
    predictions = surrogates.predict(candidates, [column for column, _ in limits])
    total = np.zeros(len(candidates))
    for (column, limit), mean, sd in zip(limits, *predictions):
        values, scores = surrogates.losses[column], surrogates.scores[column]
        order = np.argsort(values, kind="stable")
        z = float(np.interp(limit, values[order], scores[order]))
        if column == target.column:
            total += log_expected_improvement(mean, sd, z)
        else:
            total += log_ndtr((z - mean) / sd)
    return total


def draw_candidates(
    rng: np.random.Generator,
    history: History,
    space: EuclideanSpace,
    count: int,
    bases: Sequence[int],
    step_sizes: Sequence[float],
    *,
    sparse_prob: float,
    config: Mapping[str, Any],
) -> tuple[Candidates, Array, Array]:
    """Return steps of several sizes from several trials, and random points.

    In a study with masks, a quarter of ``count`` candidates is drawn. Random points are drawn
    around the low-cost configuration ``config``.

    Returns:
        The candidates, their points in the Euclidean space, and their step sizes.
    """
    count = count if history.table is None else max(1, count // _MASK_DIVISOR)
    base = np.array(bases)[rng.integers(len(bases), size=count)]
    is_random = rng.random(count) < _RANDOM_SHARE
    base[is_random] = -1
    step_size = np.array(step_sizes)[rng.integers(len(step_sizes), size=count)]
    masks, factor = _draw_masks(rng, history, base, step_size)
    steps = random_directions(rng, count, space.dimension, sparse_prob=sparse_prob)
    steps *= (step_size * factor)[:, None]
    points = np.empty((count, space.dimension))
    unit = rng.random((np.count_nonzero(is_random), len(history.space)))
    points[is_random] = space.to_point(restart_row(rng, space, config, unit))
    for i in np.unique(base[~is_random]):
        row = fill_missing(rng, history.space, history.rows[i])
        point = space.noted_point(row, history.note(i, LexiFlowNote).point)
        points[base == i] = space.bounded(point + steps[base == i])
    operators = np.full(count, "acquisition")
    candidates = Candidates(space.to_row(points), base[:, None], operators, masks)
    return candidates, points, step_size


def _draw_masks(
    rng: np.random.Generator, history: History, base: Array, step_size: Array
) -> tuple[Array | None, Array]:
    """Return changed masks, if the study has masks, and factors for the steps of the rows."""
    factor = np.ones(len(base))
    if history.table is None:
        return None, factor
    masks = np.empty((len(base), len(history.table.free)), dtype=bool)
    for k, i in enumerate(base.tolist()):
        if i < 0:
            turn = int(rng.integers(2**16))
            masks[k] = sample_mask(rng, history.table, MASK_SAMPLERS, turn)
        else:
            size = float(step_size[k])
            masks[k], factor[k] = change_mask(rng, history, i, sign=1, step_size=size)
    return masks, factor


def propose_candidate(
    ctx: ProposalContext,
    search: LocalSearchReplay,
    space: EuclideanSpace,
    settings: LexiFlowSettings,
    count: int,
    config: Mapping[str, Any],
) -> Proposal | None:
    """Return the best new candidate, or None if no objective can improve or none is new."""
    history, rng, state = ctx.history, ctx.rng, search.state
    order, strict_order = search.orders
    targets = improvement_targets(order, search.losses, search.targets[0])
    if not targets:
        return None
    losses = search.losses
    target, bases = targets[-1], (state.incumbent, order.best(losses, search.targets[0]))
    if len(targets) > 1 and rng.random() < settings.strict_incumbent_prob:
        target = targets[int(rng.integers(len(targets) - 1))]
        bases = (state.strict_incumbent, strict_order.best(losses, search.targets[1]))
    candidates, points, step_sizes = draw_candidates(
        rng,
        history,
        space,
        count,
        bases,
        (state.step_size, max(state.step_size, settings.step_size)),
        sparse_prob=settings.sparse_direction_prob,
        config=config,
    )
    surrogates = ctx.trial_cache("surrogates", lambda: fit_surrogates(ctx, order, losses))
    values = -log_constrained_ei(target, surrogates, candidates)
    k = best_new_candidate(history, candidates, values)
    if k is None:
        return None
    note = state.note(
        "acquisition",
        # Both signs were among the candidates: no opposite follows.
        sign=-1,
        step_size=float(step_sizes[k]),
        dimension=len(history.space) + (history.table is not None),
        point=rounded(points[k]),
        improves=target.column - 1,
    )
    return candidates.proposal(history, k, note)
